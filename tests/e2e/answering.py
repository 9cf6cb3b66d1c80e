"""Programs that serve pages: running until a test is over, and what they answer."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from e2e.child import Child
from e2e.waiting import wait_until

#: Seconds until a program answers, on busy cores.
_PATIENCE = 60.0


@contextmanager
def answering(command: Sequence[str], log: Path, url: str, page: str) -> Iterator[None]:
    """A program, from when it answers with this page of its address on."""
    child = Child(command, log)
    child.start()
    try:
        wait_until(f"{child.name} is ready", lambda: page_of(url, page) is not None, _PATIENCE)
        yield
    finally:
        child.kill()


def page_of(url: str, page: str) -> str | None:
    """What it answers; None if nobody does."""
    try:
        with urllib.request.urlopen(f"{url}/{page}", timeout=10) as response:
            return str(response.read().decode())
    except OSError:
        return None
