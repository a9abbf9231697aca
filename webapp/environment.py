"""Reads settings from the environment; a value that does not parse stops the start by name."""

import os
from collections.abc import Callable
from typing import TypeVar
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")


def _parsed(name: str, default: T, parse: Callable[[str], T], allowed: str) -> T:
    raw = os.environ.get(name)
    if raw is None or raw == "":
        return default
    try:
        return parse(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name} is {raw!r}; allowed: {allowed}.") from None


def text(name: str, default: str = "") -> str:
    return os.environ.get(name) or default


def boolean(name: str, default: bool) -> bool:
    def parse(raw: str) -> bool:
        if raw not in ("True", "False"):
            raise ValueError(raw)
        return raw == "True"

    return _parsed(name, default, parse, "True or False")


def integer(name: str, default: int, *, minimum: int = 0) -> int:
    def parse(raw: str) -> int:
        if (value := int(raw)) < minimum:
            raise ValueError(raw)
        return value

    return _parsed(name, default, parse, f"a whole number of at least {minimum}")


def names(name: str, default: list[str]) -> list[str]:
    return _parsed(
        name, default, lambda raw: [p.strip() for p in raw.split(",") if p.strip()], "a,b"
    )


def database(url: str) -> dict[str, object]:
    """Django's database dict for a postgresql:// URL; `?host=/dir` names a Unix socket."""
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql"):
        raise ImproperlyConfigured(
            f"DATABASE_URL starts with {parts.scheme or url!r}; allowed: postgresql://user@host/name."
        )
    query = dict(item.split("=", 1) for item in parts.query.split("&") if "=" in item)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "inferometer",
        "USER": unquote(parts.username or "postgres"),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(query.get("host", "")) or parts.hostname or "",
        "PORT": str(parts.port or query.get("port", "")),
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
    }
