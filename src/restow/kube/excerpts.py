"""Values in messages, cut to what people read.

A file or an API answer can hold a value of any size. A message names it by its beginning.
"""

from __future__ import annotations

#: Characters of a value that a message quotes.
LONGEST = 200


def excerpt(value: object) -> str:
    """Return the value as text, its first ``LONGEST`` characters if it is longer."""
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
