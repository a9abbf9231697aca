"""Error pages: one sentence of what went wrong and a way on."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    reason = str(exception) or "The address or the form holds something this page cannot read."
    return _page(request, 400, "That request does not work", reason)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    reason = str(exception) or "Your role does not allow this; an administrator can change that."
    return _page(request, 403, "Not allowed", reason)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    reason = "There is nothing at this address, or you are not a member of its project."
    return _page(request, 404, "Nothing here", reason)


def _page(request: HttpRequest, status: int, title: str, reason: str) -> HttpResponse:
    context = {"status": status, "title": title, "reason": reason}
    return render(request, "ui/error.html", context, status=status)
