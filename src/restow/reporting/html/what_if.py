"""The page of suppositions: a form, and the plan that would follow, compared with that of the cluster as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from restow.reporting.html.elements import EMPTY, Markup, cards, figure, left_out, section, tag, text
from restow.reporting.wording import counted, resource_title

if TYPE_CHECKING:
    from restow.reporting.difference_result import PlanDifference
    from restow.reporting.supposed_result import LostPod, Supposed, SupposedLanding

#: Tiles to drag; of more nodes the names are typed.
_MOST_TILES: Final = 300
_MOST_ROWS: Final = 200
#: Up to this many rows are open.
_FEW: Final = 10
_LEAD: Final = (
    "Suppose that nodes are gone or cordoned, that there are more of a kind, or that the policy is another one. "
    "Nothing of it happens: the pods are placed as the cluster's scheduler would place them, and a plan is made of that."
)


class WhatIfForm(NamedTuple):
    """What the form shows: names separated by commas or spaces, and the policy as YAML."""

    gone: str = ""
    cordoned: str = ""
    more: str = ""
    policy: str = ""
    #: Whether the policy is another one than that of the plan.
    is_another: bool = False


def what_if_form(form: WhatIfForm, nodes: Sequence[str], problem: str = "") -> tuple[Markup, ...]:
    """The form; ``nodes`` are the names of the cluster's nodes, ``problem`` is what is wrong with what was asked."""
    options = tag("datalist", *(tag("option", value=each) for each in nodes), id="node-names")
    fields = (
        _field("gone", "Nodes that are gone", form.gone, "node-1, node-2"),
        _field("cordoned", "Nodes that are cordoned", form.cordoned, "node-3"),
        _field("more", "More nodes like", form.more, "3 node-1"),
        _policy(form),
        tag("p", tag("button", text("Plan it"), type="submit", class_="main"), tag("output", id="planning")),
    )
    noted = tag("p", text(problem), class_="attention", role="alert") if problem else EMPTY
    asked = tag("form", noted, options, *fields, method="post", action="/what-if", id="what-if")
    header = tag("header", tag("h1", text("What if")), tag("p", text(_LEAD), class_="lead"))
    return header, tag("div", asked, _tiles(nodes), _dump(), class_="asking")


def _field(name: str, title: str, value: str, example: str) -> Markup:
    entry = tag(
        "input", type="text", name=name, value=value, placeholder=example, list="node-names", autocomplete="off"
    )
    return tag("label", tag("span", text(title)), entry, class_="target", data_field=name)


def _policy(form: WhatIfForm) -> Markup:
    lines = Markup("\n".join(text(each) for each in form.policy.splitlines()))
    area = tag("textarea", lines, name="policy", rows=14, spellcheck="false", aria_label="Policy as YAML")
    opened = "" if form.is_another else None
    return tag("details", tag("summary", text("Another policy")), area, class_="another short", open=opened)


def _tiles(nodes: Sequence[str]) -> Markup:
    """The nodes, to be dragged into a field; the script shows them."""
    if len(nodes) > _MOST_TILES:
        return EMPTY
    tiles = (tag("li", text(each), draggable="true", data_node=each) for each in nodes)
    told = tag("p", text("Drag a node into a field, or type its name."), class_="dim")
    return tag(
        "div", told, tag("ul", *tiles, class_="tiles", tabindex=0, aria_label="Nodes"), class_="dragging", hidden=""
    )


def _dump() -> Markup:
    """Another cluster's dump, to be planned here."""
    told = "Or plan a dump (restow snapshot, or kubectl get -o json): drop it here. It stays in this process."
    chosen = tag("input", type="file", name="dump", aria_label="A dump of a cluster")
    button = tag("button", text("Plan the dump"), type="submit")
    return tag(
        "form",
        tag("p", text(told)),
        chosen,
        button,
        method="post",
        action="/dump",
        enctype="multipart/form-data",
        id="drop",
    )


def supposed_content(found: Supposed) -> tuple[Markup, ...]:
    """The result of a supposition."""
    told, lost = found.difference, described(found.landings, found.lost)
    header = tag(
        "div",
        tag("h2", text(f"If {found.words}"), id="supposed-title"),
        tag("p", text(f"{lost}." if lost else "No pod loses its node."), class_="lead"),
        tag("dl", *_figures(told), class_="figures"),
    )
    return (tag("section", header, *_pods(found), id="supposed", aria_labelledby="supposed-title"),)


def described(landings: Sequence[SupposedLanding], lost: Sequence[LostPod]) -> str:
    """Say how many pods lose their node, and how many find another; empty where none does."""
    if not landings and not lost:
        return ""
    waiting = Counter(bool(each.target) for each in landings)
    parts = [f"{counted(len(landings) + len(lost), 'pod')} lose their node"]
    parts += [f"{waiting[True]:,} find another"] if waiting[True] else []
    parts += [f"{waiting[False]:,} stay pending"] if waiting[False] else []
    parts += [f"{len(lost):,} have no controller and are lost"] if lost else []
    return ", ".join(parts)


def _figures(told: PlanDifference) -> Iterator[Markup]:
    yield figure("Moves", text(f"{told.old.moves:,} → {told.new.moves:,}"), f"{told.same:,} are the same")
    yield figure(
        "Refusals",
        text(f"{told.old.refusals:,} → {told.new.refusals:,}"),
        counted(len(told.refusals), "reason") + " differ",
    )
    for each in [each for each in told.spread if each.resource in ("cpu", "memory")]:
        sides = " → ".join("-" if side is None else f"{side:.2f}" for side in (each.old, each.new))
        yield figure(f"{resource_title(each.resource)} spread", text(sides), "after the plan: as it is → supposed")


def _pods(found: Supposed) -> Iterator[Markup]:
    """Yield the pods whose node is gone; those that stay pending come first."""
    ranked = sorted(found.landings, key=lambda each: bool(each.target))
    rows = [_lost(each.pod, each.source) for each in found.lost] + [_landing(each) for each in ranked]
    if rows:
        shown = tag("summary", text(f"{counted(len(rows), 'pod')} of nodes that are gone"))
        opened = "" if len(rows) <= _FEW or found.lost or not ranked[0].target else None
        yield tag(
            "details",
            shown,
            cards(rows[:_MOST_ROWS]),
            left_out(len(rows), _MOST_ROWS, elsewhere=""),
            class_="short",
            open=opened,
        )


def _landing(landing: SupposedLanding) -> dict[str, Markup]:
    target = text(landing.target) if landing.target else tag("b", text(f"stays pending: {landing.message}"))
    return {"Pod": text(landing.pod), "From": text(landing.source), "To": target}


def _lost(pod: str, source: str) -> dict[str, Markup]:
    return {"Pod": text(pod), "From": text(source), "To": tag("b", text("lost: no controller makes it again"))}


def plan_section(content: Sequence[Markup], title: str) -> Markup:
    """A plan below what it is about."""
    return section("that-plan", title, *content)
