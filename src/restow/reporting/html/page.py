"""``-o html``: the whole page in one file.

The plan itself travels in the page as JSON, for the page's script.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import UNSET

from restow.cluster.usage import age_text
from restow.policies.understood import DEFAULT_MARK
from restow.reporting.answer import headline, predicts
from restow.reporting.html.answer import answer
from restow.reporting.html.cluster import MOST_CARDS, cluster
from restow.reporting.html.elements import EMPTY, Markup, row, section, tag, text
from restow.reporting.html.frame import contents, facts, whole_page
from restow.reporting.html.heat_map import heat_data
from restow.reporting.html.moves import moves, refusals
from restow.reporting.json import compact_json, document
from restow.reporting.wide import usage_title

if TYPE_CHECKING:
    from restow.descheduling.plan import MeasuredUsage, PlanDocument
    from restow.reporting.report import PolicyView, Report

_HEADS = ("Node", "Usage", "Newest sample", "Samples")


def form(report: Report) -> tuple[bytes]:
    """Render ``-o html``."""
    return (render_html(report).encode(),)


def render_html(report: Report) -> str:
    """Return the page; the same report gives the same text."""
    title = f"{headline(report.plan)} - restow plan"
    return whole_page(title, _content(report), ["style.css"], "script.js")


def _content(report: Report) -> tuple[Markup, ...]:
    decided = (cluster(report), moves(report.plan), refusals(report.plan), _usage(report.plan))
    main = (*decided, _policy(report.policy), _versions(report))
    data = _data("plan", compact_json(document(report.plan)))
    heat = _data("heat", heat_data(report)) if len(report.loads) > MOST_CARDS else EMPTY
    return answer(report), contents(_places(report)), tag("main", *main), data, heat


def _places(report: Report) -> dict[str, str]:
    moving = "Moves" if predicts(report.plan) else "Evictions"
    places = {"cluster": "Cluster", "moves": moving, "stays": "Refusals"}
    places |= {"usage": "Usage"} if report.plan.usage else {}
    return places | {"policy": "Policy", "versions": "Versions"}


def _data(name: str, data: bytes) -> Markup:
    """Embed JSON; with ``<`` escaped, no string in the document can end the element."""
    safe = Markup(data.replace(b"<", rb"\u003c").decode())
    return tag("script", safe, id=name, type="application/json")


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
