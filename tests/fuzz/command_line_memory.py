"""Command lines that were parsed before are not parsed again: cyclopts takes longer for one than a plan of a small cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cyclopts import App

_parsed: dict[tuple[str, ...], Any] = {}


def install() -> None:
    """Remember what every command line was parsed to; refusals are found out anew."""
    parse = App.parse_args

    def remembered(self: App, tokens: Sequence[str], **options: Any) -> Any:
        key = tuple(tokens)
        if key not in _parsed:
            _parsed[key] = parse(self, tokens, **options)
        return _parsed[key]

    App.parse_args = remembered  # type: ignore[method-assign,assignment]


def clear() -> None:
    """Forget all, for inputs that are about command lines."""
    _parsed.clear()
