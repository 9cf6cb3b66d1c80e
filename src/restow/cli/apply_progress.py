"""What ``restow apply`` says while it evicts: a line for each move that has ended, and a bar on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from restow.cli.streams import warn
from restow.executing.ledger import ELSEWHERE
from restow.executing.outcomes import (
    Blocked,
    Cleared,
    Dropped,
    Failed,
    Landed,
    Missing,
    Outcome,
    Requested,
    Settled,
    Unready,
    Unverified,
    Waiting,
)
from restow.policies.codes import OutcomeCode
from restow.redaction import public_line


@contextmanager
def applying(moves: int) -> Iterator[Callable[[Outcome], None]]:
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
    """What is said of an event: nothing of those that only lead to another one."""
    said = _said(outcome)
    return [f"{outcome.task.move.pod} {said}"] if said else []


def _said(outcome: Outcome) -> str:
    said = ""
    match outcome:
        case Waiting(_, message):
            said = f"waits: {message}"
        case Landed(_, replacement, node, match):
            missed = ", which is not where the plan wants it" if match in ELSEWHERE else ""
            said = f"-> {node} ({replacement}){missed}"
        case Settled():
            said = "is replaced, and its replacement is ready"
        case Cleared():
            said = "is cleared away"
        case Dropped(_, message, code):
            said = f"was not evicted: {message}" if code != OutcomeCode.REPLANNED else ""
        case Blocked(_, message) | Failed(_, message):
            said = f"was not evicted: {message}"
        case Requested():
            said = "is evicted by somebody else later"
        case Unready(_, message) | Missing(_, message) | Unverified(_, message):
            said = f"was evicted, but {message}"
    return said
