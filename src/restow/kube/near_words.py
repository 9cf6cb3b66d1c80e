"""What to say about a word that is not among the known ones."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

#: How alike two words have to be: those that belong to one another, and those of which one is a slip of the pen.
_NEAR: Final = 0.6
_NEARLY_THE_SAME: Final = 0.85


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean "x"?`` for the nearest known word, or nothing if none is near."""
    return _did_you_mean(word, known, _NEAR)


def misspelled_or_foreign(name: str, known: Iterable[str], owner: str) -> str:
    """Return ``did you mean "x"?`` if a plugin's name is misspelled, else that the plugin is somebody else's."""
    if not name:
        return "its name is missing"
    return _did_you_mean(name, known, _NEARLY_THE_SAME) or f"it is not one of {owner} own plugins"


def _did_you_mean(word: str, known: Iterable[str], likeness: float) -> str:
    by_case = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_case, n=1, cutoff=likeness)
    return f'did you mean "{by_case[near[0]]}"?' if near else ""
