"""How what-if pages read a result."""

from typing import Any

from django import template

register = template.Library()

_TONES = {"finished": "good", "failed": "bad", "running": "accent", "cancelled": "warn"}
_RISKS = {"none": "", "low": "good", "medium": "warn", "high": "bad"}


@register.filter
def at(values: dict[str, Any] | None, name: str) -> Any:
    """A value by name, `a.b` a step deeper; None where any step is missing."""
    found: Any = values
    for step in name.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


@register.filter
def state_tone(state: str) -> str:
    return _TONES.get(state, "")


@register.filter
def risk_tone(level: str) -> str:
    return _RISKS.get(level, "")


@register.filter
def relative(value: float | str | None) -> str:
    """A relative change as signed percent; "same" below a tenth of one, — where there is none."""
    if not isinstance(value, float):
        return "—"
    return "same" if abs(value) < 0.0005 else f"{value * 100:+.1f} %".replace("-", "−")


@register.filter
def tone(value: float | str | None) -> str:
    """Colour of a change of a quantity that is better when smaller."""
    if not isinstance(value, float) or abs(value) < 0.01:
        return ""
    return "good" if value < 0 else "bad"
