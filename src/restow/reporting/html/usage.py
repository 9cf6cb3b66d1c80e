"""The usage that the plan went by, where it asked a Prometheus: each query, and a node's figure with its age."""

from __future__ import annotations

from typing import TYPE_CHECKING

from restow.cluster.usage import age_text
from restow.reporting.html.elements import EMPTY, Markup, row, section, tag, text
from restow.reporting.wide import usage_title

if TYPE_CHECKING:
    from restow.descheduling.plan import MeasuredUsage, Plan

_HEADS = ("Node", "Usage", "Newest sample", "Samples")


def usage(plan: Plan) -> Markup:
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
