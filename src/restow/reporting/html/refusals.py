"""The candidates that stay, by reason: counts that open into pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restow.reporting.answer import stays
from restow.reporting.html.elements import EMPTY, Markup, row, section, tag, text
from restow.reporting.refusal_groups import RefusalGroup, also_staying, group_refusals

if TYPE_CHECKING:
    from restow.descheduling.plan import Plan, Refusal

MOST_ROWS: Final = 500
#: Groups of up to this size print opened.
_SHORT: Final = 50


def refusals(plan: Plan) -> Markup:
    """Write the section, one ``<details>`` a reason."""
    groups = group_refusals(plan.refusals)
    if not groups:
        return section("stays", "Refusals", tag("p", text("No candidate was refused.")))
    intro = tag("p", text(f"{stays(plan)}. Open a reason to see its pods."), class_="dim")
    return section("stays", "Refusals", intro, _finder(), *map(_group, groups))


def _finder() -> Markup:
    field = tag("input", type="search", id="refusal-filter", placeholder="pod, node, message")
    found = tag("output", id="refusal-count")
    box = tag("p", tag("label", text("Find "), field), found, class_="controls", hidden="")
    heads = ("Pod", "Node", "Strategy", "Reason")
    table = tag("table", tag("thead", row(map(text, heads), "th")), tag("tbody"), id="found-refusals", hidden="")
    return Markup(box + table)


def _group(group: RefusalGroup) -> Markup:
    summary = tag(
        "summary",
        tag("span", text(f"{len(group.refusals):,}"), class_="count"),
        tag("span", text(group.stage), class_="stage"),
        tag("span", text(group.code), class_="code"),
        tag("span", text(group.example), class_="message"),
    )
    short = "short" if len(group.refusals) <= _SHORT else None
    return tag("details", summary, _left_out(group), _pods(group), class_=short)


def _left_out(group: RefusalGroup) -> Markup:
    if len(group.refusals) <= MOST_ROWS:
        return EMPTY
    sentence = f"Showing the first {MOST_ROWS:,} of {len(group.refusals):,}. Find searches all of them."
    return tag("p", text(sentence), class_="dim")


def _pods(group: RefusalGroup) -> Markup:
    """List the pods; a message that all share stands in the summary only."""
    heads = ("Pod", "Node", "Strategy", *(("Message",) if group.messages > 1 else ()))
    body = (row(_cells(each)[: len(heads)]) for each in group.refusals[:MOST_ROWS])
    return tag("table", tag("thead", row(map(text, heads), "th")), tag("tbody", *body))


def _cells(refusal: Refusal) -> tuple[Markup, ...]:
    more = len(also_staying(refusal))
    pods = f"{refusal.pod}{f' and {more:,} more' if more else ''}"
    return (text(pods), text(refusal.node), text(refusal.plugin), text(refusal.message))
