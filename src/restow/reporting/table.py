"""``restow plan`` on a terminal: the answer first, then the reasons, then the next command.

One screen for a small cluster, counts instead of lists for a large one. Colour is left to the console, which drops it
where the output is no terminal; every word is readable without.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.policies.codes import Stage
from restow.reporting.answer import headline, note_sentences, problem_sentences, stays
from restow.reporting.columns import GAP, next_commands, widths, wrapped
from restow.reporting.load_lines import load_lines, node_lines
from restow.reporting.move_lines import move_lines, total_line
from restow.reporting.purpose import balance, made_together, not_done, wanted
from restow.reporting.refusal_groups import group_refusals
from restow.reporting.terminal import shown
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import Console

    from restow.descheduling.plan import PlanDocument
    from restow.reporting.report import Report

_MOST_GROUPS: Final = 8
_NARROWEST_MESSAGE: Final = 20
_LABEL: Final = 7
_PART_GAP: Final = "   "


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


def print_sections(sections: Iterable[Iterable[Text]], console: Console) -> None:
    """Print the sections that have lines, an empty line between two."""
    filled = filter(None, map(list, sections))
    for index, lines in enumerate(filled):
        console.print(*([Text()] if index else []), *lines, sep="\n", soft_wrap=True, highlight=False)


def header_lines(report: Report, width: int) -> Iterator[Text]:
    """Say which cluster, which policy, which placement."""
    summary, policy = report.plan.summary, report.policy
    pending = f" ({summary.pending_pods:,} pending)" if summary.pending_pods else ""
    nodes_and_pods = f"{counted(summary.nodes, 'node')}, {counted(summary.pods, 'pod')}{pending}"
    yield from labelled("cluster", [nodes_and_pods, printable(report.sources)], width)
    name = f"{printable(policy.name)}{' (bundled)' if policy.bundled else ''}"
    strategies = printable(", ".join(policy.strategies)) or "no strategies"
    yield from labelled("policy", [name, strategies, f"placement: {report.plan.metadata.placement}"], width)


def labelled(label: str, parts: list[str], width: int) -> Iterator[Text]:
    """Yield a label and its parts, as many on a line as fit."""
    room = width - _LABEL - len(GAP)
    lines: list[str] = []
    for part in parts:
        if lines and len(f"{lines[-1]}{_PART_GAP}{part}") <= room:
            lines[-1] += _PART_GAP + part
        else:
            lines += wrapped(part, room)
    for index, line in enumerate(lines):
        yield Text.assemble((f"{'' if index else label:<{_LABEL}}{GAP}", "dim"), line)


def _answer_lines(plan: PlanDocument, width: int) -> Iterator[Text]:
    """Yield the headline, and under it the moves, or else why there are none."""
    yield from headline_lines(plan, width)
    if not plan.moves:
        yield from _group_lines(plan, width)
        return
    yield from purpose_lines(plan, width)
    yield from move_lines(plan, width)


def headline_lines(plan: PlanDocument, width: int) -> Iterator[Text]:
    """Say how many moves, how sure their gain is, and how many targets are."""
    yield from (Text(line, style="bold") for line in wrapped(headline(plan), width))


def purpose_lines(plan: PlanDocument, width: int) -> Iterator[Text]:
    """Say what each strategy gets of what it asked for, how balance changes, and what is done as one."""
    yield from total_line("by strategy", ", ".join(wanted(plan)), width)
    if balance(plan):
        yield from total_line("balance", "; ".join(balance(plan)), width)
    if made_together(plan):
        yield from total_line("all or none", made_together(plan), width)


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
        for index, line in enumerate(wrapped(sentence, width - _LABEL - len(GAP))):
            yield Text.assemble((f"{'' if index else label:<{_LABEL}}{GAP}", "yellow"), line)


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
