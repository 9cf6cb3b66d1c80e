"""The terminal of ``restow apply``: show the plan, ask, and show the progress in lines and a bar."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from restow.cli.terminal import Terminal, agrees, warn
from restow.daemon.background import end_at_last
from restow.executing.history import ELSEWHERE
from restow.executing.task import (
    Blocked,
    Cleared,
    Dropped,
    Failed,
    Landed,
    Missing,
    Outcome,
    Postponed,
    Requested,
    Settled,
    Unready,
    Unverified,
)
from restow.plain_text import public_line
from restow.policies.codes import OutcomeCode
from restow.reporting.apply_table import print_promise
from restow.reporting.terminal import console
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from rich.console import Console

    from restow.daemon.logs import Log
    from restow.descheduler.applying import Application, Promise


class TerminalAudience(Terminal):
    """The ``Audience`` at a terminal: shows the plan, asks, and shows progress."""

    def __init__(self, *, asks: bool, has_stdout: bool) -> None:
        super().__init__()
        self._asks = asks
        self._has_stdout = has_stdout

    def page(self) -> Console:
        """Where people read: stderr if a document for programs goes to stdout."""
        return console(stderr=not self._has_stdout)

    def show(self, promise: Promise, plan: str, age: int, server: str) -> None:
        """Print the table of what holds and what does not."""
        print_promise(promise, plan, age, server, self.page())

    async def agrees(self, moves: int) -> bool:
        """Ask at the terminal; no answer is a no."""
        return not self._asks or await asyncio.to_thread(agrees, f"Carry out {counted(moves, 'move')}?")

    @contextmanager
    def watching(self, application: Application, log: Log) -> Iterator[Callable[[Outcome], None]]:
        """Show outcomes on stderr, and end early on Ctrl-C."""
        _end_early_on_signals(application, log)
        with _outcomes(len(application.ledger.open)) as show:
            yield show


def _end_early_on_signals(application: Application, log: Log) -> None:
    def stop() -> None:
        application.stop()
        end_at_last(log)

    def interrupt() -> None:
        if application.interrupted.is_set():
            stop()
            return
        warn(["no more evictions are begun; waiting for the replacements on their way, until Ctrl-C is pressed again"])
        application.interrupt()

    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, interrupt)
    loop.add_signal_handler(signal.SIGTERM, stop)


@contextmanager
def _outcomes(moves: int) -> Iterator[Callable[[Outcome], None]]:
    """Takes outcomes and shows them on stderr, as long as the context lasts."""
    if not sys.stderr.isatty():
        yield lambda outcome: warn(_lines(outcome))
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True, highlight=False)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=moves)

        def show(outcome: Outcome) -> None:
            for line in _lines(outcome):
                progress.update(bar, description=public_line(line))
                if not isinstance(outcome, Settled | Cleared):
                    warn([line])
            if isinstance(outcome, Settled | Cleared):
                progress.advance(bar)

        yield show


def _lines(outcome: Outcome) -> list[str]:
    """The lines about an outcome; none for one that only precedes another."""
    said = _said(outcome)
    return [f"{outcome.task.move.pod} {said}"] if said else []


def _said(outcome: Outcome) -> str:
    said = ""
    match outcome:
        case Postponed(_, message):
            said = f"waits: {message}"
        case Landed(_, replacement, node, match):
            missed = ", which is not where the plan wants it" if match in ELSEWHERE else ""
            said = f"-> {node} ({replacement}){missed}"
        case Settled():
            said = "is replaced, and its replacement is ready"
        case Cleared():
            said = "is deleted"
        case Dropped(_, message, code):
            said = f"was not evicted: {message}" if code != OutcomeCode.REPLANNED else ""
        case Blocked(_, message) | Failed(_, message):
            said = f"was not evicted: {message}"
        case Requested():
            said = "is marked, so that another component evicts it"
        case Unready(_, message) | Missing(_, message) | Unverified(_, message):
            said = f"was evicted, but {message}"
    return said
