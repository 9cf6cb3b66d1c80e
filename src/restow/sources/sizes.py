"""How much memory inputs may take: a small packed file must not unpack to more than the machine has.

What is read into memory counts: packed files, pipes and standard input. Plain files are mapped and do not. Dumps are
packed to between a tenth and a twentieth of their size (11 to 19 measured), a bomb to a thousandth. A plan takes four
times what a dump unpacks to, and eight times at worst within these limits: 1 GB for a packed file of 3 MB.
"""

from __future__ import annotations

import gzip
import zlib
from dataclasses import dataclass
from typing import BinaryIO, Final

from restow.errors import InputError

#: Bytes that all inputs of one command may take: a real dump of 150,000 pods has less than half of it.
MOST_IN_MEMORY: Final = 4 << 30
#: How many times larger than its file an unpacked input may be.
LARGEST_RATIO: Final = 50
#: Bytes up to which the ratio does not matter.
SMALL: Final = 16 << 20
#: Bytes of unpacked text to a comma: real dumps have 30, of values so small that each takes 20 times its text have 3.
FEWEST_PER_COMMA: Final = 10
#: The option that lifts all of it.
OPTION: Final = "--no-size-limit"

_CHUNK = 1 << 20


@dataclass(slots=True)
class Sizes:
    """What the inputs of one command have taken; ``limited`` is False where people know their file and ask for it."""

    limited: bool = True
    taken: int = 0

    def read(self, stream: BinaryIO, origin: str) -> memoryview:
        """All of a stream; InputError where it is more than all inputs may take."""
        text = bytearray()
        while part := stream.read(_CHUNK):
            self._take(len(part), origin)
            text += part
        return memoryview(text)

    def unpack(self, data: memoryview, origin: str) -> memoryview:
        """All members of a gzip file, one after another; InputError where it is none, or too large."""
        text, commas = bytearray(), 0
        try:
            with gzip.GzipFile(fileobj=_Stream(data)) as file:  # type: ignore[call-overload]
                while part := file.read(_CHUNK):
                    self._take(len(part), origin)
                    text += part
                    commas += part.count(b",")
                    self._check(len(text), len(data), commas, origin)
        except EOFError as error:
            raise InputError(f"{origin}: the gzip file is truncated") from error
        except (zlib.error, gzip.BadGzipFile) as error:
            raise InputError(f"{origin}: not a valid gzip file: {error}") from error
        return memoryview(text)

    def _take(self, size: int, origin: str) -> None:
        self.taken += size
        if self.limited and self.taken > MOST_IN_MEMORY:
            raise _too_large(origin, f"more than {MOST_IN_MEMORY >> 30} GiB in memory, with all inputs before it")

    def _check(self, size: int, packed: int, commas: int, origin: str) -> None:
        if not self.limited or size <= SMALL:
            return
        if size > LARGEST_RATIO * packed:
            raise _too_large(origin, f"unpacks to more than {LARGEST_RATIO} times its size")
        if size < FEWEST_PER_COMMA * commas:
            raise _too_large(origin, "unpacks to millions of tiny values")


def _too_large(origin: str, why: str) -> InputError:
    return InputError(f"{origin}: {why}; this is hardly a cluster ({OPTION} reads it all the same)")


@dataclass(slots=True)
class _Stream:
    """A view as a file to read, without a copy of it."""

    data: memoryview
    position: int = 0

    def read(self, size: int) -> bytes:
        part = bytes(self.data[self.position : self.position + size])
        self.position += len(part)
        return part
