"""What to say about a word that is not among the known ones."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean "x"?`` for the nearest known word, or nothing if none is near."""
    by_case = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_case, n=1)
    return f'; did you mean "{by_case[near[0]]}"?' if near else ""
