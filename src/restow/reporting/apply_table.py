"""``restow apply`` on a terminal: what will be done before it is done, and what came of it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.descheduling.pod_criteria import short_duration
from restow.plain_text import printable
from restow.policies.codes import AppliedResult, LandingKind
from restow.reporting.move_lines import move_lines
from restow.reporting.table import headline_lines
from restow.reporting.terminal import GAP, joined, labelled, narrowed, print_sections, total_width, widths, wrapped
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from restow.descheduler.applying import Promise
    from restow.executing.history import AppliedMove
    from restow.reporting.apply_result import ApplyResult, ApplySummary

_MOST_LISTED: Final = 20
_NARROWEST_WHY: Final = 24
_ALL: Final = "see -o json"


def print_promise(promise: Promise, plan: str, age: int, server: str, console: Console) -> None:
    """Print what holds of a plan and what does not, with its file name and its ``age`` in seconds."""
    width = console.width
    sections = (
        _header(promise, plan, age, server, width),
        _refused(promise, width),
        _holds(promise, width),
        _notes(promise, width),
    )
    print_sections(sections, console)


def print_result(result: ApplyResult, console: Console) -> None:
    """Print the outcome of each promised move."""
    entries = [each for each in result.moves if each.result != AppliedResult.REFUSED]
    failed = [each for each in entries if not each.kept]
    shown = (entries if len(entries) <= _MOST_LISTED else failed)[:_MOST_LISTED]
    left_out = len(failed) - len(shown) if len(entries) > _MOST_LISTED else 0
    console.print()
    print_sections((_result_lines(result, shown, left_out, console.width),), console)


def _header(promise: Promise, plan: str, age: int, server: str, width: int) -> Iterator[Text]:
    moves = len(promise.plan.moves) + len(promise.refused)
    made = f"made {short_duration(age)} ago" if age >= 0 else "made in the future"
    yield from labelled("plan", [printable(plan), made, counted(moves, "move")], width)
    summary = promise.plan.summary
    holds = f"{counted(summary.nodes, 'node')}, {counted(summary.pods, 'pod')}"
    yield from labelled("cluster", [printable(server), holds], width)


def _refused(promise: Promise, width: int) -> Iterator[Text]:
    refused = promise.refused
    if not refused:
        return
    yield Text(f"{counted(len(refused), 'move')} {'does' if len(refused) == 1 else 'do'} not hold any more", "bold")
    if len(refused) <= _MOST_LISTED:
        rows = [[str(each.move.pod), each.code, each.message] for each in refused]
        yield from _table(["POD", "CODE", "WHY"], rows, width)
        return
    examples = {each.code: each.message for each in reversed(refused)}
    counts = Counter(each.code for each in refused).most_common()
    rows = [[f"{count:,}", code, f"for example: {examples[code]}"] for code, count in counts]
    yield from _table(["MOVES", "CODE", "WHY"], rows, width)


def _holds(promise: Promise, width: int) -> Iterator[Text]:
    if not promise.plan.moves:
        yield Text("Nothing is left to move", style="bold")
        return
    yield from headline_lines(promise.plan, width)
    yield from move_lines(promise.plan, width, see="restow apply --dry-run -o json")


def _notes(promise: Promise, width: int) -> Iterator[Text]:
    missing = promise.unsteered
    unsteered = () if missing is None else (f"replacements are not steered: {missing}",)
    for note in (*promise.notes, *unsteered):
        yield from labelled("note", [printable(note)], width)


def _result_lines(result: ApplyResult, shown: Sequence[AppliedMove], left_out: int, width: int) -> Iterator[Text]:
    summary = result.summary
    promised = summary.moves - summary.refused
    took = short_duration(round(result.metadata.seconds))
    made = f"{summary.moved:,} of {counted(promised, 'move')} made in {took}"
    sentence = ": ".join(filter(None, (made, _landings(summary))))
    yield from (Text(line, style="bold") for line in wrapped(sentence, width))
    if shown:
        rows = [[str(each.pod), each.result, each.landed or "-", _why(each)] for each in shown]
        yield from _table(["POD", "RESULT", "LANDED", "WHY"], rows, width)
    if left_out:
        yield Text(f" ... and {left_out:,} more: {_ALL}", style="dim")


def _landings(summary: ApplySummary) -> str:
    """Say where replacements landed: ``3 landed on target, 1 on another good node, 0 missed``; empty if none did."""
    targets, others, missed = summary.on_target, summary.on_other, summary.missed
    parts = [
        f"{targets:,} landed on target" if targets else "",
        f"{others:,} {'' if targets else 'landed '}on {'another good node' if others == 1 else 'other good nodes'}"
        if others
        else "",
        f"{missed:,} missed" if targets or others or missed else "",
    ]
    return ", ".join(filter(None, parts))


def _why(entry: AppliedMove) -> str:
    if entry.code:
        return f"{entry.code}: {entry.message}"
    if entry.landing == LandingKind.OTHER and not entry.message:
        return f"another good node than {entry.target}"
    return entry.message


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Text]:
    """Yield rows below their heading; the last column is wrapped, the others are cut where there is no room."""
    body = [list(map(printable, row)) for row in rows]
    if not any(row[-1] for row in body):
        body = [row[:-1] for row in body]
        columns = narrowed(widths([list(heading[:-1]), *body]), width - 1)
        yield from (Text(f" {joined(row, columns)}") for row in [list(heading[:-1]), *body])
        return
    columns = widths([list(heading[:-1]), *(row[:-1] for row in body)])
    columns = narrowed(columns, width - 1 - len(GAP) - _NARROWEST_WHY)
    room = max(width - 1 - total_width(columns) - len(GAP), _NARROWEST_WHY)
    indent = " " * (1 + total_width(columns) + len(GAP))
    yield Text(f" {joined([*heading], [*columns, room])}")
    for row in body:
        first, *rest = wrapped(row[-1], room) or [""]
        text = Text(f" {joined([*row[:-1], first], [*columns, room])}")
        text.stylize("dim", len(indent))
        yield text
        yield from (Text(indent + line, style="dim") for line in rest)
