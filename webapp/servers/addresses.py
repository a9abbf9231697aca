"""Addresses of servers: names of one's own network are as good as public ones."""

from urllib.parse import urlsplit

from django.core.exceptions import ValidationError

_WRONG = "Write the whole address, as in http://gpu-1:8000; it must begin with http:// or https://."


def check_http_url(value: str) -> None:
    """Raise ValidationError for anything but an HTTP address of some host."""
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(c.isspace() or ord(c) < 32 for c in value):
        raise ValidationError(_WRONG)
