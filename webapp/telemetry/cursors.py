"""Where a page of calls ends and the next begins: the last row's sort value and identity."""

import base64
import binascii
import json
import uuid
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Self

from django.db.models import F, IntegerField, Q, QuerySet, Value
from django.db.models.functions import Coalesce

from webapp.telemetry.models import Span


@dataclass(frozen=True)
class Column:
    """A column calls are sorted by; `read` turns its JSON form back."""

    name: str
    read: Any

    def annotated(self, calls: QuerySet[Span]) -> QuerySet[Span]:
        if self.name == "all_tokens":
            zero = Value(0, output_field=IntegerField())
            total = Coalesce(F("input_tokens"), zero) + Coalesce(F("output_tokens"), zero)
            return calls.annotate(all_tokens=total)
        if self.name == "any_ttft":
            return calls.annotate(any_ttft=Coalesce("ttft_us", "client_ttft_us"))
        return calls


SORTS: dict[str, Column] = {
    "started_at": Column("started_at", datetime.fromisoformat),
    "duration": Column("duration_us", int),
    "ttft": Column("any_ttft", int),
    "cost": Column("cost_usd", Decimal),
    "tokens": Column("all_tokens", int),
}


@dataclass(frozen=True)
class Cursor:
    """The last row of a page."""

    sort: str
    value: Any
    started_at: datetime
    trace_id: uuid.UUID
    span_id: int

    @classmethod
    def of(cls, span: Span, sort: str, column: Column) -> Self:
        value = getattr(span, column.name)
        return cls(sort, value, span.started_at, span.trace_id, span.span_id)

    def text(self) -> str:
        value = None if self.value is None else _plain(self.value)
        parts = [self.sort, value, self.started_at.isoformat(), self.trace_id.hex, self.span_id]
        return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str, sort: str) -> Self:
        """Raises ValueError with a sentence for what `text` did not write."""
        try:
            padded = text + "=" * (-len(text) % 4)
            found = json.loads(base64.urlsafe_b64decode(padded.encode()))
            made_for, value, started_at, trace, span_id = found
            if made_for != sort:
                raise ValueError(made_for)
            column = SORTS[sort.removeprefix("-")]
            return cls(
                sort,
                None if value is None else column.read(value),
                datetime.fromisoformat(started_at),
                uuid.UUID(hex=trace),
                int(span_id),
            )
        except (ValueError, TypeError, KeyError, ArithmeticError, binascii.Error) as error:
            raise ValueError(
                "This cursor does not belong to this list; start again without one."
            ) from error


def after(cursor: Cursor, column: Column, *, descending: bool) -> Q:
    """Rows that come after the cursor's, in an order where rows without a value come last."""
    step = "lt" if descending else "gt"
    identity = (
        Q(**{f"started_at__{step}": cursor.started_at})
        | Q(started_at=cursor.started_at, **{f"trace_id__{step}": cursor.trace_id})
        | Q(
            started_at=cursor.started_at,
            trace_id=cursor.trace_id,
            **{f"span_id__{step}": cursor.span_id},
        )
    )
    if cursor.value is None:
        return Q(**{f"{column.name}__isnull": True}) & identity
    return (
        Q(**{f"{column.name}__{step}": cursor.value})
        | (Q(**{column.name: cursor.value}) & identity)
        | Q(**{f"{column.name}__isnull": True})
    )


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value
