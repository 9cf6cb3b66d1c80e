"""Counts that may be percentages, such as ``maxUnavailable: 25%``. Source: apimachinery's intstr, 0.36."""

from __future__ import annotations


def share(value: int | str, of: int, *, up: bool) -> int:
    """A count, or a percentage of one, rounded up or down; 0 if it is neither."""
    if isinstance(value, int):
        return value
    text = value.removesuffix("%")
    if text == value or not text.isascii() or not text.isdigit():
        return 0
    return -(-int(text) * of // 100) if up else int(text) * of // 100
