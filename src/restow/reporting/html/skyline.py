"""The cluster as a skyline: one bar a node, zone by zone, and every pod that moves as a coloured piece of its bar.

A bar is as high as the node has room. What stays is grey-blue; above it are the pods that move, coloured by the strategy
that moves them. Without a script the picture shows the nodes after the plan, with a line where each was before. The
page's script makes the moves one after the other: each piece knows its move (``data-move``), and each bar how high what
stays is (``data-stays``).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from restow.reporting.answer import predicts_load
from restow.reporting.html.elements import EMPTY, Markup, tag, text
from restow.reporting.load_lines import shown_resources
from restow.reporting.strategies import strategy_shares
from restow.reporting.wording import percent, resource_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.descheduling.plan import NodeLoad
    from restow.reporting.forms import Report

#: More cannot be told apart, and are a heat map.
MOST_NODES: Final = 600
MOST_MOVES: Final = 3000
_MOST_RESOURCES: Final = 2
#: Strategies beyond these share the last colour.
_COLOURS: Final = 8
#: The drawing's units: how wide it is, how high a full node is, a row with the name of its zone, and a bar with its gap.
_WIDTH: Final = 1000.0
_HEIGHT: Final = 110.0
_TITLE: Final = 18.0
_ROW: Final = _HEIGHT + _TITLE + 8
_WIDEST: Final = 26.0
_NARROWEST: Final = 8.0
#: What is between two zones in a row, in bars.
_GAP: Final = 2


class _Piece(NamedTuple):
    """A pod that leaves a node, or comes to it."""

    move: int
    #: Its place among the colours.
    strategy: int
    amount: int


@dataclass(slots=True)
class _Bar:
    """A node, and the pods that leave it and come to it."""

    load: NodeLoad
    leaving: list[_Piece] = field(default_factory=list)
    coming: list[_Piece] = field(default_factory=list)


def has_skyline(report: Report) -> bool:
    """Whether the nodes and moves are few enough to be told apart."""
    return len(report.loads) <= MOST_NODES and len(report.plan.moves) <= MOST_MOVES


def skyline(report: Report) -> Markup:
    """Write the picture of each of the most important resources, with the colours' legend."""
    pictures = (_picture(report, each) for each in shown_resources(report)[:_MOST_RESOURCES])
    return tag("div", _legend(report), *pictures, class_="skyline")


def _legend(report: Report) -> Markup:
    """Write which strategy has which colour."""
    if not report.plan.moves:
        return EMPTY
    swatch = tag("svg", tag("rect", width=1, height=1), viewBox="0 0 1 1", aria_hidden="true")
    items = [tag("li", tag("span", swatch, class_="stays"), text("stays"))]
    items += [
        tag("li", tag("span", swatch, class_=f"s{colour}"), text(name)) for name, colour in _colours(report).items()
    ]
    return tag("ul", *items, class_="legend")


def _colours(report: Report) -> dict[str, int]:
    """The number of each strategy's colour; those that move most come first."""
    names = [each.name for each in strategy_shares(report.plan) if each.moved]
    return {name: min(place, _COLOURS - 1) for place, name in enumerate(names)}


def _picture(report: Report, resource: str) -> Markup:
    zones = _zones(report, resource)
    places, rows = _places([len(bars) for bars in zones.values()])
    pitch = _pitch([len(bars) for bars in zones.values()])
    bars: list[Markup] = []
    for (zone, found), at in zip(zones.items(), places, strict=True):
        bars.append(_zone_name(zone, at[0]))
        bars += (_bar(bar, resource, place, pitch, report) for bar, place in zip(found, at, strict=True))
    described = f"{resource_title(resource)} requested of each node, by zone"
    box = f"0 0 {_WIDTH:.0f} {rows * _ROW:.0f}"
    drawing = tag("svg", *bars, viewBox=box, role="img", aria_label=described, data_resource=resource)
    return tag("figure", tag("figcaption", text(_caption(report, resource))), drawing)


def _caption(report: Report, resource: str) -> str:
    load = report.plan.summary.utilisation
    before, after = load.before[resource], load.after[resource]
    title = resource_title(resource)
    title = title[:1].upper() + title[1:]
    if not predicts_load(report.plan):
        return f"{title}: mean {percent(before.mean)}, fullest node {percent(before.max)}"
    fullest = f"fullest node {percent(before.max)} → {percent(after.max)}"
    return f"{title}: {fullest}, standard deviation {before.spread:.2f} → {after.spread:.2f}"


