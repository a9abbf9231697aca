"""Sign-in, sign-out and the settings page."""

from django.contrib import messages
from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from webapp.accounts import audit, membership
from webapp.accounts.access import Role, can_write, project_for_user
from webapp.accounts.forms import (
    KeyForm,
    MemberForm,
    OrganisationForm,
    PasswordForm,
    ProjectForm,
    SignInForm,
)
from webapp.accounts.keys import issue_key, revoke_key
from webapp.accounts.models import ApiKey, AuditEntry, Member, Project

_AUDIT_ROWS = 50


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    target = request.POST.get("next") or request.GET.get("next") or "/"
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, request.is_secure()):
        target = "/"
    if request.user.is_authenticated:
        return redirect(target)
    form = SignInForm(request, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        login(request, form.user)
        return redirect(target)
    status = 400 if request.method == "POST" else 200
    context = {"form": form, "next": target}
    return render(request, "accounts/sign_in.html", context, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("accounts:sign-in")


@never_cache
@require_GET
@login_required
def settings_page(request: HttpRequest, slug: str) -> HttpResponse:
    return _settings(request, project_for_user(request, slug))


@require_POST
@login_required
def save_organisation(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug, role=Role.ADMIN)
    before = {name: getattr(project.organisation, name) for name in ("timezone", "currency")}
    form = OrganisationForm(request.POST, instance=project.organisation)
    if not form.is_valid():
        return _settings(request, project, organisation=form)
    form.save()
    changed = {name: form.cleaned_data[name] for name in before}
    audit.record(project, str(request.user), "organisation.changed", form.instance.name, **changed)
    return _saved(request, project, "The organisation is saved.")


@require_POST
@login_required
def save_project(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug, role=Role.ADMIN)
    form = ProjectForm(request.POST, instance=project)
    if not form.is_valid():
        return _settings(request, project, project_form=form)
    form.save()
    audit.record(project, str(request.user), "project.changed", project.name, **form.cleaned_data)
    return _saved(request, project, "The project is saved.")


@require_POST
@login_required
def add_member(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug, role=Role.ADMIN)
    form = MemberForm(request.POST)
    if not form.is_valid():
        return _settings(request, project, member=form)
    given = form.cleaned_data
    try:
        membership.add_member(
            project, request.user, given["username"], given["role"], given["password"]
        )
    except membership.LastAdministrator as error:
        form.add_error("role", str(error))
        return _settings(request, project, member=form)
    return _saved(request, project, f"{given['username']} is a member of {project}.")


@require_POST
@login_required
def change_member(request: HttpRequest, slug: str, member_id: int) -> HttpResponse:
    project = project_for_user(request, slug, role=Role.ADMIN)
    member = get_object_or_404(project.members.select_related("user", "project"), pk=member_id)
    role = request.POST.get("role", "")
    try:
        if role in Member.Role.values:
            membership.change_role(member, request.user, role)
        else:
            membership.remove_member(member, request.user)
    except membership.LastAdministrator as error:
        messages.error(request, str(error))
        return redirect("accounts:settings", slug=slug)
    return _saved(request, project, f"{member.user} is changed.")


@never_cache
@require_POST
@login_required
def create_key(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug, role=Role.ADMIN)
    form = KeyForm(request.POST)
    if not form.is_valid():
        return _settings(request, project, key=form)
    key, secret = issue_key(project, created_by=request.user, **form.cleaned_data)
    audit.record(project, str(request.user), "key.issued", key.name, scopes=key.scopes)
    # Shown in the answer itself: a redirect would have to keep the secret somewhere.
    return _settings(request, project, issued=(key, secret))


@require_POST
@login_required
def delete_key(request: HttpRequest, slug: str, key_id: int) -> HttpResponse:
    project = project_for_user(request, slug, role=Role.ADMIN)
    key = get_object_or_404(ApiKey, project=project, pk=key_id, revoked_at=None)
    revoke_key(key)
    audit.record(project, str(request.user), "key.revoked", key.name, prefix=key.prefix)
    return _saved(request, project, f"The key {key.name} is revoked.")


@sensitive_post_parameters("current", "new")
@require_POST
@login_required
def change_password(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug)
    form = PasswordForm(request.user, request.POST)
    if not form.is_valid():
        return _settings(request, project, password=form)
    request.user.set_password(form.cleaned_data["new"])
    request.user.save(update_fields=["password"])
    update_session_auth_hash(request, request.user)
    return _saved(request, project, "Your password is changed; other sessions are signed out.")


def _settings(request: HttpRequest, project: Project, **forms: object) -> HttpResponse:
    """The whole page, with whichever form was not accepted as it was sent."""
    is_admin = can_write(request.user, project, Role.ADMIN)
    bad = any(getattr(form, "errors", None) for form in forms.values())
    context = {
        "is_admin": is_admin,
        "organisation": OrganisationForm(instance=project.organisation),
        "project_form": ProjectForm(instance=project),
        "member": MemberForm(),
        "key": KeyForm(),
        "password": PasswordForm(request.user),
        "members": project.members.select_related("user").order_by("user__username"),
        "roles": Member.Role.choices,
        "keys": project.api_keys.filter(revoked_at=None).order_by("-created_at"),
        "entries": AuditEntry.objects.filter(project=project).order_by("-at")[:_AUDIT_ROWS],
        **forms,
    }
    return render(request, "accounts/settings_page.html", context, status=400 if bad else 200)


def _saved(request: HttpRequest, project: Project, sentence: str) -> HttpResponse:
    messages.success(request, sentence)
    return redirect("accounts:settings", slug=project.slug)
