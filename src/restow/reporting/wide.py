"""``restow plan -o wide``: every move and every refusal with all columns, nothing cut, one line each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text

from restow.cluster.usage import age_text
from restow.plain_text import printable
from restow.reporting.answer import headline, stays
from restow.reporting.columns import GAP, widths
from restow.reporting.load_lines import load_lines, node_lines
from restow.reporting.refusal_groups import also_staying
from restow.reporting.sureness import candidate_texts, landing_in_full, sureness_in_words
from restow.reporting.table import header_lines, print_sections, problem_lines, purpose_lines
from restow.reporting.terminal import shown
from restow.reporting.wording import counted, with_caveat

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from restow.descheduling.plan import MeasuredUsage, Move, PlanDocument, Refusal
    from restow.reporting.report import Report

_MOVE_HEADER = (
    "#",
    "POD",
    "OWNER",
    "FROM",
    "TO",
    "GAIN",
    "CANDIDATES",
    "PROFILE",
    "STRATEGY",
    "REASON",
)
_REFUSAL_HEADER = ("POD", "NODE", "STAGE", "CODE", "PROFILE", "STRATEGY", "MESSAGE")
_USAGE_HEADER = ("NODE", "USAGE", "NEWEST SAMPLE", "SAMPLES")
_UNCUT = 10_000


def form(report: Report) -> str:
    """Render ``-o wide``."""
    return shown(partial(print_wide, report))


def print_wide(report: Report, console: Console) -> None:
    """Print the report; lines are as long as they need to be."""
    plan = report.plan
    sections = (
        header_lines(report, _UNCUT),
        [
            Text(headline(plan), style="bold"),
            *(purpose_lines(plan, _UNCUT) if plan.moves else ()),
            *_rows_text(_move_rows(plan)),
        ],
        [Text(stays(plan), style="bold"), *_rows_text(_refusal_rows(plan))] if plan.refusals else (),
        problem_lines(report, _UNCUT),
        *([Text(usage_title(each), style="bold"), *_rows_text(_usage_rows(each))] for each in plan.usage),
        load_lines(report, _UNCUT),
        node_lines(report, _UNCUT),
    )
    print_sections(sections, console)


def _move_rows(plan: PlanDocument) -> Iterator[Sequence[str]]:
    if plan.moves:
        yield _MOVE_HEADER
    for number, move in enumerate(plan.moves, 1):
        yield (str(number), *map(printable, _move_cells(move)))


def _move_cells(move: Move) -> Sequence[str]:
    return (
        str(move.pod),
        str(move.owner or "-"),
        move.source,
        landing_in_full(move),
        sureness_in_words(move),
        _candidates(move),
        move.profile or "-",
        move.plugin,
        with_caveat(move),
    )


def _candidates(move: Move) -> str:
    unlisted = move.candidate_count - len(move.candidates)
    more = f" and {unlisted:,} more" if unlisted > 0 else ""
    nodes = ", ".join(candidate_texts(move))
    return f"{nodes or '-'}{more}"


def _refusal_rows(plan: PlanDocument) -> Iterator[Sequence[str]]:
    if plan.refusals:
        yield _REFUSAL_HEADER
    for refusal in plan.refusals:
        yield tuple(map(printable, _refusal_cells(refusal)))


def _refusal_cells(refusal: Refusal) -> Sequence[str]:
    more = len(also_staying(refusal))
    return (
        str(refusal.pod),
        refusal.node,
        refusal.stage,
        refusal.code,
        refusal.profile or "-",
        refusal.plugin,
        refusal.message + (f" ({counted(more, 'more pod stays', 'more pods stay')})" if more else ""),
    )


def usage_title(usage: MeasuredUsage) -> str:
    """Return who was asked what, and what counts of the answer."""
    figure = "newest value" if usage.percentile is None else f"p{usage.percentile:g}"
    return printable(f"Usage by {usage.source}, {figure} of {usage.query}")


def _usage_rows(usage: MeasuredUsage) -> Iterator[Sequence[str]]:
    yield _USAGE_HEADER
    for each in usage.nodes:
        yield (printable(each.node), f"{each.value:.4f}", age_text(each.age_seconds), f"{each.samples:,}")


def _rows_text(rows: Iterator[Sequence[str]]) -> Iterator[Text]:
    """Yield all rows as one text: there may be 100,000, and a console is slow with one object a line."""
    every = list(rows)
    if not every:
        return
    *padded, _ = widths(every)
    lines = (GAP.join([*map(str.ljust, row, padded), row[-1]]).rstrip() for row in every)
    yield Text("\n".join(f" {line}" for line in lines))
