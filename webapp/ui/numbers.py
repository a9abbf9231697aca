"""Numbers as a reader wants them: one rule a kind, absent is an em dash and never 0.

Knows no request and no template; the template filters of the same names only call it.
"""

from datetime import datetime, timedelta
from decimal import ROUND_HALF_EVEN, Decimal
from math import isfinite

MISSING = "—"
MINUS = "\u2212"
SPACE = "\u00a0"  # between a number and its unit
_COMPACT = ((Decimal(10) ** 9, "B"), (Decimal(10) ** 6, "M"), (Decimal(10) ** 3, "K"))
_SYMBOLS = {"USD": "$", "EUR": "€", "GBP": "£"}

Number = int | float | Decimal


def number_of(value: object) -> Decimal | None:
    """The value as an exact decimal; None where there is no number."""
    if value is None or isinstance(value, bool) or value == "":
        return None
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, int | float | Decimal | str):
        return Decimal(str(value))
    return None


def signed(text: str, negative: bool) -> str:
    return MINUS + text if negative else text


def significant(value: Decimal, digits: int = 3, most_decimals: int = 6) -> str:
    """A non-negative value at so many significant digits, grouped."""
    if value == 0:
        return "0"
    decimals = min(most_decimals, max(0, digits - 1 - value.adjusted()))
    rounded = value.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_EVEN)
    decimals = min(decimals, max(0, digits - 1 - rounded.adjusted())) if rounded else decimals
    return f"{rounded:,.{decimals}f}"


def compact(value: Decimal) -> str:
    """1.2M, 12.4K; whole below ten thousand."""
    if value < 10_000:
        return f"{value:,.0f}" if value == value.to_integral() or value >= 100 else f"{value:,.1f}"
    for size, letter in _COMPACT:
        if value >= size:
            return f"{value / size:,.1f}{letter}"
    return f"{value:,.0f}"


def money(value: object, currency: str = "USD") -> str:
    """Money in a tile: compact from 10,000 on, never 0.00 for what is not zero."""
    amount = number_of(value)
    if amount is None:
        return MISSING
    size, symbol = abs(amount), symbol_of(currency)
    if size >= 10_000:
        return signed(symbol + compact(size), amount < 0)
    if size == 0 or size >= Decimal("0.1"):
        return signed(f"{symbol}{size:,.2f}", amount < 0)
    return money_exact(amount, currency)


def money_exact(value: object, currency: str = "USD") -> str:
    """Money of one call: three significant digits, at most eight decimals."""
    amount = number_of(value)
    if amount is None:
        return MISSING
    size, symbol = abs(amount), symbol_of(currency)
    if size == 0:
        return f"{symbol}0.00"
    if size < Decimal("0.00000001"):
        return f"{'> ' + MINUS if amount < 0 else '< '}{symbol}0.00000001"
    if size >= 1:
        return signed(f"{symbol}{size:,.2f}", amount < 0)
    return signed(symbol + significant(size, 3, 8), amount < 0)


def money_full(value: object, currency: str = "USD") -> str:
    """Every digit there is, for titles."""
    amount = number_of(value)
    if amount is None:
        return MISSING
    text = f"{abs(amount):,f}"
    whole, _, part = text.partition(".")
    part = part.rstrip("0").ljust(2, "0")
    return signed(f"{symbol_of(currency)}{whole}.{part}", amount < 0)


def money_decimals(values: list[object]) -> int:
    """Decimals a column of money needs: 2, or what its smallest non-zero value shows, at most 6."""
    sizes = [abs(found) for found in map(number_of, values) if found]
    if not sizes:
        return 2
    return max(2, min(6, 1 - min(sizes).adjusted()))


def money_column(value: object, decimals: int) -> str:
    """Money in a column of a table, without a symbol: the unit is in its header."""
    amount = number_of(value)
    if amount is None:
        return MISSING
    least = Decimal(1).scaleb(-decimals)
    if amount and abs(amount) < least / 2:
        return f"< {least:f}"
    return signed(f"{abs(amount):,.{decimals}f}", amount < 0)


