"""Bytes as a file, for libraries that take only paths, such as OpenSSL: in memory where the system can do that.

No disk that may be written to is needed then, and no private key is ever on one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import NamedTemporaryFile


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
