"""Which sockets of this process are connected to a port, whatever Python objects there are of them."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

#: The kernel's list of what a process has open.
_MINE = Path("/proc/self/fd")

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def sockets_to(port: int) -> list[int]:
    """The file descriptors of the sockets whose other end is at this port."""
    return [number for number in _sockets() if _other_end(number) == port]


def _sockets() -> list[int]:
    found = []
    for each in _MINE.iterdir():
        try:
            if str(each.readlink()).startswith("socket:"):
                found.append(int(each.name))
        except FileNotFoundError:
            # It was open for this very look.
            continue
    return found


def _other_end(number: int) -> int | None:
    with socket.socket(fileno=os.dup(number)) as seen:
        if seen.family not in (socket.AF_INET, socket.AF_INET6):
            return None
        try:
            return int(seen.getpeername()[1])
        except OSError:
            return None
