"""Progress on stderr: only on a terminal, and only for work that takes longer than half a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from restow.redaction import public_line

if TYPE_CHECKING:
    from rich.status import Status

_PATIENCE = 0.5


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show ``what`` with a spinner while the block runs."""
    if not sys.stderr.isatty():
        yield
        return
    shown: list[Status] = []
    timer = threading.Timer(_PATIENCE, lambda: shown.append(_spinner(what)))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        for status in shown:
            status.stop()


def _spinner(what: str) -> Status:
    from rich.console import Console
    from rich.text import Text

    status = Console(stderr=True).status(Text(public_line(what)))
    status.start()
    return status
