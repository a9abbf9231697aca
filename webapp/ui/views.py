"""Home, and the choice of theme."""

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.access import projects_of
from webapp.accounts.models import User


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """The first project of the reader; a page that says so where there is none."""
    projects = projects_of(request.user)  # type: ignore[arg-type]
    if not projects:
        return render(request, "ui/no_project.html")
    return redirect("ui:overview", slug=projects[0].slug)


@require_POST
@login_required
def theme(request: HttpRequest) -> HttpResponse:
    chosen = request.POST.get("theme", "")
    if chosen not in User.Theme.values:
        raise BadRequest(f"theme is one of {', '.join(User.Theme.values)}, not {chosen!r}.")
    User.objects.filter(pk=request.user.pk).update(theme=chosen)
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, request.is_secure()):
        target = "/"
    return redirect(target)
