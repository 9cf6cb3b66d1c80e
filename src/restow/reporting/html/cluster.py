"""The cluster as a picture: a skyline, with a card for each node where these are few; a heat map for very many.

Below it is how many nodes are how full.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from restow.kube.quantity import amount
from restow.reporting.answer import predicts, predicts_load
from restow.reporting.html.elements import EMPTY, Markup, section, tag, text
from restow.reporting.html.heat_map import heat_map
from restow.reporting.html.skyline import has_skyline, skyline
from restow.reporting.load_lines import shown_resources
from restow.reporting.wording import counted, percent, resource_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.descheduling.plan import NodeLoad
    from restow.reporting.forms import Report


MOST_CARDS: Final = 200
#: So many cards are open.
_ROOMY: Final = 48
_MOST_RESOURCES: Final = 2
_BUCKETS: Final = 10


def cluster(report: Report) -> Markup:
    """Write the section; its controls stay hidden until the page's script shows them."""
    picture = skyline(report) if has_skyline(report) else heat_map(report)
    controls = tag("div", _slider(report), _stepper(report), class_="controls", hidden="")
    pictured = tag("div", picture, class_="picture")
    return section("cluster", "Cluster", _facts(report), controls, pictured, _distribution(report), _cards(report))


def _facts(report: Report) -> Markup:
    summary = report.plan.summary
    pending = f" ({summary.pending_pods:,} pending)" if summary.pending_pods else ""
    facts = f"{counted(summary.nodes, 'node')}, {counted(summary.pods, 'pod')}{pending}. "
    return tag("p", text(facts + _reading(report)), class_="dim")


def _reading(report: Report) -> str:
    """Say what a bar means; a heat map has its own legend."""
    if not has_skyline(report) or not report.loads:
        return ""
    if predicts_load(report.plan):
        return (
            "One bar per node, by zone: requests as a share of allocatable after the plan; a line where it was before."
        )
    return "One bar per node, by zone: requests as a share of allocatable."


def _slider(report: Report) -> Markup:
    """What makes the moves of a skyline one after the other."""
    if not predicts_load(report.plan) or not has_skyline(report):
        return EMPTY
    most = len(report.plan.moves)
    slider = tag("input", type="range", id="made", min=0, max=most, value=most, aria_label="Moves made")
    sides = tag("span", text("before")), slider, tag("span", text("after"))
    return tag("div", *sides, tag("button", text("Play"), type="button", id="play"), class_="slider")


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


def _cards(report: Report) -> Markup:
    """Write the list of nodes, by name; nothing where they are many."""
    count = len(report.loads)
    if not 0 < count <= MOST_CARDS:
        return EMPTY
    leaving = Counter(each.source for each in report.plan.moves)
    arriving = Counter(each.target for each in report.plan.moves)
    resources = shown_resources(report)
    cards = (_card(each, resources, leaving[each.name], arriving[each.name]) for each in report.loads)
    listed = tag("ul", *cards, class_="nodes dense" if count > _ROOMY else "nodes")
    sorting = tag("div", _sorting(), class_="controls", hidden="")
    opened = "" if count <= _ROOMY else None
    return tag(
        "details",
        tag("summary", text(f"{counted(count, 'node')} in figures")),
        sorting,
        listed,
        class_="figures-of",
        open=opened,
    )


def _card(load: NodeLoad, resources: Sequence[str], leaving: int, arriving: int) -> Markup:
    meters = (_meter(each, load.resources[each]) for each in resources if load.resources.get(each, (0, 0, 0))[0])
    return tag(
        "li",
        tag("h3", text(load.name)),
        *meters,
        tag("p", *_node_facts(load, leaving, arriving), class_="facts"),
        class_="node",
        data_name=load.name,
        data_zone=load.zone,
        data_load=str(_fullest(load, resources)),
    )


