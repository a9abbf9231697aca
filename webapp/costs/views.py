"""The costs page: what was spent, on what, what has no price, and where a server's bill went."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.timezone import now
from django.views.decorators.http import require_GET, require_POST

from webapp.accounts.access import Role, can_write, project_for_user
from webapp.accounts.models import Project
from webapp.charts.costs import bill_split, cost_by_part
from webapp.costs.custom_prices import RATES, BadPrice, end_custom_price, set_custom_price
from webapp.costs.forms import CustomPriceForm
from webapp.costs.ledger import ledger_by_server
from webapp.costs.models import CustomPrice
from webapp.costs.price_book import VERSION
from webapp.costs.queries import parts_of, parts_over_time, without_price
from webapp.costs.tiles import cost_tiles
from webapp.servers.models import ServerRate
from webapp.telemetry.queries import filter_options, last_record_at, summarise
from webapp.ui.empty import empty_state
from webapp.ui.filters import PageFilters, page_filters

GROUPS = (("model", "Model"), ("server", "Server"), ("team", "Team"), ("feature", "Feature"))


@require_GET
@login_required
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    return _page(request, project_for_user(request, slug))


@require_POST
@login_required
def add_price(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug, role=Role.FINOPS)
    form = CustomPriceForm(request.POST)
    if form.is_valid():
        given = dict(form.cleaned_data)
        rates = {name: given.pop(name) for name in RATES}
        try:
            row = set_custom_price(
                project, request.user, given.pop("model"), given.pop("valid_from"), rates, **given
            )
            messages.success(
                request, f"{row.model} has a price; its calls since then are priced again."
            )
            return redirect("costs:overview", slug=slug)
        except BadPrice as error:
            form.add_error(None, str(error))
    return _page(request, project, form=form)


@require_POST
@login_required
def remove_price(request: HttpRequest, slug: str, price_id: int) -> HttpResponse:
    project = project_for_user(request, slug, role=Role.FINOPS)
    row = get_object_or_404(CustomPrice, project=project, pk=price_id)
    end_custom_price(row, request.user)
    messages.success(request, f"The price of {row.model} is removed.")
    return redirect("costs:overview", slug=slug)


def _page(
    request: HttpRequest, project: Project, form: CustomPriceForm | None = None
) -> HttpResponse:
    filters = page_filters(request, project)
    total = summarise(filters.scope)[0]
    context = {
        "filters": filters,
        "options": filter_options(project.pk),
        "total": total,
        "may_price": can_write(request.user, project, Role.FINOPS),
        "form": form or CustomPriceForm(initial={"valid_from": now()}),
        "custom_prices": CustomPrice.objects.filter(project=project),
        "rates": _rates_now(project),
        "price_list": VERSION,
        "group_names": GROUPS,
    }
    if total.calls:
        context |= _spend(filters, total)
    else:
        context["empty"] = empty_state(request, filters, last_record_at(project.pk))
    return render(request, "costs/costs_page.html", context, status=400 if form else 200)


def _spend(filters: PageFilters, total: object) -> dict[str, object]:
    scope = filters.scope
    over_time = summarise(scope, bucket=filters.bucket, tz=filters.tz)
    before = summarise(filters.previous_scope)[0] if filters.previous_scope else None
    bills = ledger_by_server(scope.project_id, scope.start, scope.end, server=scope.server)
    times = [
        row.starts_at.astimezone(filters.zone).isoformat() for row in over_time if row.starts_at
    ]
    return {
        "tiles": cost_tiles(total, before, bills),
        "figure": cost_by_part(times, parts_over_time(over_time)),
        "parts": parts_of(total),
        "groups": summarise(scope, group_by=filters.group_by),
        "without_price": without_price(scope),
        "bills": bills,
        "bill_figure": bill_split(
            [row.server for row in bills],
            [row.attributed_usd for row in bills],
            [row.idle_usd for row in bills],
            [row.unattributed_usd for row in bills],
        )
        if bills
        else None,
    }


def _rates_now(project: Project) -> list[ServerRate]:
    """The price per hour of each server in use, as it stands now."""
    found = ServerRate.objects.filter(
        server__project=project, server__archived_at=None, valid_to=None, valid_from__lte=now()
    )
    return list(found.select_related("server").order_by("server__name"))
