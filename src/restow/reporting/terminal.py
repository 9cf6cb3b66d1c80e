"""Output on a terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """A console on stdout, or stderr, that leaves long lines to the terminal."""
    from rich.console import Console  # noqa: PLC0415 - what writes JSON asks for none

    return Console(soft_wrap=True, highlight=False, stderr=stderr)


def shown(print_on: Callable[[Console], None]) -> str:
    """What would be printed on stdout, with the colours that its terminal has."""
    terminal = console()
    with terminal.capture() as captured:
        print_on(terminal)
    return captured.get()
