"""The cluster as a picture: cards for as many nodes as one can look at, a heat map for more.

The map has one cell a node and one block a zone, fullest node first, before next to after. A zone's cells keep their order
from before to after, so an even tone on the right of a gradient is what balancing looks like. Cells of one tone share one
SVG path: 5,000 nodes are some 100 KB, not 20,000 elements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Final

from restow.kube.quantity import amount
from restow.reporting.answer import predicts, predicts_load
from restow.reporting.html.elements import EMPTY, Markup, joined, section, tag, text
from restow.reporting.json import compact_json
from restow.reporting.load_lines import shown_resources
from restow.reporting.wording import counted, percent, resource_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from restow.descheduling.plan import NodeLoad
    from restow.reporting.forms import Report


COLUMNS: Final = 64
_LEVELS: Final = 10
_MOST_RESOURCES: Final = 2
_SIDES: Final = ("before", "after")
#: A node's index in the report and its load before and after as fractions.
_Cell = tuple[int, float, float]


def heat_map(report: Report) -> Markup:
    """Write the blocks of every zone, for CPU and memory."""
    blocks = [
        tag("h3", text(resource_title(resource))) + joined(_zones(report, resource))
        for resource in shown_resources(report)[:_MOST_RESOURCES]
    ]
    return tag("div", _legend(), *map(Markup, blocks), class_="heat")


def heat_data(report: Report) -> bytes:
    """Return what the page's script needs to name a cell: node names, and each block's cells in order."""
    blocks = {
        resource: {zone: list(map(_in_percent, cells)) for zone, cells in _cells_by_zone(report.loads, resource)}
        for resource in shown_resources(report)[:_MOST_RESOURCES]
    }
    names = [each.name for each in report.loads]
    return compact_json({"columns": COLUMNS, "names": names, "blocks": blocks})


def _in_percent(cell: _Cell) -> tuple[int, int, int]:
    index, before, after = cell
    return index, round(100 * before), round(100 * after)


def _cells_by_zone(loads: Iterable[NodeLoad], resource: str) -> list[tuple[str, list[_Cell]]]:
    zones: dict[str, list[_Cell]] = defaultdict(list)
    for index, load in enumerate(loads):
        allocatable, before, after = load.resources.get(resource, (0, 0, 0))
        if allocatable:
            zones[load.zone].append((index, before / allocatable, after / allocatable))
    return [(zone, sorted(cells, key=lambda each: (-each[1], each[0]))) for zone, cells in sorted(zones.items())]


def _zones(report: Report, resource: str) -> Iterator[Markup]:
    sides = _SIDES if predicts_load(report.plan) else _SIDES[:1]
    for zone, cells in _cells_by_zone(report.loads, resource):
        caption = _caption(zone, cells, sides)
        name = {"data_resource": resource, "data_zone": zone}
        pictures = (_block(cells, index, f"{side}: {caption}", name) for index, side in enumerate(sides))
        yield tag("figure", tag("figcaption", text(caption)), tag("div", *pictures, class_="sides"))


def _caption(zone: str, cells: Sequence[_Cell], sides: Sequence[str]) -> str:
    """Say the block in words: its text alternative."""
    loads = [[cell[1 + index] for cell in cells] for index in range(len(sides))]
    means = " → ".join(percent(fmean(each)) for each in loads)
    fullest = " → ".join(percent(max(each)) for each in loads)
    return f"{zone or 'no zone'}: {counted(len(cells), 'node')}, mean {means}, fullest {fullest}"


def _block(cells: Sequence[_Cell], side: int, described: str, name: dict[str, str]) -> Markup:
    paths: dict[int, list[str]] = defaultdict(list)
    for place, cell in enumerate(cells):
        level = min(max(int(cell[1 + side] * _LEVELS), 0), _LEVELS - 1)
        paths[level].append(f"M{place % COLUMNS} {place // COLUMNS}h.88v.88h-.88z")
    drawn = (tag("path", class_=f"level-{level}", d="".join(paths[level])) for level in sorted(paths))
    rows = -(-len(cells) // COLUMNS)
    picture = tag(
        "svg",
        *drawn,
        viewBox=f"0 0 {COLUMNS} {rows}",
        role="img",
        aria_label=described,
        data_side=side,
        **name,
    )
    return tag("div", tag("span", text(_SIDES[side]), class_="dim"), picture)


def _legend() -> Markup:
    swatches = (
        tag("svg", tag("rect", class_=f"level-{level}", width=1, height=1), viewBox="0 0 1 1", aria_hidden="true")
        for level in range(_LEVELS)
    )
    words = tag("span", text("One cell per node, fullest first. Requests / allocatable: 0 %"))
    return tag(
        "p", words, tag("span", *swatches, class_="swatches"), tag("span", text("90 % or more")), class_="legend"
    )


MOST_CARDS: Final = 200

_ROOMY: Final = 48


def cluster(report: Report) -> Markup:
    """Write the section; its controls stay hidden until the page's script shows them."""
    few = len(report.loads) <= MOST_CARDS
    picture = _node_cards(report) if few else heat_map(report)
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


def _node_cards(report: Report) -> Markup:
    """Write the list of nodes, by name."""
    leaving = Counter(each.source for each in report.plan.moves)
    arriving = Counter(each.target for each in report.plan.moves)
    resources = shown_resources(report)
    cards = (_card(each, resources, leaving[each.name], arriving[each.name]) for each in report.loads)
    return tag("ul", *cards, class_="nodes dense" if len(report.loads) > _ROOMY else "nodes")


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
