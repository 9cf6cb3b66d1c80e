"""Durations as Go programs read and print them, in nanoseconds.

A duration is a sum of decimal numbers with units, such as ``1h30m`` or ``-1.5s``. Texts of errors are Go's, because
policy files and flags of the Kubernetes Descheduler are answered with them. Source: Go 1.26, package ``time``.
"""

from __future__ import annotations

import re

from restow.kube.excerpts import LONGEST

MICROSECOND = 10**3
MILLISECOND = 10**6
SECOND = 10**9
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE

_LONGEST = 2**63
_MOST_DIGITS = len(str(_LONGEST))

#: The micro sign and the Greek letter both mean micro.
_UNITS = {
    "ns": 1,
    "us": MICROSECOND,
    "\u00b5s": MICROSECOND,
    "\u03bcs": MICROSECOND,
    "ms": MILLISECOND,
    "s": SECOND,
    "m": MINUTE,
    "h": HOUR,
}

_TERM = re.compile(r"(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<unit>[^.0-9]*)")


def parse_duration(text: str) -> int:
    """Nanoseconds of a Go duration; ValueError with Go's text, such as ``time: invalid duration "x"``."""
    unsigned = text[1:] if text[:1] in {"-", "+"} else text
    if unsigned == "0":
        return 0
    total, rest = 0, unsigned
    while rest or not unsigned:
        nanoseconds, rest = _first_term(rest, text)
        total += nanoseconds
        if total > _LONGEST:
            raise _invalid(text)
    if text[0] == "-":
        return -total
    if total == _LONGEST:
        raise _invalid(text)
    return total


def _first_term(rest: str, text: str) -> tuple[int, str]:
    """Nanoseconds of the first number with unit, and what follows it."""
    match = _TERM.match(rest)
    if match is None or not (match["whole"] or match["part"]):
        raise _invalid(text)
    unit = _UNITS.get(match["unit"])
    whole = (match["whole"] or "").lstrip("0") or "0"
    if len(whole) > _MOST_DIGITS or int(whole) > _LONGEST:
        raise _invalid(text)
    if unit is None:
        raise _without_unit(match["unit"], text)
    nanoseconds = int(whole) * unit + _fraction(match["part"] or "", unit)
    if nanoseconds > _LONGEST:
        raise _invalid(text)
    return nanoseconds, rest[match.end() :]


def _fraction(digits: str, unit: int) -> int:
    """Nanoseconds after the point. Go computes them in floating point, and so does this, to agree to the last one."""
    numerator, scale = 0, 1.0
    for digit in digits:
        longer = numerator * 10 + int(digit)
        if longer > _LONGEST:
            break
        numerator, scale = longer, scale * 10
    return int(float(numerator) * (unit / scale))


def _invalid(text: str) -> ValueError:
    return ValueError(f"time: invalid duration {_quote(text)}")


def _without_unit(unit: str, text: str) -> ValueError:
    if not unit:
        return ValueError(f"time: missing unit in duration {_quote(text)}")
    return ValueError(f"time: unknown unit {_quote(unit)} in duration {_quote(text)}")


def _quote(text: str) -> str:
    """Go's package time quotes by itself: what is not printable ASCII is shown byte by byte."""
    shown = []
    for byte in text[:LONGEST].encode():
        if byte >= 0x80 or byte < 0x20:
            shown.append(f"\\x{byte:02x}")
        else:
            shown.append("\\" + chr(byte) if chr(byte) in '"\\' else chr(byte))
    return f'"{"".join(shown)}{"…" * (len(text) > LONGEST)}"'


def format_duration(nanoseconds: int) -> str:
    """Go's rendering: ``1h30m0s``, ``50m0s``, ``1.5s``, ``250ms``, ``0s``."""
    sign = "-" if nanoseconds < 0 else ""
    rest = abs(nanoseconds)
    if rest == 0:
        return "0s"
    for unit, step in (("ns", 1), ("\u00b5s", MICROSECOND), ("ms", MILLISECOND)):
        if rest < step * 1000:
            return f"{sign}{_decimal(rest, step)}{unit}"
    minutes, seconds = divmod(rest, MINUTE)
    hours, minutes = divmod(minutes, 60)
    shown = f"{_decimal(seconds, SECOND)}s"
    if minutes or hours:
        shown = f"{minutes}m{shown}"
    if hours:
        shown = f"{hours}h{shown}"
    return sign + shown


def _decimal(nanoseconds: int, step: int) -> str:
    """Print a count of steps without needless zeros."""
    whole, rest = divmod(nanoseconds, step)
    if rest == 0:
        return str(whole)
    width = len(str(step)) - 1
    return f"{whole}.{rest:0{width}d}".rstrip("0")
