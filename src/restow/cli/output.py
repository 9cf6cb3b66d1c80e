"""Writing to stdout what is a document, or a text for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def write(written: str | Iterable[bytes]) -> None:
    """Write text as far as the terminal's encoding goes, and a document as it is."""
    if isinstance(written, str):
        sys.stdout.write(written)
    else:
        write_pieces(written)


def write_bytes(document: bytes) -> None:
    """Write a document that is UTF-8 even where the terminal's encoding is another."""
    write_pieces([document])


def write_pieces(document: Iterable[bytes]) -> None:
    """Write a document that comes in pieces."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(document)
    sys.stdout.buffer.flush()
