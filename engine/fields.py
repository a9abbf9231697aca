"""Reads the fields of a JSON body, and names every one that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class BadRequest(Exception):
    """The request cannot be served as asked; becomes an OpenAI-shaped 4xx answer."""

    def __init__(
        self, message: str, *, param: str | None = None, code: str | None = None, status: int = 400
    ) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.code = code
        self.status = status


class Fields:
    """Typed access to a body. Problems are gathered; `check` raises them all at once."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self._body = body
        self._problems: dict[str, str] = {}

    def problem(self, name: str, text: str) -> None:
        self._problems.setdefault(name, text)

    def check(self) -> None:
        if not self._problems:
            return
        text = "; ".join(f"{name} {what}" for name, what in self._problems.items())
        raise BadRequest(f"Invalid request: {text}.", param=next(iter(self._problems)))

    def raw(self, name: str) -> Any:
        return self._body.get(name)

    def number(self, name: str, default: float, low: float, high: float) -> float:
        value = self._body.get(name)
        if value is None:
            return default
        # A bool is an int to Python; NaN fails both comparisons.
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.problem(name, f"must be a number, not {_shown(value)}")
        elif not low <= value <= high:
            self.problem(name, f"must be between {low:g} and {high:g}, not {_shown(value)}")
        else:
            return float(value)
        return default

    def integer(
        self, name: str, default: int | None, low: int, high: int | None = None
    ) -> int | None:
        value = self._body.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem(name, f"must be an integer, not {_shown(value)}")
        elif value < low or (high is not None and value > high):
            limit = f"at least {low}" if high is None else f"between {low} and {high}"
            self.problem(name, f"must be {limit}, not {_shown(value)}")
        else:
            return value
        return default

    def boolean(self, name: str, default: bool = False) -> bool:
        value = self._body.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.problem(name, f"must be true or false, not {_shown(value)}")
            return default
        return value

    def text(self, name: str, *, longest: int = 512) -> str | None:
        value = self._body.get(name)
        if value is None:
            return None
        if not isinstance(value, str) or len(value) > longest:
            self.problem(name, f"must be a string of at most {longest} characters")
            return None
        return value

    def strings(self, name: str, *, most: int) -> tuple[str, ...]:
        """A string, or a list of strings, none of them empty."""
        value = self._body.get(name)
        if value is None:
            return ()
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(i, str) and i for i in items):
            self.problem(name, "must be a non-empty string or a list of them")
            return ()
        if len(items) > most:
            self.problem(name, f"may hold at most {most} strings, not {len(items)}")
            return ()
        return tuple(items)

    def integers(self, name: str, *, high: int) -> tuple[int, ...]:
        value = self._body.get(name)
        if value is None:
            return ()
        if not isinstance(value, list) or not is_token_list(value, high):
            self.problem(name, f"must be a list of integers between 0 and {high - 1}")
            return ()
        return tuple(value)

    def table(self, name: str) -> Fields:
        """A nested object; its problems are named `outer.inner`."""
        value = self._body.get(name)
        if value is not None and not isinstance(value, dict):
            self.problem(name, "must be an object")
        return _Nested(self, name, value if isinstance(value, dict) else {})

    def only(self, name: str, neutral: tuple[Any, ...]) -> None:
        """Refuse a field this server does not act on, unless its value asks for nothing."""
        value = self._body.get(name)
        if value is not None and value not in neutral:
            self.problem(name, "is not supported by this server")


class _Nested(Fields):
    def __init__(self, outer: Fields, prefix: str, body: Mapping[str, Any]) -> None:
        super().__init__(body)
        self._outer, self._prefix = outer, prefix

    def problem(self, name: str, text: str) -> None:
        self._outer.problem(f"{self._prefix}.{name}", text)


def is_token_list(value: list[Any], high: int) -> bool:
    return all(isinstance(i, int) and not isinstance(i, bool) and 0 <= i < high for i in value)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
