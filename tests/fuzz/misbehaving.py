"""Entries that do what no command may do, so that it is seen that it would be seen."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Sequence


def crash(_arguments: Sequence[str]) -> int:
    """Take the interpreter down."""
    ctypes.string_at(0)
    return 0


def hang(_arguments: Sequence[str]) -> int:
    """Never answer."""
    time.sleep(3600)
    return 0


def eat_memory(_arguments: Sequence[str]) -> int:
    """Ask for more than there may be."""
    return len(bytearray(8 << 30))


def leave(_arguments: Sequence[str]) -> int:
    """End with a status that is not documented."""
    return 3


def stay_silent(_arguments: Sequence[str]) -> int:
    """Refuse without a word."""
    return 2


def write_escapes(_arguments: Sequence[str]) -> int:
    """Write what a terminal obeys."""
    sys.stderr.write("dump/0.json: Pod \x1b[31mred\n")
    return 2


def quote_everything(_arguments: Sequence[str]) -> int:
    """Repeat a value however long it is."""
    sys.stderr.write(f"dump/0.json: {'9' * 5000} is too large\n")
    return 2


def change_its_mind(_arguments: Sequence[str]) -> int:
    """Answer differently each time."""
    print(time.perf_counter_ns())
    return 0
