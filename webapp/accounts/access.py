"""The only way from a request to a project, and the order of roles."""

from collections.abc import Collection

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest

from webapp.accounts.models import Member, Project, User

Role = Member.Role

# A role and those above it. Engineers and FinOps stand side by side; admins above both.
AT_LEAST: dict[str, frozenset[str]] = {
    Role.VIEWER: frozenset(Role.values),
    Role.ENGINEER: frozenset({Role.ENGINEER, Role.ADMIN}),
    Role.FINOPS: frozenset({Role.FINOPS, Role.ADMIN}),
    Role.ADMIN: frozenset({Role.ADMIN}),
}
WRITERS = (Role.ENGINEER, Role.FINOPS)


def project_for_user(
    request: HttpRequest, slug: str, *, role: Role | Collection[Role] | None = None
) -> Project:
    """The project, if the signed-in user is a member of it; else 404, as if it did not exist.

    `role` names the least role, or several of which any one is enough: below it, 403.
    """
    member = _membership(request, slug)
    if role is not None and not _suffices(member.role, role):
        raise PermissionDenied(
            f"Your role in {member.project}, {member.role}, does not allow this."
        )
    return member.project


def role_in(user: User | AnonymousUser, project: Project) -> Role | None:
    if not user.is_authenticated:
        return None
    role = Member.objects.filter(project=project, user=user).values_list("role", flat=True).first()
    return None if role is None else Role(role)


def can_write(user: User | AnonymousUser, project: Project, *roles: Role) -> bool:
    """Whether the user has one of the roles or one above; without roles, any role that writes."""
    role = role_in(user, project)
    return role is not None and _suffices(role, roles or WRITERS)


def projects_of(user: User) -> list[Project]:
    """Projects the user is a member of, by name: what the project switcher lists."""
    return list(
        Project.objects.filter(members__user=user).select_related("organisation").order_by("name")
    )


def _membership(request: HttpRequest, slug: str) -> Member:
    """One query a request: pages ask for the project and their context processor asks again."""
    known: dict[str, Member] = request.__dict__.setdefault("_memberships", {})
    if slug not in known:
        if not request.user.is_authenticated:
            raise Http404("No such project.")
        member = (
            Member.objects.select_related("project__organisation")
            .filter(user=request.user, project__slug=slug)
            .first()
        )
        if member is None:
            raise Http404("No such project.")
        known[slug] = member
    return known[slug]


def _suffices(held: str, wanted: Role | Collection[Role]) -> bool:
    return any(held in AT_LEAST[role] for role in ([wanted] if isinstance(wanted, str) else wanted))
