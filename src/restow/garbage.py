"""When Python looks for garbage: a large cluster is millions of objects that stay, and one look at all of them takes seconds.

Commands begin without looking at all (``cli.main``), since they need what they make until they end.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

#: So many new objects are looked at together; by default, 700 are.
_TOGETHER: Final = 100_000


def collect() -> None:
    """From now on give back what is not needed any more, as long work has to; what is loaded by now stays."""
    settle()
    gc.set_threshold(_TOGETHER, 20, 100)
    gc.enable()


def settle() -> None:
    """What there is now stays: it is not looked at again, and given back only where nothing refers to it."""
    gc.freeze()


@contextmanager
def paused() -> Iterator[None]:
    """Nothing that is loaded in the block is garbage; it stays."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        settle()
        if was_enabled:
            gc.enable()
