"""``restow history`` on a terminal: what was done, whether it helped, by strategy and workload, and the last moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.history_wording import balance, cycles, headline
from restow.reporting.terminal import labelled, more_lines, print_sections, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from restow.reporting.history_result import GroupOfMoves, HistoryReport, PastMove

#: Rows of a table.
_MOST: Final = 20
_RESULTS: Final = {"moved": "ready", "evicted": "not ready"}


def print_history(found: HistoryReport, console: Console) -> None:
    """Print the history, cut to the console's width."""
    width, metadata = console.width, found.metadata
    about = labelled("history", [printable(metadata.file), f"{metadata.since} to {metadata.until}"], width)
    more = [
        *labelled("cycles", [cycles(found)], width),
        *(line for each in balance(found) for line in labelled("balance", [each], width)),
    ]
    strategies = _table(("STRATEGY", *_COUNTS), map(_group, found.strategies), width)
    workloads = _table(("WORKLOAD", *_COUNTS), map(_group, found.workloads), width, len(found.workloads))
    moves = _table(_MOVES, map(_move, found.listed), width, len(found.listed))
    first = [*about, *more]
    print_sections((first, [Text(headline(found), style="bold")], strategies, workloads, moves), console)


_COUNTS: Final = ("MOVED", "TARGET", "OTHER", "MISSED", "UNREADY", "AGAIN", "HELD", "READY")
_MOVES: Final = ("TIME", "POD", "STRATEGY", "FROM", "TO", "RESULT")


def _group(group: GroupOfMoves) -> Sequence[str]:
    moves, seconds = group.moves, group.median_seconds_to_ready
    numbers = (moves.evicted, moves.on_target, moves.on_other, moves.missed, moves.not_ready, moves.again)
    return (
        printable(group.name),
        *(f"{each:,}" for each in (*numbers, moves.held)),
        "-" if seconds is None else f"{seconds:,.1f} s",
    )


def _move(move: PastMove) -> Sequence[str]:
    return (
        move.at[5:19].replace("T", " "),
        printable(f"{move.namespace}/{move.pod}"),
        printable(move.strategy),
        move.source,
        move.landed or move.target or "-",
        result(move),
    )


def result(move: PastMove) -> str:
    """Say in a few words what became of a move."""
    said = _RESULTS.get(move.result, move.result)
    said = f"{said} ({move.code})" if move.code else said
    return f"{said}, missed" if move.landing == "missed" else said


def _table(heads: Sequence[str], rows: Iterator[Sequence[str]], width: int, count: int = 0) -> Iterator[Text]:
    cells = [heads, *(row for row, _ in zip(rows, range(_MOST), strict=False))]
    if len(cells) == 1:
        return
    yield from table(cells, width)
    yield from more_lines(count, _MOST)