def _fullest(load: NodeLoad, resources: Sequence[str]) -> int:
    """Return the fullest resource before, in permille of allocatable: what sorting by load looks at."""
    known = (load.resources.get(each, (0, 0, 0)) for each in resources)
    return max((1000 * before // allocatable for allocatable, before, _ in known if allocatable), default=0)


def _meter(resource: str, values: tuple[int, int, int]) -> Markup:
    allocatable, before, after = values
    described = (
        f"{resource_title(resource)}: {amount(resource, before)} of {amount(resource, allocatable)} requested before, "
        f"{amount(resource, after)} after"
    )
    bars = [tag("rect", class_="after", width=_width(after / allocatable), height="100%", rx=2)]
    if before != after:
        bars.append(tag("rect", class_="before", width=_width(before / allocatable), height="100%", rx=2))
    picture = tag("svg", tag("title", text(described)), *bars, class_="bar", role="img", aria_label=described)
    name = tag("span", text(resource), class_="resource", title=resource)
    return tag("div", name, picture, _value(before / allocatable, after / allocatable), class_="meter")


def _width(fraction: float) -> str:
    return f"{min(max(fraction, 0), 1) * 100:.1f}%"


def _value(before: float, after: float) -> Markup:
    if percent(before) == percent(after):
        return tag("span", text(percent(after)), class_="value")
    start = tag("span", text(f"{percent(before).removesuffix(' %')} → "), class_="dim")
    return tag("span", start, text(percent(after)), class_="value")


def _pods(load: NodeLoad) -> str:
    change = f"{load.pods_before:,} → " if load.pods_before != load.pods_after else ""
    return change + counted(load.pods_after, "pod")


def _node_facts(load: NodeLoad, leaving: int, arriving: int) -> Iterator[Markup]:
    yield tag("span", text(_pods(load)))
    if leaving:
        yield tag("span", text(f"{leaving:,} {'leaves' if leaving == 1 else 'leave'}"), class_="leaves")
    if arriving:
        yield tag("span", text(f"{arriving:,} {'arrives' if arriving == 1 else 'arrive'}"), class_="arrives")
    if load.unschedulable:
        yield tag("span", text("unschedulable"))
    if load.zone:
        yield tag("span", text(load.zone), class_="zone")


def _distribution(report: Report) -> Markup:
    """Write how many nodes are how full, before and after."""
    charts = (_histogram(report, each) for each in shown_resources(report)[:_MOST_RESOURCES])
    return tag("div", *charts, class_="distribution") if len(report.loads) > 1 else EMPTY


def _histogram(report: Report, resource: str) -> Markup:
    before, after = _by_tenths(report.loads, resource)
    known = predicts_load(report.plan)
    shown, top = after if known else before, max(*before, *after, 1)
    shapes = [_column(at, count / top) for at, count in enumerate(shown)]
    shapes += [_level(at, count / top) for at, count in enumerate(before)] if known else []
    told = [f"{10 * at} %: {f'{before[at]} → ' if known else ''}{count}" for at, count in enumerate(shown)]
    title = f"Nodes by {resource_title(resource)} requested"
    label = f"{title}, in tenths from {', '.join(told)}"
    picture = tag("svg", *shapes, viewBox="0 0 100 40", preserveAspectRatio="none", role="img", aria_label=label)
    scale = tag("div", *(tag("span", text(each)) for each in ("0 %", "50 %", "100 %")), class_="scale")
    return tag("figure", tag("figcaption", text(f"{title} (the tallest: {counted(top, 'node')})")), picture, scale)


def _by_tenths(loads: Sequence[NodeLoad], resource: str) -> tuple[list[int], list[int]]:
    """How many nodes are in each tenth of their room, before and after."""
    before, after = [0] * _BUCKETS, [0] * _BUCKETS
    for load in loads:
        allocatable, *sides = load.resources.get(resource, (0, 0, 0))
        for counts, value in zip((before, after), sides, strict=True):
            if allocatable:
                counts[min(int(_BUCKETS * value / allocatable), _BUCKETS - 1)] += 1
    return before, after


def _column(at: int, share: float) -> Markup:
    height = round(40 * share, 1)
    return tag("rect", class_="after", x=10 * at + 1, y=f"{40 - height:g}", width=8, height=f"{height:g}")


def _level(at: int, share: float) -> Markup:
    return tag("path", class_="before", d=f"M{10 * at} {40 - round(40 * share, 1):g}h10")
