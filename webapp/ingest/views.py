"""`/v1/traces`, `/v1/metrics` and `/v1/logs`: OTLP over HTTP. 200 means: stored for good."""

import logging
from collections.abc import Callable

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from collectors.otlp import (
    JSON,
    PROTOBUF,
    BadBody,
    decode_logs,
    decode_metrics,
    decode_traces,
    encode_response,
)
from collectors.otlp.decode import media_type
from collectors.otlp.encode import Signal, encode_status
from collectors.record import Decoded, Rejection
from webapp.accounts.keys import key_for_token
from webapp.accounts.models import ApiKey
from webapp.ingest.bodies import Refused, body_of
from webapp.ingest.write import Written, write_samples, write_spans, write_steps

log = logging.getLogger(__name__)

_RETRY_AFTER_S = "2"
_NAMED = 5

Decode = Callable[[bytes, str], Decoded]
Write = Callable[[ApiKey, Decoded], Written]


@csrf_exempt
@require_POST
def traces(request: HttpRequest) -> HttpResponse:
    return _take(request, "traces", decode_traces, lambda k, d: write_spans(k, d.spans))


@csrf_exempt
@require_POST
def metrics(request: HttpRequest) -> HttpResponse:
    return _take(request, "metrics", decode_metrics, lambda k, d: write_samples(k, d.samples))


@csrf_exempt
@require_POST
def logs(request: HttpRequest) -> HttpResponse:
    return _take(request, "logs", decode_logs, lambda k, d: write_steps(k, d.steps))


def _take(request: HttpRequest, signal: Signal, decode: Decode, write: Write) -> HttpResponse:
    kind = media_type(request.headers.get("Content-Type", ""))
    try:
        key = _key(request)
        if kind not in (JSON, PROTOBUF):
            raise Refused(415, f"The content type must be {PROTOBUF} or {JSON}.")
        body = body_of(request, most_bytes=settings.INFEROMETER["MAX_OTLP_BYTES"])
        decoded = decode(body, kind)
        written = write(key, decoded)
    except Refused as error:
        return _refusal(kind, error.status, str(error))
    except BadBody as error:
        return _refusal(kind, 400, str(error))
    except (OperationalError, InterfaceError) as error:
        log.error("telemetry was not taken: the database is away: %s", error)
        return _away(kind)
    rejected = [*decoded.rejected, *written.rejected]
    if rejected:
        log.warning("%s: %d refused: %s", signal, len(rejected), rejected[0].why)
    answer = encode_response(signal, kind, len(rejected), _told(rejected))
    return HttpResponse(answer, content_type=kind)


def _key(request: HttpRequest) -> ApiKey:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise Refused(401, "Send a key that may ingest as 'Authorization: Bearer KEY'.")
    key = key_for_token(token.strip(), ApiKey.Scope.INGEST)
    if key is not None:
        return key
    if any(key_for_token(token.strip(), scope) for scope in ApiKey.Scope.values):
        raise Refused(403, "This key may not send telemetry; it lacks the scope ingest.")
    raise Refused(401, "This key is not known, or was revoked.")


def _told(rejected: list[Rejection]) -> str:
    told = "; ".join(each.why for each in rejected[:_NAMED])
    more = len(rejected) - _NAMED
    return f"{told}; and {more} more" if more > 0 else told


def _refusal(kind: str, status: int, sentence: str) -> HttpResponse:
    answer = HttpResponse(
        encode_status(kind, sentence),
        status=status,
        content_type=kind if kind == PROTOBUF else JSON,
    )
    if status == 401:
        answer["WWW-Authenticate"] = "Bearer"
    return answer


def _away(kind: str) -> HttpResponse:
    """OTLP senders try again after 503, and their batch is not lost."""
    answer = _refusal(kind, 503, "The database cannot be reached; try again.")
    answer["Retry-After"] = _RETRY_AFTER_S
    return answer
