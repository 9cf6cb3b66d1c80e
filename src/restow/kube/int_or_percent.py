"""Counts that may be percentages, such as ``maxUnavailable: 25%``. Source: apimachinery's intstr, 0.36."""

from __future__ import annotations

from restow.kube.label_syntax import parse_integer


def share(value: int | str, of: int, *, up: bool) -> int:
    """A count, or a percentage of one, rounded up or down; 0 if it is neither."""
    if isinstance(value, int):
        return value
    text = value.removesuffix("%")
    percent = None if text == value else parse_integer(text)
    if percent is None or percent < 0:
        return 0
    return -(-percent * of // 100) if up else percent * of // 100
