"""The top of the page: the answer in a sentence and four figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.reporting.answer import (
    UPSTREAM_MEANS,
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
from restow.reporting.refusal_groups import group_refusals, staying_pods
from restow.reporting.wording import counted, resource_title

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.descheduling.plan import Plan
    from restow.reporting.report import Report


def answer(report: Report) -> Markup:
    """Write the page's header."""
    plan = report.plan
    origin = (f"restow plan, {plan.metadata.placement} placement", report.sources, plan.metadata.generated_at)
    return tag(
        "header",
        tag("p", joined((tag("span", text(each)) for each in origin), " · "), class_="origin"),
        tag("h1", text(_sentence(report))),
        tag("p", text(_second_sentence(report)), class_="lead"),
        tag("dl", *_figures(plan), class_="figures"),
        _attention(report),
    )


def _sentence(report: Report) -> str:
    if report.plan.moves and not predicts(report.plan):
        return f"{counted(len(report.plan.moves), 'eviction')} as the Kubernetes Descheduler would make them"
    return gain(report)


def _second_sentence(report: Report) -> str:
    plan = report.plan
    sentences = [f"{stays(plan)}.", *obstacles(plan)] if plan.moves else obstacles(plan)
    if plan.moves and not predicts(plan):
        sentences.insert(0, f"{UPSTREAM_MEANS.capitalize()}.")
    elif plan.moves and gain(report) != headline(plan):
        sentences.insert(0, f"{headline(plan)}.")
    return " ".join(sentences)


def _figures(plan: Plan) -> Iterator[Markup]:
    strategies = len({each.plugin for each in plan.moves})
    moves = "Moves" if predicts(plan) else "Evictions"
    yield _figure(moves, text(f"{len(plan.moves):,}"), f"by {counted(strategies, 'strategy', 'strategies')}")
    yield _certainty(plan)
    reasons = counted(len(group_refusals(plan.refusals)), "reason")
    yield _figure("Stay", text(f"{staying_pods(plan):,}"), f"{counted(len(plan.refusals), 'refusal')}, {reasons}")
    yield _imbalance(plan)


def _figure(title: str, value: Markup, meaning: str) -> Markup:
    return tag("div", tag("dt", text(title)), tag("dd", value), tag("dd", text(meaning), class_="meaning"))


def _certainty(plan: Plan) -> Markup:
    if not predicts(plan):
        return _figure("Certain", text("-"), "landing places are not predicted")
    certain = certain_moves(plan)
    return _figure("Certain", text(f"{certain:,}"), f"of {counted(len(plan.moves), 'move')}")


def _imbalance(plan: Plan) -> Markup:
    worst = imbalance(plan)
    if worst is None:
        return _figure("Imbalance", text("-"), "no load is known")
    title = f"{resource_title(worst.resource)} imbalance"
    meaning = "standard deviation over the nodes"
    if not predicts_load(plan):
        return _figure(title, text(f"{worst.before:.2f}"), meaning)
    change = joined([text(f"{worst.before:.2f}"), tag("span", text(" → "), class_="dim"), text(f"{worst.after:.2f}")])
    return _figure(title, change, meaning)


def _attention(report: Report) -> Markup:
    sentences = [*problem_sentences(report.plan), *note_sentences(report.plan), *report.notes]
    if not sentences:
        return EMPTY
    items = tag("ul", *(tag("li", text(each)) for each in sentences))
    return tag("aside", tag("strong", text("To know")), items, class_="attention", aria_label="Problems and notes")
