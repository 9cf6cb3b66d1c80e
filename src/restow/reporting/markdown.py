"""``restow plan -o markdown``: a plan as a comment on a pull request.

The answer stands first, then the first moves, then what stays and why. The rest is folded, because nobody reads a comment
of a thousand rows. Every cell is text that came from a cluster, so nothing in it can be markup.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from restow.plain_text import printable
from restow.reporting.answer import (
    balance,
    goals,
    group_refusals,
    headline,
    note_sentences,
    problem_sentences,
    stays,
)
from restow.reporting.strategies import wanted
from restow.reporting.sureness import landing, sureness
from restow.reporting.wording import counted, why, with_caveat

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from restow.descheduling.plan import Move, PlanDocument
    from restow.reporting.forms import Report

#: Rows that are seen at once, and those behind them; the host of a comment refuses one that is too long.
_OPEN: Final = 20
_FOLDED: Final = 200
_MOVES: Final = ("#", "Pod", "Owner", "From", "To", "Gain", "Why")
_STAYS: Final = ("Pods", "Stage", "Code", "Why")
#: What would be read as markup anywhere in a line.
_MARKUP: Final = re.compile(r"([\\`*_{}\[\]<>|~#@])")


def form(report: Report) -> Iterator[bytes]:
    """Render ``-o markdown``, in UTF-8."""
    for block in (block for block in _blocks(report) if block):
        yield f"{block}\n\n".encode()


def _blocks(report: Report) -> Iterator[str]:
    plan = report.plan
    yield f"**{text(headline(plan))}**"
    yield table(("", ""), _about(report))
    moves = [_cells(number, each) for number, each in enumerate(plan.moves, 1)]
    yield from folded(_MOVES, moves, "move")
    if plan.refusals:
        yield f"**{text(stays(plan))}**"
        yield from folded(_STAYS, _groups(plan), "reason")
    sentences = (*problem_sentences(plan), *note_sentences(plan), *report.notes)
    yield "\n".join(f"* {text(each)}" for each in sentences)


def _about(report: Report) -> Iterator[Sequence[str]]:
    """Say of what the plan was made, and what comes of it."""
    plan, policy = report.plan, report.policy
    summary = plan.summary
    yield "cluster", f"{counted(summary.nodes, 'node')}, {counted(summary.pods, 'pod')}; {report.sources}"
    yield "policy", f"{policy.name}: {', '.join(policy.strategies) or 'no strategies'}; {plan.metadata.placement}"
    found = {"goal": goals(plan), "by strategy": wanted(plan) if plan.moves else [], "balance": balance(plan)}
    yield from ((name, "; ".join(sentences)) for name, sentences in found.items() if sentences)


def _cells(number: int, move: Move) -> Sequence[str]:
    owner = str(move.owner) if move.owner else "-"
    reason = why(move.plugin, with_caveat(move))
    return str(number), str(move.pod), owner, move.source, landing(move), sureness(move), reason


def _groups(plan: PlanDocument) -> list[Sequence[str]]:
    groups = group_refusals(plan.refusals)
    return [(f"{len(each.refusals):,}", each.stage, each.code, each.example) for each in groups]


def folded(heads: Sequence[str], rows: Sequence[Sequence[str]], what: str) -> Iterator[str]:
    """Yield a table with the first rows, and one with more of them that is opened by a click."""
    if rows:
        yield table(heads, rows[:_OPEN])
    if rest := rows[_OPEN : _OPEN + _FOLDED]:
        yield f"<details><summary>{counted(len(rest), f'more {what}')}</summary>\n\n{table(heads, rest)}\n\n</details>"
    if (left := len(rows) - _OPEN - _FOLDED) > 0:
        yield f"... and {counted(left, f'more {what}')}: see -o wide"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; nothing in a cell is markup."""
    lines = [heads, ["---"] * len(heads), *([text(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def text(sentence: str) -> str:
    """Return a sentence of one line in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", printable(sentence))
