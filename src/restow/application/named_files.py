"""Files that a request names: their text, and what messages call them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from restow.errors import InputError
from restow.small_files import read_small, read_small_file
from restow.sources.reading import STDIN


@dataclass(slots=True, frozen=True)
class NamedText:
    """A text in the place of a file: a program that imports restow has it already."""

    name: str
    content: bytes = field(repr=False)


#: A path, ``-`` for standard input, or a text.
NamedFile = str | NamedText


def file_bytes(file: NamedFile) -> bytes:
    """The text of a file, or of standard input; InputError in one sentence where it cannot be read or is too large."""
    if isinstance(file, NamedText):
        return file.content
    if not file:
        raise InputError("the name of a file is empty: an option such as --policy-config-file= has no value")
    try:
        return read_small(sys.stdin.buffer, file_name(file)) if file == STDIN else read_small_file(file)
    except OSError as error:
        raise InputError(f"{file}: {error.strerror or error}") from error


def file_name(file: NamedFile) -> str:
    """How a file is called in messages."""
    if isinstance(file, NamedText):
        return file.name
    return "standard input" if file == STDIN else file
