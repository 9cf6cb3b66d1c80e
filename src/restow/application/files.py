"""Files that a request names: the text of inputs, and outputs that are never half written.

``-`` is standard input, and a program that imports restow passes texts. An output (``-o``) is checked before there is anything
to write. A regular file is replaced as a whole, so that no one ever reads half of it, and keeps its mode and its owner. A link
is followed to what it names. Anything else - a device, a pipe - is opened and written, never replaced.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO

from restow.configuration_files import read_small, read_small_file
from restow.errors import InputError
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


def check_read_once(files: Iterable[NamedFile | None]) -> None:
    """Raise InputError where standard input is named twice."""
    if list(files).count(STDIN) > 1:
        raise InputError("standard input (-) can be read only once")


def file_name(file: NamedFile) -> str:
    """How a file is called in messages."""
    if isinstance(file, NamedText):
        return file.name
    return "standard input" if file == STDIN else file


#: Writes the whole content.
Write = Callable[[BinaryIO], None]


def check_target(path: str) -> None:
    """Raise InputError where the file that ``-o`` names cannot be written: a folder, a read-only file, no such place."""
    try:
        found = _stat(path)
        if found is None and not path.endswith(os.sep):
            os.scandir(_real(path).parent).close()
        elif found is None or stat.S_ISDIR(found.st_mode):
            raise InputError(f"-o {path}: is a directory; name a file in it")
        elif stat.S_ISREG(found.st_mode) and not (found.st_mode & 0o222 and os.access(path, os.W_OK)):
            raise InputError(f"-o {path}: the file is read-only; name another one, or make it writable")
    except OSError as error:
        raise _unusable(path, error) from error


def write_file(path: str, write: Write) -> None:
    """Write a file; InputError as ``check_target``, OSError with the file's name where writing fails halfway."""
    check_target(path)
    found = _stat(path)
    if found is None or stat.S_ISREG(found.st_mode):
        _replace(path, found, write)
    else:
        _write_through(path, write)


def prepare_directory(path: str, option: str) -> Path:
    """Return a directory for files, made where there is none; InputError with the option that named it if it cannot be used."""
    place = Path(path)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=place, prefix=".restow-"):
            return place
    except OSError as error:
        raise InputError(f"{option} {path}: {error.strerror or error}") from error


def replace_file(file: Path, content: bytes) -> None:
    """Write a file beside its place and rename it, so that no reader sees half of it; OSError where that fails."""
    part = file.with_name(f".restow-{file.name}")
    part.write_bytes(content)
    part.replace(file)


def _stat(path: str) -> os.stat_result | None:
    try:
        return Path(path).stat()
    except FileNotFoundError:
        return None


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))


def _unusable(path: str, error: OSError) -> InputError:
    return InputError(f"-o {path}: {error.strerror or error}")


def _failed(path: str, error: OSError) -> OSError:
    return OSError(error.errno, f"-o {path}: {error.strerror or error}")


def _write_through(path: str, write: Write) -> None:
    try:
        stream = Path(path).open("wb")  # noqa: SIM115 - that it cannot be opened is another error than that it is full
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        with stream:
            write(stream)
    except OSError as error:
        raise _failed(path, error) from error


def _replace(path: str, found: os.stat_result | None, write: Write) -> None:
    """Write a temporary file in the same folder, then rename it."""
    target = _real(path)
    try:
        stream = NamedTemporaryFile(dir=target.parent, prefix=".restow-", delete=False)  # noqa: SIM115 - as above
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        with stream:
            write(stream)  # type: ignore[arg-type]
        _dress(stream.name, found)
        Path(stream.name).replace(target)
    except BaseException as error:
        with suppress(OSError):
            Path(stream.name).unlink()
        if isinstance(error, OSError):
            raise _failed(path, error) from error
        raise


def _dress(name: str, found: os.stat_result | None) -> None:
    """Give a temporary file, which is for its owner alone, the mode and owner of the file before, or of a new file."""
    if found is None:
        os.chmod(name, 0o666 & ~_umask())  # noqa: PTH101
        return
    with suppress(OSError):
        os.chown(name, found.st_uid, found.st_gid)
    os.chmod(name, stat.S_IMODE(found.st_mode))  # noqa: PTH101


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
