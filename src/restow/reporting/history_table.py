"""``restow history`` on a terminal: what was done, whether it helped, by strategy and workload, and the last moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.terminal import joined, labelled, more_lines, narrowed, print_sections, widths
from restow.reporting.wording import counted, resource_title

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


def headline(found: HistoryReport) -> str:
    """Say what was done, and how well: ``142 pods moved: 120 to their targets, 19 to other good nodes, 3 missed``."""
    moves = found.moves
    if not moves.evicted:
        return f"No pod was moved; {counted(moves.planned, 'move')} planned" if moves.planned else "No pod was moved"
    parts = [f"{moves.on_target:,} to their targets"] if moves.on_target else []
    parts += [f"{moves.on_other:,} to other good nodes"] if moves.on_other else []
    parts += [f"{moves.missed:,} missed"] if moves.missed else []
    parts += [f"{moves.not_ready:,} not seen to be ready"] if moves.not_ready else []
    parts += [f"{moves.again:,} moved again"] if moves.again else []
    sentence = f"{counted(moves.evicted, 'pod')} moved"
    return f"{sentence}: {', '.join(parts)}" if parts else sentence


def cycles(found: HistoryReport) -> str:
    """Say how many cycles there were: ``288, of which 2 failed``."""
    known = found.cycles
    wrong = [f"{number:,} {what}" for number, what in ((known.failed, "failed"), (known.skipped, "skipped")) if number]
    return f"{known.total:,}, of which {' and '.join(wrong)}" if wrong else f"{known.total:,}"


def balance(found: HistoryReport) -> list[str]:
    """Say how each resource was spread before the first cycle and after the last one."""
    said = [f"{resource_title(each.resource)} {each.before:.2f} -> {each.after:.2f}" for each in found.spread]
    return [f"{'; '.join(said)} (spread of the nodes' requested shares)"] if said else []


_COUNTS: Final = ("MOVED", "TARGET", "OTHER", "MISSED", "UNREADY", "AGAIN", "HELD", "READY")
_MOVES: Final = ("TIME", "POD", "STRATEGY", "FROM", "TO", "RESULT")


def _group(group: GroupOfMoves) -> Sequence[str]:
    moves, seconds = group.moves, group.median_seconds_to_ready
    numbers = (moves.evicted, moves.on_target, moves.on_other, moves.missed, moves.not_ready, moves.again)
    held = moves.dropped + moves.blocked + moves.failed
    return (
        printable(group.name),
        *(f"{each:,}" for each in (*numbers, held)),
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
    columns = narrowed(widths(cells), width - 1)
    for number, row in enumerate(cells):
        yield Text(f" {joined(row, columns)}", style="" if number else "bold")
    yield from more_lines(count, _MOST)
