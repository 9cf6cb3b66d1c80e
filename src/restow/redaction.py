"""Credentials are never shown, wherever they come from: the text of an error, a URL, a flag.

All text for people passes here: lines on stderr, logs, events. ``without_password`` is for a text that is known to be a
URL, where a password may contain characters that would end it in prose.
"""

from __future__ import annotations

import re
from typing import Final

from restow.plain_text import printable

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
