"""Values and names in messages: cut to what people read, and what was probably meant.

A file or an API answer can hold a value of any size. A message names it by its beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from restow.plain_text import without_secrets

#: Characters of a value that a message quotes.
LONGEST = 200
_LONG_WORD = re.compile(rf"\S{{{LONGEST + 1},}}")

#: How alike two words have to be: those that belong to one another, and those of which one is a slip of the pen.
_NEAR: Final = 0.6
_NEARLY_THE_SAME: Final = 0.85


def described(error: BaseException) -> str:
    """What foreign code raised, on one line and without secrets: plans hold it, and are shared."""
    text = without_secrets(" ".join(str(error).split()))
    return excerpt(f"{type(error).__name__}: {text}" if text else type(error).__name__)


def excerpt(value: object) -> str:
    """Return the value as text, its first ``LONGEST`` characters if it is longer."""
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def abridged(message: str) -> str:
    """Return a message with no more than the beginning of each long word: what validation quotes is of any length."""
    return _LONG_WORD.sub(lambda word: excerpt(word[0]), message)


def title(kind: str, namespace: str, name: str) -> str:
    """Return an object as messages name it: ``Pod dev/web-0``, ``Node n1``; a file can hold names of any length."""
    return f"{kind} {excerpt(namespace)}/{excerpt(name)}" if namespace else f"{kind} {excerpt(name)}"


def plural(kind: str) -> str:
    """Return a kind as sentences name its objects: ``StorageClasses``, ``CSIStorageCapacities``."""
    if kind.endswith("y"):
        return f"{kind[:-1]}ies"
    return f"{kind}es" if kind.endswith("s") else f"{kind}s"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``did you mean "x"?`` for the nearest known word, or nothing if none is near."""
    return _did_you_mean(word, known, _NEAR)


def misspelled_or_foreign(name: str, known: Iterable[str], owner: str) -> str:
    """Return ``did you mean "x"?`` if a plugin's name is misspelled, else that it comes from another package."""
    if not name:
        return "its name is missing"
    return _did_you_mean(name, known, _NEARLY_THE_SAME) or f"it is not one of {owner} own plugins"


def _did_you_mean(word: str, known: Iterable[str], likeness: float) -> str:
    by_case = {name.lower(): name for name in known}
    near = get_close_matches(word.lower(), by_case, n=1, cutoff=likeness)
    return f'did you mean "{by_case[near[0]]}"?' if near else ""
