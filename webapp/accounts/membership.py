"""Changes of who belongs to a project; every one is written to the audit log."""

from django.db import transaction

from webapp.accounts import audit
from webapp.accounts.models import Member, Project, User


class LastAdministrator(Exception):
    """A project would be left without anybody who may manage it."""

    def __init__(self) -> None:
        super().__init__("A project needs an administrator; make somebody else one first.")


def add_member(project: Project, actor: User, username: str, role: str, password: str) -> Member:
    """Give a person a role in the project; an account is made where there is none yet."""
    with transaction.atomic():
        user = User.objects.filter(username=username).first()
        if user is None:
            user = User.objects.create_user(username, password=password)
        _check_administrator_left(project, user, role)
        member, _ = Member.objects.update_or_create(
            project=project, user=user, defaults={"role": role}
        )
        audit.record(project, str(actor), "member.added", username, role=role)
    return member


def change_role(member: Member, actor: User, role: str) -> None:
    with transaction.atomic():
        _check_administrator_left(member.project, member.user, role)
        before, member.role = member.role, role
        member.save(update_fields=["role"])
        audit.record(
            member.project,
            str(actor),
            "member.role_changed",
            str(member.user),
            before=before,
            after=role,
        )


def remove_member(member: Member, actor: User) -> None:
    with transaction.atomic():
        _check_administrator_left(member.project, member.user, "")
        audit.record(member.project, str(actor), "member.removed", str(member.user))
        member.delete()


def _check_administrator_left(project: Project, user: User, role: str) -> None:
    """Locks the project's administrators, so that two of them cannot remove each other at once."""
    if role == Member.Role.ADMIN:
        return
    admins = Member.objects.select_for_update().filter(project=project, role=Member.Role.ADMIN)
    others = [member for member in admins if member.user_id != user.pk]
    is_one = any(member.user_id == user.pk for member in admins)
    if is_one and not others:
        raise LastAdministrator
