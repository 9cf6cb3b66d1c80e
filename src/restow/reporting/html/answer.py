"""The top of the page: the answer in a sentence and four figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.plain_text import printable
from restow.reporting.answer import (
    certain_moves,
    gain,
    headline,
    imbalance,
    note_sentences,
    obstacles,
    predicts,
    predicts_load,
    problem_sentences,
    stays,
)
from restow.reporting.html.elements import EMPTY, Markup, joined, tag, text
from restow.reporting.html.frame import figure, origin
from restow.reporting.purpose import balance, less_even, levels, made_together, not_done, wanted
from restow.reporting.refusal_groups import group_refusals, staying_pods
from restow.reporting.sureness import targets
from restow.reporting.wording import counted, resource_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.descheduling.plan import PlanDocument
    from restow.reporting.answer import Imbalance
    from restow.reporting.report import Report


def answer(report: Report) -> Markup:
    """Write the page's header."""
    plan = report.plan
    made = (f"restow plan, {plan.metadata.placement} placement", report.sources, plan.metadata.generated_at)
    return tag(
        "header",
        origin(made),
        tag("h1", text(_sentence(report))),
        tag("p", text(_second_sentence(report)), class_="lead"),
        tag("dl", *_figures(plan), class_="figures"),
        _attention(report),
    )


def _sentence(report: Report) -> str:
    """What moves and why; what that gains only where a strategy asked for it and no resource pays for it."""
    plan = report.plan
    if not plan.moves:
        return headline(plan)
    if not predicts(plan):
        return f"{counted(len(plan.moves), 'eviction')} as the Kubernetes Descheduler would make them"
    worse = less_even(plan)
    gained = gain(report) if levels(plan) and not worse else None
    strategies = sorted({each.plugin for each in plan.moves})
    details = gained or f"{counted(len(plan.moves), 'move')} for {printable(', '.join(strategies))}"
    return "; ".join([details, *worse])


def _second_sentence(report: Report) -> str:
    plan = report.plan
    sentences = [f"{stays(plan)}.", *obstacles(plan)] if plan.refusals else []
    if plan.moves:
        about = [f"{headline(plan)}.", f"Moves by strategy: {', '.join(wanted(plan))}."]
        about += [f"Balance: {'; '.join(balance(plan))}."] if balance(plan) else []
        about += [f"All or none: {made_together(plan)}."] if made_together(plan) else []
        sentences = [*about, *sentences]
    sentences += [f"Not done, since one pod cannot go: {not_done(plan)}."] if not_done(plan) else []
    return " ".join(sentences)


def _figures(plan: PlanDocument) -> Iterator[Markup]:
    strategies = len({each.plugin for each in plan.moves})
    moves = "Moves" if predicts(plan) else "Evictions"
    yield figure(moves, text(f"{len(plan.moves):,}"), f"by {counted(strategies, 'strategy', 'strategies')}")
    yield _certainty(plan)
    reasons = counted(len(group_refusals(plan.refusals)), "reason")
    yield figure("Refused", text(f"{staying_pods(plan):,}"), f"{counted(len(plan.refusals), 'refusal')}, {reasons}")
    yield _imbalance(plan)


def _certainty(plan: PlanDocument) -> Markup:
    if not predicts(plan):
        return figure("Gain certain", text("-"), "targets are not predicted")
    details = f"of {counted(len(plan.moves), 'move')}{f'; {targets(plan.moves)}' if plan.moves else ''}"
    return figure("Gain certain", text(f"{certain_moves(plan):,}"), details)


def _imbalance(plan: PlanDocument) -> Markup:
    worst = imbalance(plan)
    if worst is None:
        return figure("Imbalance", text("-"), "load unknown")
    title = f"{resource_title(worst.resource)} imbalance"
    meaning = "standard deviation over the nodes"
    if not predicts_load(plan):
        return figure(title, text(f"{worst.before:.2f}"), meaning)
    change = joined([text(f"{worst.before:.2f}"), tag("span", text(" → "), class_="dim"), text(f"{worst.after:.2f}")])
    return figure(title, change, f"{meaning}, {_compared(worst)}")


def _compared(found: Imbalance) -> str:
    before, after = f"{found.before:.2f}", f"{found.after:.2f}"
    if before == after:
        return "unchanged"
    return "lower than before" if found.after < found.before else "higher than before"


def _attention(report: Report) -> Markup:
    sentences = [*problem_sentences(report.plan), *note_sentences(report.plan), *report.notes]
    if not sentences:
        return EMPTY
    items = tag("ul", *(tag("li", text(each)) for each in sentences))
    return tag("aside", tag("strong", text("Please note")), items, class_="attention", aria_label="Problems and notes")
