"""``restow plan -o html``: the whole page in one file, the answer first.

The plan itself travels in the page as JSON, for the page's script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from restow.plain_text import printable
from restow.policies.understood import DEFAULT_MARK
from restow.reporting.answer import (
    balance,
    best_known,
    certain_moves,
    figure_text,
    goals,
    group_refusals,
    headline,
    imbalance,
    made_together,
    not_done,
    note_sentences,
    obstacles,
    predicts,
    predicts_load,
    problem_sentences,
    staying_pods,
    stays,
    usage_of,
)
from restow.reporting.html.cluster import cluster
from restow.reporting.html.elements import (
    EMPTY,
    Markup,
    contents,
    facts,
    figure,
    joined,
    origin,
    row,
    section,
    tag,
    text,
    whole_page,
)
from restow.reporting.html.heat_map import heat_data
from restow.reporting.html.moves import moves, refusals
from restow.reporting.html.skyline import has_skyline
from restow.reporting.json import compact_json, document
from restow.reporting.strategies import strategy_shares
from restow.reporting.sureness import targets
from restow.reporting.verdict import verdict
from restow.reporting.wording import counted, resource_title, usage_title
from restow.usage.measured import age_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.descheduling.plan import GoalResult, MeasuredUsage, PlanDocument
    from restow.reporting.answer import Imbalance
    from restow.reporting.forms import PolicyView, Report
    from restow.reporting.strategies import StrategyShare


def answer(report: Report) -> Markup:
    """Write the page's header."""
    plan = report.plan
    made = (f"restow plan, {plan.metadata.placement} placement", report.sources, plan.metadata.generated_at)
    return tag(
        "header",
        origin(made),
        tag("h1", text(_with_arrows(verdict(report)))),
        tag("p", text(_with_arrows(_second_sentence(report))), class_="lead"),
        tag("dl", *_figures(plan), class_="figures"),
        _attention(report),
    )


def _with_arrows(sentence: str) -> str:
    """The sentence of a terminal with the arrows of the page."""
    return sentence.replace(" -> ", " → ")


def _second_sentence(report: Report) -> str:
    plan = report.plan
    sentences = [f"Goal {each}." for each in goals(plan)]
    sentences += [f"{stays(plan)}.", *obstacles(plan)] if plan.refusals else []
    if plan.moves:
        about = [f"{headline(plan)}."]
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
    yield _goal(plan.goals[0]) if plan.goals else _imbalance(plan)


def _goal(result: GoalResult) -> Markup:
    """How far the goal is reached, and what is known of better plans."""
    before, after = figure_text(result.before), figure_text(result.after)
    change = joined([text(before), tag("span", text(" → "), class_="dim"), text(after)])
    known = "; ".join([printable(result.unit), *best_known(result), *usage_of(result)])
    return figure(f"Goal {printable(result.goal)}", change, known)


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


_HEADS = ("Node", "Usage", "Newest sample", "Samples")


def form(report: Report) -> tuple[bytes]:
    """Render ``-o html``."""
    return (render_html(report).encode(),)


def render_html(report: Report) -> str:
    """Return the page; the same report gives the same text."""
    title = f"{headline(report.plan)} - restow plan"
    return whole_page(title, content(report), ["style.css"], "script.js")


def content(report: Report) -> tuple[Markup, ...]:
    """Return the elements of the page, to which ``script.js`` and ``style.css`` belong."""
    decided = (
        cluster(report),
        _strategies(report.plan),
        moves(report.plan),
        refusals(report.plan),
        _usage(report.plan),
    )
    main = (*decided, _policy(report.policy), _versions(report))
    data = _data("plan", compact_json(document(report.plan)))
    heat = EMPTY if has_skyline(report) else _data("heat", heat_data(report))
    return answer(report), contents(_places(report)), tag("main", *main), data, heat


def _places(report: Report) -> dict[str, str]:
    plan = report.plan
    moving = "Moves" if predicts(plan) else "Evictions"
    places = {"cluster": "Cluster"} | ({"strategies": "Strategies"} if strategy_shares(plan) else {})
    places |= {"moves": moving, "stays": "Refusals"}
    places |= {"usage": "Usage"} if report.plan.usage else {}
    return places | {"policy": "Policy", "versions": "Versions"}


def _data(name: str, data: bytes) -> Markup:
    """Embed JSON; with ``<`` escaped, no string in the document can end the element."""
    safe = Markup(data.replace(b"<", rb"\u003c").decode())
    return tag("script", safe, id=name, type="application/json")


def _strategies(plan: PlanDocument) -> Markup:
    """Write what of each strategy's wishes is done, and what holds the rest; nothing without any."""
    shares = strategy_shares(plan)
    if not shares:
        return EMPTY
    heads = ("Strategy", "Done", "", "The others")
    table = tag(
        "table", tag("thead", row(map(text, heads), "th")), tag("tbody", *map(_strategy, shares)), class_="shares"
    )
    return section("strategies", "Strategies", table)


def _strategy(share: StrategyShare) -> Markup:
    done = f"{share.moved:,} of {share.asked:,}"
    bar = tag("rect", class_="after", width=f"{100 * share.moved / share.asked:.1f}%", height="100%", rx=2)
    picture = tag("svg", bar, class_="bar", aria_hidden="true")
    return row((text(share.name), text(done), picture, text("; ".join(share.held) or "-")))


def _usage(plan: PlanDocument) -> Markup:
    """Write the section, one ``<details>`` a query; nothing where none was asked."""
    return section("usage", "Usage", *map(_query, plan.usage)) if plan.usage else EMPTY


def _query(asked: MeasuredUsage) -> Markup:
    summary = tag("summary", text(usage_title(asked)))
    if asked.problem:
        return tag("details", summary, tag("p", text(asked.problem)))
    body = (
        row(map(text, (each.node, f"{each.value:.4f}", age_text(each.age_seconds), f"{each.samples:,}")))
        for each in asked.nodes
    )
    return tag("details", summary, tag("table", tag("thead", row(map(text, _HEADS), "th")), tag("tbody", *body)))


def _policy(view: PolicyView) -> Markup:
    """Write the policy; lines that restow filled in are marked."""
    name = f"{view.name} (bundled with restow)" if view.bundled else view.name
    strategies = ", ".join(view.strategies) or "no strategies"
    lines = Markup("\n".join(map(_policy_line, view.text().splitlines())))
    return section(
        "policy",
        "Policy as understood",
        tag("p", tag("b", text(name)), text(f": {strategies}. Values not set in the file are marked as defaults.")),
        tag("pre", lines, tabindex=0, aria_label="Policy in YAML"),
    )


def _policy_line(line: str) -> Markup:
    if line.endswith(DEFAULT_MARK):
        return tag("span", text(line), class_="default")
    return text(line)


def _versions(report: Report) -> Markup:
    """Write what made the page, and from what."""
    return section("versions", "Versions", facts(_facts(report)))


def _facts(report: Report) -> dict[str, str]:
    plan = report.plan
    known = {
        "restow": plan.metadata.restow_version,
        "made at": plan.metadata.generated_at,
        "cluster": report.sources,
        "placement": plan.metadata.placement,
        "document": f"{plan.kind} {plan.api_version}",
    }
    if plan.metadata.timings is not UNSET:
        known["seconds"] = ", ".join(f"{phase} {each:.2f}" for phase, each in plan.metadata.timings.items())
    return known
