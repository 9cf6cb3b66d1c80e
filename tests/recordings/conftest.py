"""Recordings that are closed at the end of a test, whatever it did with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from builders.recordings import ARecording


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[Callable[..., ARecording]]:
    """Make a recording in the directory of the test, or in another one."""
    with ExitStack() as stack:

        def make(directory: Path = tmp_path, *limits: object) -> ARecording:
            made = ARecording(directory, *limits)
            stack.callback(made.writer.abandon)
            return made

        yield make
