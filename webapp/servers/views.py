"""The inventory: which servers run, where, who may reach them, what they send, what they cost."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.timezone import now
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.access import Role, can_write, project_for_user
from webapp.accounts.models import Project
from webapp.servers import inventory
from webapp.servers.connecting import recipe_for
from webapp.servers.forms import PriceForm, ServerForm
from webapp.servers.models import Server
from webapp.servers.pricing import BadPrice, price_at, set_price
from webapp.servers.seen import Seen, seen_today


@require_GET
@login_required
def servers(request: HttpRequest, slug: str) -> HttpResponse:
    return _list(request, project_for_user(request, slug), ServerForm())


@require_POST
@login_required
def add_server(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug, role=Role.ENGINEER)
    form = ServerForm(request.POST)
    if form.is_valid():
        try:
            server = inventory.register(project, str(request.user), form.values())
            return redirect("servers:detail", slug=slug, name=server.name)
        except inventory.BadServer as error:
            form.add_error(None, str(error))
    return _list(request, project, form, status=400)


@never_cache
@require_GET
@login_required
def server_detail(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    project = project_for_user(request, slug)
    return _detail(request, project, get_object_or_404(Server, project=project, name=name))


@require_POST
@login_required
def change_server(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    project, server = _server_to_change(request, slug, name, Role.ENGINEER)
    form = ServerForm({**request.POST.dict(), "name": server.name})
    if form.is_valid():
        try:
            inventory.change(server, str(request.user), form.values())
            messages.success(request, f"{server.name} is saved.")
            return redirect("servers:detail", slug=slug, name=name)
        except inventory.BadServer as error:
            form.add_error(None, str(error))
    server.refresh_from_db()
    return _detail(request, project, server, form=form)


@require_POST
@login_required
def price_server(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    project, server = _server_to_change(request, slug, name, Role.FINOPS)
    form = PriceForm(request.POST)
    if form.is_valid():
        given = dict(form.cleaned_data)
        try:
            set_price(
                server,
                str(request.user),
                given.pop("price_per_hour"),
                given.pop("valid_from"),
                **given,
            )
            messages.success(request, f"The price of {server.name} is set.")
            return redirect("servers:detail", slug=slug, name=name)
        except BadPrice as error:
            form.add_error(None, str(error))
    return _detail(request, project, server, price_form=form)


@never_cache
@require_POST
@login_required
def issue_server_key(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    project, server = _server_to_change(request, slug, name, Role.ADMIN)
    secret = inventory.new_ingest_key(server, str(request.user))
    return _detail(request, project, server, secret=secret)


@require_POST
@login_required
def archive_server(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    _, server = _server_to_change(request, slug, name, Role.ADMIN)
    inventory.archive(server, str(request.user))
    messages.success(request, f"{server.name} is archived; its calls stay.")
    return redirect("servers:list", slug=slug)


def _server_to_change(
    request: HttpRequest, slug: str, name: str, role: Role
) -> tuple[Project, Server]:
    project = project_for_user(request, slug, role=role)
    return project, get_object_or_404(Server, project=project, name=name, archived_at=None)


def _list(
    request: HttpRequest, project: Project, form: ServerForm, status: int = 200
) -> HttpResponse:
    at, seen = now(), seen_today(project.pk)
    found = Server.objects.filter(project=project).prefetch_related("rates")
    rows = [
        {"server": server, "seen": seen.get(server.pk, Seen()), "rate": price_at(server, at)}
        for server in found
    ]
    context = {
        "rows": [row for row in rows if row["server"].archived_at is None],
        "archived": [row for row in rows if row["server"].archived_at is not None],
        "form": form,
        "may_edit": can_write(request.user, project, Role.ENGINEER),
    }
    return render(request, "servers/servers_page.html", context, status=status)


def _detail(
    request: HttpRequest, project: Project, server: Server, **given: object
) -> HttpResponse:
    form, price_form = given.get("form"), given.get("price_form")
    context = {
        "server": server,
        "seen": seen_today(project.pk).get(server.pk, Seen()),
        "rate": price_at(server, now()),
        "rates": server.rates.order_by("-valid_from"),
        "recipe": recipe_for(server, request.build_absolute_uri("/")),
        "may_edit": can_write(request.user, project, Role.ENGINEER),
        "may_price": can_write(request.user, project, Role.FINOPS),
        "may_manage": can_write(request.user, project, Role.ADMIN),
        "form": form or ServerForm(instance=server),
        "price_form": price_form or PriceForm(initial={"currency": "USD", "valid_from": now()}),
        "secret": given.get("secret"),
    }
    status = 400 if form or price_form else 200
    return render(request, "servers/server_page.html", context, status=status)
