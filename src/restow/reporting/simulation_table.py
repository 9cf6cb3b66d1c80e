"""``restow simulate`` on a terminal: what happened and when, then the run in numbers, then what was expected of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.columns import GAP, joined, narrowed, widths, wrapped
from restow.reporting.load_lines import bucketed, sparkline
from restow.reporting.simulation_loops import loop_lines
from restow.reporting.simulation_timeline import happenings
from restow.reporting.simulation_wording import short_name, time_text, verdict_text
from restow.reporting.table import labelled, print_sections
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from restow.reporting.simulation_document import (
        BudgetTotals,
        EvictionTotals,
        SimulationResult,
        WorkloadTotals,
    )

_MOST_LINES: Final = 30
_MOST_WORKLOADS: Final = 10
_TIME: Final = 8
_LABEL: Final = 13
_FEWEST_LEVELS: Final = 10
_MOST_LEVELS: Final = 40
#: A spread that is smaller than this everywhere is not drawn as if it were a large one.
_TOP_SPREAD: Final = 0.1
_MARKS: Final = {"met": ("✓", "green"), "failed": ("✗", "red"), "undecided": ("?", "yellow")}
_NONE: Final = "-"
_ALL: Final = "see -o json"


def print_simulation(result: SimulationResult, console: Console) -> None:
    """Print the answer in as many columns as the console has."""
    width = console.width
    sections = (
        _header(result, width),
        _timeline(result, width),
        _course(result, width),
        _strategies(result.strategies, width),
        _workloads(result.workloads, width),
        _budgets(result.budgets, width),
        loop_lines(result.loops, width, short_name),
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
    quiet = summary.quiet_after_seconds
    calm = "not quiet at the end" if quiet is None else f"quiet since {time_text(quiet)}"
    yield from labelled("cluster", [holds, calm], width)


def _timeline(result: SimulationResult, width: int) -> Iterator[Text]:
    happened = happenings(result)
    if happened:
        yield Text("What happened", style="bold")
    for each in happened[:_MOST_LINES]:
        first, *rest = wrapped(printable(each.text), max(width - _TIME - len(GAP) - 1, _LABEL))
        yield Text(f" {time_text(each.at):>{_TIME}}{GAP}{first}")
        yield from (Text(f" {'':>{_TIME}}{GAP}{line}") for line in rest)
    if len(happened) > _MOST_LINES:
        yield Text(f" ... and {len(happened) - _MOST_LINES:,} more: {_ALL}", style="dim")


def _course(result: SimulationResult, width: int) -> Iterator[Text]:
    """Yield the numbers over time, one line each."""
    samples, summary = result.samples, result.summary
    waited = f"at most {summary.most_pending:,}, longest {time_text(summary.longest_pending_seconds)}"
    low, high = min(samples.nodes_in_use), max(samples.nodes_in_use)
    series = {
        "pending pods": (samples.pending, waited),
        "nodes in use": (samples.nodes_in_use, f"{low:,}" if low == high else f"{low:,} to {high:,}"),
        "cpu spread": (samples.cpu_spread, _spread(samples.cpu_spread, summary.cpu_spread)),
        "memory spread": (samples.memory_spread, _spread(samples.memory_spread, summary.memory_spread)),
    }
    longest = max(len(details) for _, details in series.values())
    room = min(max(width - 1 - _LABEL - 2 * len(GAP) - longest, _FEWEST_LEVELS), _MOST_LEVELS)
    yield Text("The run", style="bold")
    for name, (numbers, details) in series.items():
        top = max(*numbers, _TOP_SPREAD if name.endswith("spread") else 1)
        picture = sparkline(bucketed([each / top for each in numbers], room))
        yield Text(f" {name:<{_LABEL}}{GAP}{picture}{GAP}{details}")


def _spread(numbers: Sequence[float], last: float) -> str:
    return f"at most {max(*numbers, last):.2f}, {last:.2f} at the end"


def _strategies(totals: Sequence[EvictionTotals], width: int) -> Iterator[Text]:
    if not totals:
        return
    heading = ["EVICTED BY", "PODS", "MOVED", "RETURNED", "WAITING", "GONE", "AGAIN", "REFUSED"]
    rows = [
        [
            each.by,
            *_numbers(each.evicted, each.moved, each.returned, each.waiting, each.unreplaced, each.again, each.refused),
        ]
        for each in totals
    ]
    yield from _table(heading, rows, width)


def _workloads(totals: Sequence[WorkloadTotals], width: int) -> Iterator[Text]:
    if not totals:
        return
    heading = ["WORKLOAD", "EVICTED", "AGAIN", "BELOW DESIRED", "LONGEST"]
    rows = [
        [
            short_name(each.workload),
            *_numbers(each.evicted, each.again),
            time_text(each.below_seconds),
            time_text(each.longest_below_seconds),
        ]
        for each in totals[:_MOST_WORKLOADS]
    ]
    yield from _table(heading, rows, width)
    if len(totals) > _MOST_WORKLOADS:
        yield Text(f" ... and {len(totals) - _MOST_WORKLOADS:,} more: {_ALL}", style="dim")


def _budgets(totals: Sequence[BudgetTotals], width: int) -> Iterator[Text]:
    if not totals:
        return
    rows = [
        [short_name(f"pdb/{each.budget}"), time_text(each.zero_seconds), time_text(each.longest_zero_seconds)]
        for each in totals[:_MOST_WORKLOADS]
    ]
    yield from _table(["BUDGET", "AT ZERO", "LONGEST"], rows, width)
    if len(totals) > _MOST_WORKLOADS:
        yield Text(f" ... and {len(totals) - _MOST_WORKLOADS:,} more: {_ALL}", style="dim")


def _numbers(*numbers: int) -> list[str]:
    return [f"{each:,}" if each else _NONE for each in numbers]


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[Text]:
    """Yield rows below their heading; columns in which there is nothing are left out."""
    cells = [list(heading), *(list(map(printable, row)) for row in rows)]
    kept = [column for column in zip(*cells, strict=True) if set(column[1:]) != {_NONE}]
    body = list(zip(*kept, strict=True))
    columns = narrowed(widths(body), width - 1)
    yield from (Text(f" {joined(row, columns)}") for row in body)


def _expectations(result: SimulationResult, width: int) -> Iterator[Text]:
    if not result.expectations:
        return
    summary = result.summary
    parts = ((summary.met, "met"), (summary.failed, "failed"), (summary.undecided, "undecided"))
    details = ", ".join(f"{count:,} {word}" for count, word in parts if count)
    yield Text(f"{counted(len(result.expectations), 'expectation')}: {details}", style="bold")
    for each in result.expectations:
        mark, colour = _MARKS[each.result]
        first, *rest = wrapped(printable(each.text), width - 3)
        yield Text.assemble(" ", (mark, colour), f" {first}")
        yield from (Text(f"   {line}") for line in [*rest, *wrapped(printable(verdict_text(each)), width - 3)])
