"""Amounts of resources as people write them: 1500m, 12.5Gi, 3."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_IN_BYTES: Final = ("memory", "ephemeral-storage")


def amount(resource: str, value: int) -> str:
    """Write milli-CPU, bytes, or a plain count, by what the resource is measured in; sizes to a tenth."""
    if resource == "cpu":
        return f"{value}m" if value % 1000 else str(value // 1000)
    if not _is_size(resource):
        return f"{value:,}"
    power = _power(value)
    return _size(f"{value / 1024**power:.1f}", power)


def enough(resource: str, value: int) -> str:
    """The same, rounded up: nothing less than the value."""
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