def _zones(report: Report, resource: str) -> dict[str, list[_Bar]]:
    """The bars of each zone, the fullest first."""
    known = {each.name: _Bar(each) for each in report.loads if each.resources.get(resource, (0, 0, 0))[0]}
    if predicts_load(report.plan):
        _add_pieces(report, resource, known)
    zones: dict[str, list[_Bar]] = defaultdict(list)
    for bar in sorted(known.values(), key=lambda each: -_share(each.load, resource)):
        zones[bar.load.zone].append(bar)
    return dict(sorted(zones.items()))


def _add_pieces(report: Report, resource: str, bars: dict[str, _Bar]) -> None:
    colours = _colours(report)
    for number, (move, requests) in enumerate(zip(report.plan.moves, report.requests, strict=False)):
        piece = _Piece(number, colours[move.plugin], requests.get(resource, 0))
        if move.source in bars:
            bars[move.source].leaving.append(piece)
        if move.target in bars:
            bars[move.target].coming.append(piece)


def _share(load: NodeLoad, resource: str) -> float:
    allocatable, before, _ = load.resources[resource]
    return before / allocatable


def _pitch(sizes: Sequence[int]) -> float:
    """How wide a bar with its gap is: all zones in one row, or the largest zone in one, or as many as can be told apart."""
    together = sum(sizes) + _GAP * (len(sizes) - 1)
    width = _WIDTH / max(together, 1)
    return min(width if width >= _NARROWEST else max(_WIDTH / max(sizes), _NARROWEST), _WIDEST)


def _places(sizes: Sequence[int]) -> tuple[list[list[tuple[float, int]]], int]:
    """Where the bars of each zone are, from the left and in which row, and how many rows there are.

    Zones share a row where they fit; one that is longer than a row goes on in the next one.
    """
    pitch = _pitch(sizes)
    most = int(_WIDTH / pitch + 1e-6)
    places: list[list[tuple[float, int]]] = []
    row, column = 0, 0
    for size in sizes:
        if column and column + size > most:
            row, column = row + 1, 0
        found = [((column + each) % most * pitch, row + (column + each) // most) for each in range(size)]
        places.append(found)
        row, column = row + (column + size) // most, (column + size) % most
        column += _GAP if column else 0
    return places, max((row for found in places for _, row in found), default=0) + 1


def _zone_name(zone: str, place: tuple[float, int]) -> Markup:
    x, row = place
    y = row * _ROW + _TITLE - 6
    return tag("text", text(zone or "no zone"), x=_number(x), y=_number(y))


def _bar(bar: _Bar, resource: str, place: tuple[float, int], pitch: float, report: Report) -> Markup:
    allocatable, before, after = bar.load.resources[resource]
    unit = _HEIGHT / allocatable
    stays = max(before - sum(each.amount for each in bar.leaving), 0) * unit
    width = _number(pitch * 0.82)
    x, row = place
    parts = [
        tag("title", text(_told(bar.load, resource, report))),
        tag("rect", class_="room", width=width, height=_number(_HEIGHT)),
        tag("rect", class_="stays", width=width, y=_number(_HEIGHT - stays), height=_number(stays)),
        *_pieces(bar, unit, stays, width),
    ]
    if before != after and predicts_load(report.plan):
        level = _number(_HEIGHT - before * unit)
        parts.append(tag("path", class_="before", d=f"M-.6 {level}h{_number(pitch * 0.82 + 1.2)}"))
    moved = f"translate({_number(x)} {_number(row * _ROW + _TITLE)})"
    return tag("g", *parts, transform=moved, data_name=bar.load.name, data_stays=_number(stays))


def _pieces(bar: _Bar, unit: float, stays: float, width: str) -> Iterator[Markup]:
    """What leaves is hidden without a script; what comes lies on what stays."""
    top = stays
    for way, pieces in (("leaves", bar.leaving), ("comes", bar.coming)):
        for piece in pieces:
            height = piece.amount * unit
            if height < 0.05:
                continue
            top += height if way == "comes" else 0
            y = _HEIGHT - (top if way == "comes" else stays + height)
            yield tag(
                "rect",
                class_=f"{way} s{piece.strategy}",
                data_move=piece.move,
                y=_number(y),
                width=width,
                height=_number(height),
            )


def _told(load: NodeLoad, resource: str, report: Report) -> str:
    allocatable, before, after = load.resources[resource]
    now = percent(before / allocatable)
    change = f"{now} → {percent(after / allocatable)}" if predicts_load(report.plan) and before != after else now
    pods = f"{load.pods_before:,} → {load.pods_after:,} pods" if before != after else f"{load.pods_before:,} pods"
    words = [f"{load.name}: {resource_title(resource)} {change}, {pods}"]
    return ", ".join([*words, "unschedulable"] if load.unschedulable else words)


def _number(value: float) -> str:
    """A coordinate, as short as it is exact enough."""
    return f"{value:.1f}".rstrip("0").rstrip(".")
