"""Files that an option or argument names: their text, and what messages call them."""

from __future__ import annotations

import sys

from restow.errors import InputError
from restow.small_files import read_small, read_small_file
from restow.sources.reading import STDIN


def file_bytes(path: str) -> bytes:
    """The text of a file, or of standard input; InputError in one sentence where it cannot be read or is too large."""
    if not path:
        raise InputError("the name of a file is empty: an option such as --policy-config-file= has no value")
    try:
        return read_small(sys.stdin.buffer, file_name(path)) if path == STDIN else read_small_file(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def file_name(path: str) -> str:
    """How a file is called in messages."""
    return "standard input" if path == STDIN else path
