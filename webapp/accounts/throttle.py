"""Slows down guessing: so many failed sign-ins of one name or one address, then a pause."""

import hashlib
from collections.abc import Iterator

import redis
from django.conf import settings
from django.http import HttpRequest

MOST_FAILURES = 8
PAUSE_S = 300


def is_paused(request: HttpRequest, username: str) -> bool:
    """Whether this name, or whoever asks, has failed too often lately."""
    try:
        counts = _broker().mget(list(_names(request, username)))
    except redis.RedisError:
        return False  # without the broker people can still sign in
    return any(int(count or 0) >= MOST_FAILURES for count in counts)


def note_failure(request: HttpRequest, username: str) -> None:
    try:
        with _broker().pipeline() as pipe:
            for name in _names(request, username):
                pipe.incr(name)
                pipe.expire(name, PAUSE_S)
            pipe.execute()
    except redis.RedisError:
        return


def note_success(request: HttpRequest, username: str) -> None:
    try:
        _broker().delete(*_names(request, username))
    except redis.RedisError:
        return


def _names(request: HttpRequest, username: str) -> Iterator[str]:
    for kind, value in (("name", username.lower()), ("address", request.META["REMOTE_ADDR"])):
        digest = hashlib.sha256(value.encode(errors="replace")).hexdigest()[:32]
        yield f"inferometer:sign-in:{kind}:{digest}"


def _broker() -> redis.Redis:
    url = str(settings.CELERY_BROKER_URL)
    return redis.Redis.from_url(url.replace("redis+socket://", "unix://"), socket_timeout=2)
