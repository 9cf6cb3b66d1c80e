"""The cluster as a heat map, for more nodes than bars can show.

The map has one cell a node and one block a zone, fullest node first, before next to after. A zone's cells keep their order
from before to after, so an even tone on the right of a gradient is what balancing looks like. Cells of one tone share one
SVG path: 5,000 nodes are some 100 KB, not 20,000 elements.
"""

from __future__ import annotations

from collections import defaultdict
from statistics import fmean
from typing import TYPE_CHECKING, Final

from restow.reporting.answer import predicts_load
from restow.reporting.html.elements import Markup, joined, tag, text
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
