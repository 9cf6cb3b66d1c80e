"""The cluster as a picture: cards for as many nodes as one can look at, a heat map for more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restow.reporting.answer import predicts, predicts_load
from restow.reporting.html.elements import EMPTY, Markup, section, tag, text
from restow.reporting.html.heat_map import heat_map
from restow.reporting.html.node_cards import node_cards
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from restow.reporting.report import Report

MOST_CARDS: Final = 200


def cluster(report: Report) -> Markup:
    """Write the section; its controls stay hidden until the page's script shows them."""
    few = len(report.loads) <= MOST_CARDS
    picture = node_cards(report) if few else heat_map(report)
    controls = tag("div", _sorting() if few else EMPTY, _stepper(report), class_="controls", hidden="")
    return section("cluster", "Cluster", _facts(report), controls, tag("div", picture, class_="picture"))


def _facts(report: Report) -> Markup:
    summary = report.plan.summary
    pending = f" ({summary.pending_pods:,} pending)" if summary.pending_pods else ""
    facts = f"{counted(summary.nodes, 'node')}, {counted(summary.pods, 'pod')}{pending}. "
    return tag("p", text(facts + _reading(report)), class_="dim")


def _reading(report: Report) -> str:
    """Say what the two shapes of a bar mean; a heat map has its own legend."""
    if len(report.loads) > MOST_CARDS:
        return ""
    if predicts_load(report.plan):
        return "Bars show requests as a share of allocatable: solid after the plan, outlined before it."
    if report.plan.moves and not predicts(report.plan):
        return "Bars show requests as a share of allocatable: outlined before, solid without the evicted pods."
    return "Bars show requests as a share of allocatable."


def _sorting() -> Markup:
    options = (tag("option", text(each), value=each.lower()) for each in ("Name", "Load", "Zone"))
    return tag("label", text("Sort nodes by "), tag("select", *options, id="node-order"))


def _stepper(report: Report) -> Markup:
    if not report.plan.moves:
        return EMPTY
    one = "move" if predicts(report.plan) else "eviction"
    hint = f"Step through the {one}s, or point at a node or a row below."
    return tag(
        "div",
        tag("button", text("←"), type="button", id="previous-move", aria_label=f"Previous {one}"),
        tag("button", text("→"), type="button", id="next-move", aria_label=f"Next {one}"),
        tag("output", text(hint), id="shown-move"),
        class_="stepper",
    )
