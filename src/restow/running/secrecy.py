"""Nothing that opens a door is written to a log, wherever it comes from: the text of an error, a URL, a flag."""

from __future__ import annotations

import re
from typing import Final

HIDDEN: Final = "[hidden]"

_NAMES: Final = re.compile(r"token|password|passwd|authorization|private.?key|client.?secret|credential", re.IGNORECASE)
_VALUES: Final = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), HIDDEN),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    # A JSON web token, such as those of service accounts.
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"), HIDDEN),
    (re.compile(r"://[^/\s@]+@"), f"://{HIDDEN}@"),
    (
        re.compile(r"\b((?:access_|id_|refresh_)?token|password|client_secret)=[^\s&\"]+", re.IGNORECASE),
        rf"\1={HIDDEN}",
    ),
)


def without_secrets(text: str) -> str:
    """Return a text with everything hidden that looks like a key, a token or a password."""
    for pattern, shown in _VALUES:
        text = pattern.sub(shown, text)
    return text


def names_a_secret(key: str) -> bool:
    """Whether what goes by a name is not for anybody to read."""
    return _NAMES.search(key) is not None
