"""The first page of ``restow serve``: how full the nodes are, what is under way, and how balance goes over time.

What changes is one element, ``now``, that the server sends again; charts get one sample after the other.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final

from restow.reporting.html.elements import EMPTY, Markup, cards, figure, left_out, origin, section, tag, text
from restow.reporting.wording import counted, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from restow.reporting.top_result import ClusterNow, MovingPod, NodeNow

#: More nodes cannot be seen one by one, and are cells.
_MOST_BARS: Final = 600
#: Nodes in one piece of a picture, which the browser puts side by side as the window has room.
_IN_A_PIECE: Final = 50
#: Of a pair of bars, with its gap, where nodes are few and where they are many.
_WIDE: Final = 24
_NARROW: Final = 12
_FEW: Final = 100
_HEIGHT: Final = 80
#: Of a cell with its gap.
_CELL: Final = 8
_CELLS_HIGH: Final = 7
#: The shares of a node's room at which the colour of its cell changes: tenths, as in the heat map of a plan.
_LEVELS: Final = 10
_FULL: Final = 0.95
_MOST_MOVING: Final = 100

#: What is drawn over time: the key of a sample, the title, and whether it is a share.
_CHARTS: Final = (
    ("fullest", "The fullest node", True),
    ("spread", "Spread: standard deviation of the nodes' shares", False),
    ("waiting", "Pods without a node, and pods under way", False),
)


def now_content(found: ClusterNow | None, plan: str, caveats: str) -> tuple[Markup, ...]:
    """The whole page; ``plan`` is a sentence about the plan of the next cycle, ``caveats`` say what may not be true."""
    live = tag("div", now_fragment(found, plan, caveats), id="now", aria_live="off")
    stream = tag(
        "div", live, id="stream", hx_target="#now", hx_swap="innerHTML", **{"hx-sse:connect": "/events?of=now"}
    )
    charts = tag("section", tag("h2", text("Over time"), id="time-title"), *map(_chart, _CHARTS), id="time", hidden="")
    return stream, tag("main", charts)


def _chart(described: tuple[str, str, bool]) -> Markup:
    key, title, is_share = described
    caption = tag("figcaption", text(title))
    plot = tag("div", class_="plot", data_chart=key, data_share="" if is_share else None, role="img", aria_label=title)
    return tag("figure", caption, plot)


def now_fragment(found: ClusterNow | None, plan: str, caveats: str) -> Markup:
    """The part of the page that is sent again when something has changed."""
    noted = tag("aside", text(caveats), class_="attention", role="status") if caveats else EMPTY
    if found is None:
        return Markup(tag("header", tag("h1", text("The cluster is being read"))) + noted)
    header = tag(
        "header",
        origin(("restow serve", found.origin)),
        tag("h1", text(_headline(found))),
        tag("p", tag("a", text(plan), href="/plan"), class_="lead"),
        tag("dl", *_figures(found), class_="figures"),
        noted,
    )
    return Markup(
        header + section("nodes", "Nodes", *_picture(found)) + section("moving", "Under way", *_moving(found))
    )


def _headline(found: ClusterNow) -> str:
    kinds = Counter(each.what for each in found.moving)
    words = {"ends": "ending", "waits behind restow's gate": "on their way", "waits for a node": "without a node"}
    parts = [f"{kinds[what]:,} {word}" for what, word in words.items() if kinds[what]]
    return f"{counted(len(found.nodes), 'node')}, {counted(found.pods, 'pod')}: {', '.join(parts) or 'all is quiet'}"


def _figures(found: ClusterNow) -> Iterator[Markup]:
    nodes = found.nodes
    for title, spread, share in (("CPU", found.cpu_spread, "cpu"), ("Memory", found.memory_spread, "memory")):
        fullest = max(nodes, key=lambda each: (getattr(each, share), each.name), default=None)
        most = "no nodes" if fullest is None else f"fullest: {fullest.name} {percent(getattr(fullest, share))}"
        yield figure(f"{title} spread", text(f"{spread:.2f}"), most)
    closed = sum(bool(each.state) for each in nodes)
    yield figure("Nodes closed", text(f"{closed:,}"), "cordoned, or not ready")
    yield figure("Under way", text(f"{len(found.moving):,}"), "pods that end, wait behind restow's gate, or for a node")


def _picture(found: ClusterNow) -> Iterator[Markup]:
    """Yield a figure for each zone."""
    count = len(found.nodes)
    draws = _cells if count > _MOST_BARS else partial(_bars, pitch=_WIDE if count <= _FEW else _NARROW)
    told = (
        "One cell per node, the fuller of CPU and memory: the darker, the fuller; red is 95 % and more."
        if count > _MOST_BARS
        else "One pair of bars per node: CPU, then memory, requested as a share of allocatable."
    )
    yield tag("p", text(told), class_="dim")
    zones: dict[str, list[NodeNow]] = defaultdict(list)
    for each in found.nodes:
        zones[each.zone].append(each)
    drawn = []
    for zone, nodes in sorted(zones.items()):
        caption = f"{zone or 'no zone'}: {counted(len(nodes), 'node')}, {_mean(nodes)}"
        pieces = tag("div", *draws(nodes, caption), class_="zone")
        drawn.append(tag("figure", tag("figcaption", text(caption)), pieces))
    yield tag("div", *drawn, class_="zones")


def _mean(nodes: Sequence[NodeNow]) -> str:
    cpu, memory = (sum(each) / len(nodes) for each in zip(*((one.cpu, one.memory) for one in nodes), strict=True))
    return f"mean CPU {percent(cpu)}, memory {percent(memory)}"


def _bars(nodes: Sequence[NodeNow], caption: str, *, pitch: int) -> Iterator[Markup]:
    for begin in range(0, len(nodes), _IN_A_PIECE):
        piece = nodes[begin : begin + _IN_A_PIECE]
        drawn = (_bar(each, place * pitch, pitch - 2) for place, each in enumerate(piece))
        yield _drawing(drawn, len(piece) * pitch, _HEIGHT, caption)


def _bar(node: NodeNow, x: int, width: int) -> Markup:
    shapes = [tag("rect", class_="room", width=width, height=_HEIGHT)]
    half = width // 2
    for at, (kind, share) in enumerate((("cpu", node.cpu), ("memory", node.memory))):
        height = round(min(share, 1.0) * _HEIGHT, 1)
        hot = f"{kind} hot" if share >= _FULL else kind
        y = f"{_HEIGHT - height:g}"
        shapes.append(tag("rect", class_=hot, x=at * half, y=y, width=half, height=f"{height:g}"))
    state = " closed" if node.state else ""
    title = tag("title", text(_described(node)))
    return tag("g", title, *shapes, class_=f"node-bar{state}", transform=f"translate({x} 0)")


def _described(node: NodeNow) -> str:
    words = (f"CPU {percent(node.cpu)}", f"memory {percent(node.memory)}", counted(node.pods, "pod"), *node.state)
    return f"{node.name}: {', '.join(words)}"


def _cells(nodes: Sequence[NodeNow], caption: str) -> Iterator[Markup]:
    """One path for each level: some kilobytes for thousands of nodes."""
    ranked = sorted(nodes, key=lambda each: (-_fuller(each), each.name))
    paths: dict[int, list[str]] = defaultdict(list)
    size = _CELL - 1
    for place, each in enumerate(ranked):
        x, y = place // _CELLS_HIGH * _CELL, place % _CELLS_HIGH * _CELL
        paths[_level(_fuller(each))].append(f"M{x} {y}h{size}v{size}h-{size}z")
    drawn = (tag("path", class_=f"level-{level}", d="".join(paths[level])) for level in sorted(paths))
    yield _drawing(drawn, -(-len(nodes) // _CELLS_HIGH) * _CELL, _CELLS_HIGH * _CELL, caption)


def _fuller(node: NodeNow) -> float:
    return max(node.cpu, node.memory)


def _level(share: float) -> int:
    return _LEVELS - 1 if share >= _FULL else min(int(share * _LEVELS), _LEVELS - 2)


def _drawing(drawn: Iterable[Markup], width: int, height: int, caption: str) -> Markup:
    box = f"0 0 {width} {height}"
    return tag("svg", *drawn, viewBox=box, width=width, height=height, role="img", aria_label=caption)


def _moving(found: ClusterNow) -> Iterator[Markup]:
    if not found.moving:
        yield tag("p", text("No pod ends, and none waits."), class_="dim")
        return
    yield cards(map(_pod, found.moving[:_MOST_MOVING]))
    yield left_out(len(found.moving), _MOST_MOVING, elsewhere="")


def _pod(pod: MovingPod) -> dict[str, Markup]:
    return {"Pod": text(pod.pod), "Node": text(pod.node or "-"), "State": text(pod.what)}
