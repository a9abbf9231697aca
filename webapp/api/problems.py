"""Errors of the REST API, all in one shape: `application/problem+json`."""

import json
from http import HTTPStatus

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import AuthenticationError, HttpError, ValidationError

CONTENT_TYPE = "application/problem+json"


class Problem(Exception):
    """Raise anywhere under an API route to answer with this problem."""

    def __init__(self, status: int, title: str, detail: str = "", **members: object) -> None:
        self.status = status
        self.title = title
        self.detail = detail
        self.members = members
        super().__init__(f"{status} {title}: {detail}")

    def response(self) -> HttpResponse:
        body = {"type": "about:blank", "title": self.title, "status": self.status}
        if self.detail:
            body["detail"] = self.detail
        response = HttpResponse(
            json.dumps(body | self.members), status=self.status, content_type=CONTENT_TYPE
        )
        if self.status == HTTPStatus.UNAUTHORIZED:
            response["WWW-Authenticate"] = "Bearer"
        return response


def install(api: NinjaAPI) -> None:
    """Make every error the API can answer with a problem document."""

    @api.exception_handler(Problem)
    def on_problem(request: HttpRequest, problem: Problem) -> HttpResponse:
        return problem.response()

    @api.exception_handler(ValidationError)
    def on_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
        return _invalid(error).response()

    @api.exception_handler(AuthenticationError)
    def on_unknown_key(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
        detail = "Send a valid key as 'Authorization: Bearer KEY'."
        return Problem(401, "Not authenticated", detail).response()

    @api.exception_handler(Http404)
    def on_missing(request: HttpRequest, error: Http404) -> HttpResponse:
        return Problem(404, "Not found", str(error)).response()

    @api.exception_handler(PermissionDenied)
    def on_denied(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
        return Problem(403, "Not allowed", str(error)).response()

    @api.exception_handler(HttpError)
    def on_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
        title = HTTPStatus(error.status_code).phrase.capitalize()
        return Problem(error.status_code, title, str(error)).response()


def _invalid(error: ValidationError) -> Problem:
    """The field's place and what was wrong with it, without the echo of its value."""
    errors = [
        {
            "field": ".".join(str(part) for part in item["loc"] if part not in ("body", "payload")),
            "message": item["msg"],
        }
        for item in error.errors
    ]
    detail = "; ".join(f"{item['field']}: {item['message']}" for item in errors)
    return Problem(422, "Not valid", detail, errors=errors)
