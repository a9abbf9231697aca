"""The two pages over everything: overview and latency."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from webapp.accounts.access import project_for_user
from webapp.telemetry.queries import filter_options
from webapp.ui.filters import page_filters


@require_GET
@login_required
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    project = project_for_user(request, slug)
    filters = page_filters(request, project)
    context = {"filters": filters, "options": filter_options(project.pk)}
    return render(request, "ui/overview_page.html", context)


latency = overview
