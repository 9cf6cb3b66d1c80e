"""Values and names in messages, cut to what people read.

A file or an API answer can hold a value of any size. A message names it by its beginning.
"""

from __future__ import annotations

import re

#: Characters of a value that a message quotes.
LONGEST = 200
_LONG_WORD = re.compile(rf"\S{{{LONGEST + 1},}}")


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
