"""Files that have to be small, such as policies and configurations, unlike clusters.

A path may name a device that never ends, or a dump; neither is read to its end.
"""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Final

from restow.errors import InputError

#: Larger than any policy, scheduler configuration or kubeconfig.
MOST_BYTES: Final = 10 << 20


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
