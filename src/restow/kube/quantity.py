"""Exact resource quantities, read and written as Kubernetes does.

A quantity is a fixed-point number with a suffix: SI (``250m``, ``2``, ``5G``), binary (``1.5Gi``) or an exponent
(``1e3``). It is kept as an integer count of nano-units, the finest step that Kubernetes knows: finer values are
rounded away from zero, so that no request becomes 0. The style of the suffix is remembered for
printing but takes no part in comparison. Source: ``resource.Quantity``, apimachinery 0.36.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from restow.kube.objects import WireQuantity

Format = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

NANO_PER_UNIT = 10**9
NANO_PER_MILLI = 10**6
#: Binary quantities and the results of ``value`` stop here.
LARGEST_VALUE = 2**63 - 1

#: Most digits and largest exponent that count: Kubernetes reads more, but such an amount is beyond everything either way.
_MOST_DIGITS = 300

_TEXT = re.compile(r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?P<suffix>[eEinumkKMGTP]*[+-]?[0-9]*)")
_EXPONENT = re.compile(r"[eE]([+-]?[0-9]+)")

_DECIMAL_EXPONENTS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL_EXPONENTS.items()}
_BINARY_SUFFIXES = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")

_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_IN_BYTES: Final = ("memory", "ephemeral-storage")


@dataclass(slots=True, frozen=True, order=True)
class Quantity:
    """An exact amount. Equality, order and hash go by the amount alone."""

    #: Nano-units.
    nano: int
    #: Which family of suffixes to print with.
    format: Format = field(default="DecimalSI", compare=False)

    def value(self) -> int:
        """Whole units, rounded away from zero, at most 2**63-1 in magnitude (upstream overflows)."""
        units = min(-(-abs(self.nano) // NANO_PER_UNIT), LARGEST_VALUE)
        return units if self.nano >= 0 else -units

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.nano + other.nano, self.format if self.nano else other.format)

    def __str__(self) -> str:
        """Return the canonical form: the largest suffix that needs no fraction."""
        units, fraction = divmod(self.nano, NANO_PER_UNIT)
        if self.format == "BinarySI" and fraction == 0 and abs(units) >= 1024:
            return _print_binary(units)
        return _print_decimal(self.nano, self.format)


def parse_quantity(text: WireQuantity) -> Quantity:
    """Read the quantity that a text or a plain number of a manifest stands for; ValueError when it is none."""
    return _parse(str(text).strip())


@lru_cache(maxsize=1 << 16)
def _parse(text: str) -> Quantity:
    match = _TEXT.fullmatch(text)
    if match is None:
        raise _not_a_quantity(text)
    whole, part = match["whole"].lstrip("0"), match["part"] or ""
    if not (match["whole"] or part):
        # Upstream reads most such texts ("m", "-") as zero; but they are surely mistakes.
        raise _not_a_quantity(text)
    up, down, style = _multiplier(match["suffix"], text)
    if len(whole) > _MOST_DIGITS:
        whole = "9" * _MOST_DIGITS
    if len(part) > _MOST_DIGITS:
        # What is cut off counts as something, as everything is rounded away from zero.
        part = part[:_MOST_DIGITS] + ("1" if part[_MOST_DIGITS:].strip("0") else "")
    magnitude = int(whole + part or "0") * up
    nano = -(-magnitude // (down * 10 ** len(part)))
    if style == "BinarySI":
        nano = min(nano, LARGEST_VALUE * NANO_PER_UNIT)
        if 0 < nano < NANO_PER_UNIT:
            style = "DecimalSI"
    return Quantity(-nano if match["sign"] == "-" else nano, style)


def _multiplier(suffix: str, text: str) -> tuple[int, int, Format]:
    """Nano-units of one unit with this suffix, as a fraction, and the family of the suffix."""
    if suffix in _DECIMAL_EXPONENTS:
        return *_power_of_ten(_DECIMAL_EXPONENTS[suffix]), "DecimalSI"
    if suffix in _BINARY_SUFFIXES:
        return NANO_PER_UNIT << 10 * _BINARY_SUFFIXES.index(suffix), 1, "BinarySI"
    match = _EXPONENT.fullmatch(suffix)
    if match is None:
        raise _not_a_quantity(text)
    return *_power_of_ten(_exponent(match[1])), "DecimalExponent"


def _exponent(text: str) -> int:
    digits = text.lstrip("+-").lstrip("0") or "0"
    size = int(digits) if len(digits) < len(str(_MOST_DIGITS)) + 1 else _MOST_DIGITS
    return max(-_MOST_DIGITS, min(-size if text.startswith("-") else size, _MOST_DIGITS))


def _power_of_ten(exponent: int) -> tuple[int, int]:
    in_nano = exponent + 9
    return (10**in_nano, 1) if in_nano >= 0 else (1, 10**-in_nano)


def _not_a_quantity(text: str) -> ValueError:
    shown = text if len(text) <= 40 else text[:40] + "..."
    return ValueError(
        f'"{shown}" is not a quantity: write a number with an optional suffix, such as 250m, 2, 1.5Gi or 1e3'
    )


def _print_binary(units: int) -> str:
    steps = 0
    while units % 1024 == 0 and steps < len(_BINARY_SUFFIXES) - 1:
        units //= 1024
        steps += 1
    return f"{units}{_BINARY_SUFFIXES[steps]}"


def _print_decimal(nano: int, style: Format) -> str:
    if nano == 0:
        return "0"
    exponent = -9
    while nano % 1000 == 0 and (exponent < 18 or style == "DecimalExponent"):
        nano //= 1000
        exponent += 3
    if style == "DecimalExponent":
        return f"{nano}e{exponent}" if exponent else str(nano)
    return f"{nano}{_DECIMAL_SUFFIXES[exponent]}"


def amount(resource: str, value: int) -> str:
    """Write milli-CPU, bytes, or a plain count, by what the resource is measured in; sizes to a tenth."""
    if resource == "cpu":
        return f"{value}m" if value % 1000 else str(value // 1000)
    if not _is_size(resource):
        return f"{value:,}"
    power = _power(value)
    return _size(f"{value / 1024**power:.1f}", power)


def enough(resource: str, value: int) -> str:
    """The amount rounded up: never less than the value."""
    if not _is_size(resource):
        return amount(resource, value)
    power = _power(value)
    tenths = _tenths(value, power)
    return _size(f"{tenths // 10}.{tenths % 10}", power)


def enough_value(resource: str, value: int) -> int:
    """What ``enough`` says, as a whole number: the value, or a little more."""
    if not _is_size(resource):
        return value
    power = _power(value)
    return _tenths(value, power) * (1 << 10 * power) // 10


def _tenths(value: int, power: int) -> int:
    """Tenths of a unit, rounded up."""
    return -(-value * 10 // (1 << 10 * power))


def _is_size(resource: str) -> bool:
    return resource in _IN_BYTES or resource.startswith("hugepages-")


def _power(size: int) -> int:
    return min(max(abs(size).bit_length() - 1, 0) // 10, len(_UNITS) - 1)


def _size(number: str, power: int) -> str:
    return number.removesuffix(".0") + _UNITS[power]
