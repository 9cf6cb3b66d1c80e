"""Files that configure a process: limited in size, read again when they are replaced, and in memory for OpenSSL.

Unlike a cluster, a policy or a configuration is small. A path may name a device that never ends, or a dump; neither is
read to its end.

A ``ReloadingFile`` checks its files at each access, which costs one system call per file; no task watches anything. While
the files cannot be used (one of a pair is written first), the previous value stays.

A ``memory_file`` is for libraries that take only paths: no disk that may be written to is needed then, and no private
key is ever on one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import BinaryIO, Final, Generic, TypeVar

from restow.errors import InputError

#: Larger than any policy, scheduler configuration or kubeconfig.
MOST_BYTES: Final = 10 << 20

T = TypeVar("T")

_Stamp = tuple[int, int, int]


def read_small_file(path: str) -> bytes:
    """The content of a file; OSError where it cannot be read, InputError where it is too large."""
    with Path(path).open("rb") as stream:
        return read_small(stream, path)


def read_small(stream: BinaryIO, name: str) -> bytes:
    """The content of a stream; InputError where it is too large."""
    content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise InputError(f"{name}: larger than {MOST_BYTES >> 20} MiB; this is not a policy or configuration")
    return content


class ReloadingFile(Generic[T]):
    """Holds what ``make`` returns; the first call raises OSError or InputError, later problems go to ``warn``, once each."""

    def __init__(
        self, files: Sequence[Path], make: Callable[[], T], warn: Callable[[str], None] = lambda _: None
    ) -> None:
        self._files = tuple(files)
        #: Makes it of the files as they are; its errors are the caller's.
        self.make = make
        self._warn = warn
        #: Why the files as they are now cannot be used; empty where they can.
        self.trouble = ""
        # Before the files are read: what is written meanwhile is seen the next time.
        self._stamps = self._seen_or_not()
        self._made = make()

    def current(self) -> T:
        """Return what the files make now, or last made when they could be used."""
        try:
            stamps = self._seen()
            if stamps != self._stamps:
                self._made = self.make()
                self._stamps, self.trouble = stamps, ""
        except FileNotFoundError:
            # They are being replaced.
            return self._made
        except (OSError, InputError) as error:
            if str(error) != self.trouble:
                self.trouble = str(error)
                self._warn(self.trouble)
        return self._made

    def _seen_or_not(self) -> tuple[_Stamp, ...]:
        try:
            return self._seen()
        except OSError:
            # Reading them gives the better error.
            return ()

    def _seen(self) -> tuple[_Stamp, ...]:
        return tuple(map(_stamp, self._files))


def _stamp(path: Path) -> _Stamp:
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


@contextmanager
def memory_file(content: bytes) -> Iterator[str]:
    """A path to bytes while the block runs; on a disk (mode 0600) only where memory has no paths. OSError where there is neither."""
    descriptor = _in_memory(content)
    if descriptor is None:
        with NamedTemporaryFile() as file:
            file.write(content)
            file.flush()
            yield file.name
        return
    try:
        yield _path(descriptor)
    finally:
        os.close(descriptor)


def _in_memory(content: bytes) -> int | None:
    """A descriptor whose path can be opened; None on a system without such ones, or without /proc."""
    if not hasattr(os, "memfd_create"):
        return None
    try:
        descriptor = os.memfd_create("restow")
    except OSError:
        return None
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(content)
        os.close(os.open(_path(descriptor), os.O_RDONLY))
    except OSError:
        os.close(descriptor)
        return None
    return descriptor


def _path(descriptor: int) -> str:
    return f"/proc/self/fd/{descriptor}"
