"""``restow plan`` on a terminal: the answer first, then the reasons, then the next command.

``-o table`` is one screen for a small cluster, and counts instead of lists for a large one. ``-o wide`` has every move and
every refusal with all columns, nothing cut, one line each. Colour is left to the console, which drops it where the output
is no terminal; every word is readable without.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.policies.codes import Stage
from restow.reporting.answer import (
    also_staying,
    balance,
    goals,
    group_refusals,
    headline,
    made_together,
    not_done,
    note_sentences,
    problem_sentences,
    stays,
)
from restow.reporting.load_lines import load_lines, node_lines
from restow.reporting.move_lines import move_lines, total_line
from restow.reporting.strategies import wanted
from restow.reporting.sureness import candidate_texts, landing_in_full, sureness_in_words
from restow.reporting.terminal import GAP, labelled, next_commands, print_sections, shown, widths, wrapped
from restow.reporting.wording import counted, usage_title, with_caveat
from restow.usage.measured import age_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from restow.descheduling.plan import MeasuredUsage, Move, PlanDocument, Refusal
    from restow.reporting.forms import Report


_MOST_GROUPS: Final = 8
_NARROWEST_MESSAGE: Final = 20


def form(report: Report) -> str:
    """Render ``-o table``."""
    return shown(partial(print_table, report))


def print_table(report: Report, console: Console) -> None:
    """Print the report, cut to the console's width."""
    plan, width = report.plan, console.width
    sections = (
        header_lines(report, width),
        _answer_lines(plan, width),
        _refusal_lines(plan, width),
        problem_lines(report, width),
        load_lines(report, width),
        node_lines(report, width),
        _next_commands(report, width),
    )
    print_sections(sections, console)


def header_lines(report: Report, width: int) -> Iterator[Text]:
    """Say which cluster, which policy, which placement."""
    summary, policy = report.plan.summary, report.policy
    pending = f" ({summary.pending_pods:,} pending)" if summary.pending_pods else ""
    nodes_and_pods = f"{counted(summary.nodes, 'node')}, {counted(summary.pods, 'pod')}{pending}"
    yield from labelled("cluster", [nodes_and_pods, printable(report.sources)], width)
    name = f"{printable(policy.name)}{' (bundled)' if policy.bundled else ''}"
    strategies = printable(", ".join(policy.strategies)) or "no strategies"
    yield from labelled("policy", [name, strategies, f"placement: {report.plan.metadata.placement}"], width)


def _answer_lines(plan: PlanDocument, width: int) -> Iterator[Text]:
    """Yield the headline, and under it the moves, or else why there are none."""
    yield from headline_lines(plan, width)
    if not plan.moves:
        yield from _group_lines(plan, width)
        yield from _goal_lines(plan, width)
        return
    yield from purpose_lines(plan, width)
    yield from move_lines(plan, width)


def headline_lines(plan: PlanDocument, width: int) -> Iterator[Text]:
    """Say how many moves, how sure their gain is, and how many targets are."""
    yield from (Text(line, style="bold") for line in wrapped(headline(plan), width))


def purpose_lines(plan: PlanDocument, width: int) -> Iterator[Text]:
    """Say what each strategy gets of what it asked for, how balance changes, and what is done as one."""
    yield from _goal_lines(plan, width)
    yield from total_line("by strategy", ", ".join(wanted(plan)), width)
    if balance(plan):
        yield from total_line("balance", "; ".join(balance(plan)), width)
    if made_together(plan):
        yield from total_line("all or none", made_together(plan), width)


def _goal_lines(plan: PlanDocument, width: int) -> Iterator[Text]:
    for sentence in goals(plan):
        yield from total_line("goal", sentence, width)


def _refusal_lines(plan: PlanDocument, width: int) -> Iterator[Text]:
    if plan.moves and plan.refusals:
        yield Text(stays(plan), style="bold")
        yield from _group_lines(plan, width)


def _group_lines(plan: PlanDocument, width: int) -> Iterator[Text]:
    groups = group_refusals(plan.refusals)
    shown = groups[:_MOST_GROUPS]
    rows = [[f"{len(each.refusals):,}", each.stage, printable(each.code)] for each in shown]
    count, stage, code = widths(rows) if rows else (0, 0, 0)
    for row, group in zip(rows, shown, strict=True):
        start = f" {row[0]:>{count}}{GAP}{row[1]:<{stage}}{GAP}{row[2]:<{code}}{GAP}"
        room = max(width - len(start), _NARROWEST_MESSAGE)
        lines = wrapped(printable(group.example), room, max_lines=2, placeholder=" …") or [""]
        for index, line in enumerate(lines):
            yield Text.assemble(" " * len(start) if index else start, (line, "dim"))
    if len(groups) > len(shown):
        yield Text(f" ... and {counted(len(groups) - len(shown), 'more reason')}: see -o wide", style="dim")
    if not_done(plan):
        yield from total_line("not done", not_done(plan), width)


def problem_lines(report: Report, width: int) -> Iterator[Text]:
    """Name strategies that could not work, and the run's notes."""
    sentences = [
        *(("problem", each) for each in problem_sentences(report.plan)),
        *(("note", each) for each in note_sentences(report.plan)),
        *(("note", printable(each)) for each in report.notes),
    ]
    for label, sentence in sentences:
        yield from labelled(label, [sentence], width, "yellow")


def _next_commands(report: Report, width: int) -> Iterator[Text]:
    listed = "every move and refusal in full" if report.plan.moves else "every refusal in full"
    commands = {
        f"restow explain pod {_example(report.plan)} ...": "why it is refused" if report.plan.refusals else None,
        "restow plan ... -o wide": listed if report.plan.moves or report.plan.refusals else None,
        "restow plan ... --policy-config-file policy.yaml": "with your own policy" if report.policy.bundled else None,
        "restow plan ... -o html > plan.html": "a report to share",
    }
    yield from next_commands({command: meaning for command, meaning in commands.items() if meaning}, width)


def _example(plan: PlanDocument) -> str:
    """The refused pod with the most to explain: one that placement or a budget holds back, if there is any."""
    order = tuple(reversed(Stage))
    chosen = min(plan.refusals, key=lambda each: order.index(each.stage), default=None)
    return printable(str(chosen.pod)) if chosen else ""


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


def wide_form(report: Report) -> str:
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