def symbol_of(currency: str) -> str:
    return _SYMBOLS.get(currency, currency + SPACE)


def tokens(value: object) -> str:
    """Grouped digits: 1,204,332."""
    amount = number_of(value)
    return MISSING if amount is None else signed(f"{abs(amount):,.0f}", amount < 0)


def tokens_compact(value: object) -> str:
    amount = number_of(value)
    return MISSING if amount is None else signed(compact(abs(amount)), amount < 0)


def duration(micros: object) -> str:
    """Microseconds at three significant digits: 850 µs, 13.8 ms, 1.84 s, 2 m 18 s."""
    amount = number_of(micros)
    if amount is None:
        return MISSING
    size = abs(amount)
    if size >= 59_950_000:
        return signed(_long(int(size / 1_000_000 + Decimal("0.5"))), amount < 0)
    for scale, unit in ((1_000_000, "s"), (1_000, "ms"), (1, "µs")):
        # 999.6 ms would read 1,000 ms: the next unit takes over half a digit early.
        if size >= scale * Decimal("0.9995") or unit == "µs":
            return signed(significant(size / scale) + SPACE + unit, amount < 0)
    return MISSING


def seconds(value: object) -> str:
    """Seconds, in the unit that reads best."""
    amount = number_of(value)
    return MISSING if amount is None else duration(amount * 1_000_000)


def _long(total: int) -> str:
    days, rest = divmod(total, 86_400)
    hours, rest = divmod(rest, 3_600)
    minutes, secs = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (secs, "s")]
    first = next((place for place, (count, _) in enumerate(parts) if count), 3)
    shown = [f"{count}{SPACE}{unit}" for count, unit in parts[first : first + 2] if count]
    return " ".join(shown) or f"0{SPACE}s"


def percent(fraction: object, digits: int = 1) -> str:
    """A fraction of 1 as percent: 0.123 is 12.3 %."""
    amount = number_of(fraction)
    if amount is None:
        return MISSING
    if amount and abs(amount) * 100 < Decimal("0.05") and digits == 1:
        return f"< 0.1{SPACE}%"
    return signed(f"{abs(amount) * 100:.{digits}f}{SPACE}%", amount < 0)


def change(current: object, previous: object) -> str:
    """Relative change with its sign: +12.4 %, "new" from zero, — where either is unknown."""
    after, before = number_of(current), number_of(previous)
    if after is None or before is None:
        return MISSING
    if before == 0:
        return "new" if after else f"0.0{SPACE}%"
    ratio = (after - before) / abs(before) * 100
    if abs(ratio) < Decimal("0.05"):
        return f"0.0{SPACE}%"
    return f"{'+' if ratio > 0 else MINUS}{abs(ratio):,.1f}{SPACE}%"


def points(current: object, previous: object) -> str:
    """Change of a rate, in percentage points."""
    after, before = number_of(current), number_of(previous)
    if after is None or before is None:
        return MISSING
    moved = (after - before) * 100
    if abs(moved) < Decimal("0.05"):
        return f"0.0{SPACE}pp"
    return f"{'+' if moved > 0 else MINUS}{abs(moved):.1f}{SPACE}pp"


def rate(value: object) -> str:
    """A rate without its unit: no decimals from ten on."""
    amount = number_of(value)
    if amount is None:
        return MISSING
    return f"{amount:,.0f}" if abs(amount) >= 10 else f"{amount:.2f}"


def missing(value: object) -> str:
    """Text, or an em dash where there is none."""
    return MISSING if value is None or value == "" else str(value)


def age(moment: datetime | None, now: datetime) -> str:
    """How long ago, in one or two units."""
    if moment is None:
        return MISSING
    return _long(max(0, int((now - moment) / timedelta(seconds=1)))) + " ago"
