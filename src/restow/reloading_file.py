"""Values made from files that may be replaced, such as certificates; made again when a file changes.

Each access checks the files, which costs one system call per file; no task watches anything. While the files cannot be
used (one of a pair is written first), the previous value stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from restow.errors import InputError

T = TypeVar("T")

_Stamp = tuple[int, int, int]


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
