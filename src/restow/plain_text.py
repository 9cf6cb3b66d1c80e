"""Text from strangers as people may see it: on a terminal, in a log, on a page.

A dump, a policy or an API server can hold any character, and a terminal obeys escape sequences. What does not print is
shown, not obeyed: the control characters C0, C1 and DEL, the marks that reorder a line, separators of lines, and half
surrogates. ``kube.validation.quote`` does the same where Go's quoting is the form.

Credentials are never shown, wherever they come from: the text of an error, a URL, a flag. All text for people passes
here: lines on stderr, logs, events. ``without_password`` is for a text that is known to be a URL, where a password may
contain characters that would end it in prose.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

#: Not an ordinary character of ASCII, and not the line feed between the lines of a document.
_UNUSUAL: Final = re.compile(r"[^\x20-\x7e\n]")

HIDDEN: Final = "[hidden]"

_NAMES: Final = re.compile(r"token|password|passwd|authorization|private.?key|client.?secret|credential", re.IGNORECASE)
#: Lengths are limited where a match could begin anywhere: a long crafted text would take hours.
_VALUES: Final = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), HIDDEN),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    # A JSON web token, such as those of service accounts.
    (re.compile(r"\beyJ[\w-]{8,2048}\.[\w-]+\.[\w-]*"), HIDDEN),
    # A password may contain an unencoded @ or /: it ends at the last @ of the word.
    (re.compile(r"://(?:[^\s/:@]{0,256}:\S{0,1024}|[^\s/@]{1,1024})@"), f"://{HIDDEN}@"),
    (
        re.compile(r"\b((?:access_|id_|refresh_)?token|password|client_secret)=[^\s&\"]+", re.IGNORECASE),
        rf"\1={HIDDEN}",
    ),
)
_USER_OF_URL: Final = re.compile(r"^([^@]*?://)?.*@", re.DOTALL)


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


def without_secrets(text: str) -> str:
    """Return a text with everything hidden that looks like a key, a token or a password."""
    for pattern, shown in _VALUES:
        text = pattern.sub(shown, text)
    return text


def without_password(url: str) -> str:
    """Return a URL, be it a broken one, with user and password hidden."""
    return _USER_OF_URL.sub(rf"\1{HIDDEN}@", url)


def public_line(text: str) -> str:
    """Return a text as one public line: without secrets and unprintable characters."""
    return printable(without_secrets(text))


def names_a_secret(key: str) -> bool:
    """Whether the value of a key with this name has to be hidden."""
    return _NAMES.search(key) is not None
