"""``restow simulate`` on a terminal: what happened and when, then the run in numbers, then what was expected of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.descheduling.pod_criteria import short_duration
from restow.plain_text import printable
from restow.reporting.load_lines import bucketed, sparkline
from restow.reporting.past_wording import WORKLOAD_TITLES, number_rows, sentences, workload_rows
from restow.reporting.simulation_wording import (
    AT_ZERO,
    DISRUPTED,
    EVICTED_BY,
    LEAST_SPREAD,
    MARKS,
    TableColumn,
    assumed,
    courses,
    happenings,
    quiet_text,
    short_name,
    time_text,
    verdict_text,
)
from restow.reporting.terminal import (
    GAP,
    joined,
    labelled,
    more_lines,
    narrowed,
    paragraph,
    print_sections,
    widths,
    wrapped,
)
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from msgspec import Struct
    from rich.console import Console

    from restow.reporting.simulation_document import LoopResult, SimulationResult


_MOST_LOOPS: Final = 10
_MOST_NAMES: Final = 3
_LOOP: Final = "↻"


def loop_lines(loops: Sequence[LoopResult], width: int, short: Callable[[str], str]) -> Iterator[Text]:
    """Yield the loops, a sentence each; ``short`` is how a workload is called."""
    if not loops:
        return
    yield Text(f"{counted(len(loops), 'loop')}: the same state time after time", style="bold")
    for loop in loops[:_MOST_LOOPS]:
        yield from _marked(_LOOP, "red", printable(_sentence(loop, short)), width)
    yield from more_lines(len(loops), _MOST_LOOPS)


def _marked(mark: str, colour: str, sentence: str, width: int) -> Iterator[Text]:
    first, *rest = wrapped(sentence, width - 3)
    yield Text.assemble(" ", (mark, colour), f" {first}")
    yield from (Text(f"   {line}") for line in rest)


def _sentence(loop: LoopResult, short: Callable[[str], str]) -> str:
    """``LowNodeUtilization drives replicaset/huge in a loop: every 5m, 9 times from 5m to 50m; ...``."""
    period, since, until = (short_duration(round(each)) for each in (loop.period_seconds, loop.since, loop.until))
    driven = _listed([short(each.workload) for each in loop.workloads])
    verb = "drives" if len(loop.driven_by) == 1 else "drive"
    moved, scaled = sum(each.moved for each in loop.workloads), sum(each.scaled for each in loop.workloads)
    done = [counted(moved, "eviction")] * bool(moved) + [counted(scaled, "change") + " of size"] * bool(scaled)
    nodes = sorted({node for each in loop.workloads for node in each.nodes})
    where = f" on {_listed(nodes)}" if nodes else ""
    rounds = f"{loop.rounds:,} times from {since} to {until}"
    return f"{_listed(loop.driven_by)} {verb} {driven} in a loop: every {period}, {rounds}; {' and '.join(done)}{where}"


def _listed(names: Sequence[str]) -> str:
    """``a, b and c``; of many names the first ones."""
    shown = [*names[:_MOST_NAMES], f"{len(names) - _MOST_NAMES:,} more"] if len(names) > _MOST_NAMES else [*names]
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))


_MOST_LINES: Final = 30
_MOST_ROWS: Final = 10
_TIME: Final = 8
_LABEL: Final = 13
_FEWEST_LEVELS: Final = 10
_MOST_LEVELS: Final = 40
_COLOURS: Final = {"met": "green", "failed": "red", "undecided": "yellow"}
_NONE: Final = "-"


def print_simulation(result: SimulationResult, console: Console) -> None:
    """Print the answer in as many columns as the console has."""
    width = console.width
    sections = (
        _header(result, width),
        _timeline(result, width),
        _courses(result, width),
        _table(EVICTED_BY, result.strategies, width),
        _table(DISRUPTED, result.workloads, width),
        _table(AT_ZERO, result.budgets, width),
        loop_lines(result.loops, width, short_name),
        _past(result, width),
        _expectations(result, width),
    )
    print_sections(sections, console)


def _header(result: SimulationResult, width: int) -> Iterator[Text]:
    metadata, summary = result.metadata, result.summary
    details = [
        metadata.scenario,
        metadata.description,
        f"{time_text(metadata.seconds)} simulated",
        f"seed {metadata.seed}",
    ]
    yield from labelled("run", [printable(each) for each in details if each], width)
    if metadata.policy:
        yield from labelled("policy", [printable(metadata.policy), f"placement: {metadata.placement}"], width)
    holds = f"{counted(summary.nodes, 'node')}, {counted(summary.pods, 'pod')} at the end"
    yield from labelled("cluster", [holds, quiet_text(summary.quiet_after_seconds)], width)
    yield from labelled("assumes", [assumed(metadata)], width)


def _timeline(result: SimulationResult, width: int) -> Iterator[Text]:
    happened = happenings(result)
    if happened:
        yield Text("What happened", style="bold")
    for each in happened[:_MOST_LINES]:
        first, *rest = wrapped(printable(each.text), max(width - _TIME - len(GAP) - 1, _LABEL))
        yield Text(f" {time_text(each.at):>{_TIME}}{GAP}{first}")
        yield from (Text(f" {'':>{_TIME}}{GAP}{line}") for line in rest)
    yield from more_lines(len(happened), _MOST_LINES)


def _courses(result: SimulationResult, width: int) -> Iterator[Text]:
    """Yield the numbers over time, one line each."""
    found = courses(result)
    longest = max(len(each.details) for each in found)
    room = min(max(width - 1 - _LABEL - 2 * len(GAP) - longest, _FEWEST_LEVELS), _MOST_LEVELS)
    yield Text("The run", style="bold")
    for each in found:
        top = max(*each.numbers, LEAST_SPREAD if each.title.endswith("spread") else 1)
        picture = sparkline(bucketed([number / top for number in each.numbers], room))
        yield Text(f" {each.title.lower():<{_LABEL}}{GAP}{picture}{GAP}{each.details}")


def _table(columns: Sequence[TableColumn], rows: Sequence[Struct], width: int) -> Iterator[Text]:
    """Yield the first rows below their heading; columns in which there is nothing are left out."""
    if not rows:
        return
    cells = [[each.title.upper(), *(_cell(each, row) for row in rows[:_MOST_ROWS])] for each in columns]
    kept = [column for column in cells if set(column[1:]) != {_NONE}]
    yield from _rows(list(zip(*kept, strict=True)), width)
    yield from more_lines(len(rows), _MOST_ROWS)


def _cell(column: TableColumn, row: Struct) -> str:
    text = printable(column.text(row))
    return _NONE if text == "0" else text


def _past(result: SimulationResult, width: int) -> Iterator[Text]:
    """Yield what was recorded beside what was simulated, and the workloads in which the two differ."""
    past = result.past
    if past is None:
        return
    yield Text("The past and its simulation", style="bold")
    yield from _rows([("", "RECORDED", "SIMULATED"), *number_rows(past)], width)
    for sentence in sentences(past):
        yield from paragraph(printable(sentence), width, indent=1)
    differing = workload_rows(past)
    if differing:
        yield Text()
        yield from _rows([tuple(each.upper() for each in WORKLOAD_TITLES), *differing[:_MOST_ROWS]], width)
        yield from more_lines(len(differing), _MOST_ROWS)


def _rows(rows: Sequence[Sequence[str]], width: int) -> Iterator[Text]:
    body = [[printable(cell) for cell in row] for row in rows]
    fitting = narrowed(widths(body), width - 1)
    yield from (Text(f" {joined(row, fitting)}") for row in body)


def _expectations(result: SimulationResult, width: int) -> Iterator[Text]:
    if not result.expectations:
        return
    summary = result.summary
    parts = ((summary.met, "met"), (summary.failed, "failed"), (summary.undecided, "undecided"))
    details = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    yield Text(f"{counted(len(result.expectations), 'expectation')}: {details}", style="bold")
    for each in result.expectations:
        yield from _marked(MARKS[each.result], _COLOURS[each.result], printable(each.text), width)
        yield from paragraph(printable(verdict_text(each)), width, indent=3)
