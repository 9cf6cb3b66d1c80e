"""Files that an option or argument names: their text, and what messages call them."""

from __future__ import annotations

import sys
from pathlib import Path

from restow.cli.options import STDIN
from restow.errors import InputError


def file_bytes(path: str) -> bytes:
    """The text of a file, or of standard input; InputError in one sentence where it cannot be read."""
    try:
        return sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def file_name(path: str) -> str:
    """How a file is called in messages."""
    return "standard input" if path == STDIN else path
