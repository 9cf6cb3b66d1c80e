"""Text from strangers as people may see it: on a terminal, in a log, on a page.

A dump, a policy or an API server can hold any character, and a terminal obeys escape sequences. What does not print is
shown, not obeyed: the control characters C0, C1 and DEL, the marks that reorder a line, separators of lines, and half
surrogates. ``kube.field_errors.quote`` does the same where Go's quoting is the form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

#: Not an ordinary character of ASCII, and not the line feed between the lines of a document.
_UNUSUAL: Final = re.compile(r"[^\x20-\x7e\n]")


def printable(text: str) -> str:
    """Return one line: white space becomes a space, every other character that does not print the replacement character."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else " " if each.isspace() else "\ufffd" for each in text)


def some(names: Sequence[str], most: int) -> str:
    """Write the first few names, and how many more there are."""
    told = ", ".join(map(printable, names[:most]))
    return f"{told} and {len(names) - most:,} more" if len(names) > most else told


def printable_json(document: str) -> str:
    """Return the same JSON document with an escape for every character of a string that does not print."""
    return _UNUSUAL.sub(_escaped, document)


def _escaped(found: re.Match[str]) -> str:
    char = found[0]
    return char if char.isprintable() else json.dumps(char)[1:-1]
