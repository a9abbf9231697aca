"""How the drift page writes its numbers."""

from django import template

from webapp.drift.queries import Metric
from webapp.ui import numbers

register = template.Library()


@register.filter
def in_unit(value: float, metric: Metric) -> str:
    """A value of a metric's sketch, in the metric's unit."""
    scaled = value / metric.scale
    if metric.unit == "s":
        return numbers.seconds(scaled)
    return numbers.money_exact(scaled) if metric.unit == "USD" else f"{scaled:,.0f}"


@register.filter
def signed_percent(value: float | None) -> str:
    return "—" if value is None else f"{value * 100:+.1f} %"


@register.filter
def p_value(value: float) -> str:
    """A probability with the digits that matter."""
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}" if value < 0.1 else f"{value:.2f}"
