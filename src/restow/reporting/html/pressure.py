"""The page of ``restow pressure``: the nodes with their values against the thresholds, and the last hour as lines.

One file without script, which fetches nothing and is reloaded in every interval.
"""

from __future__ import annotations

import math
from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from restow.kube.duration import MINUTE, SECOND, format_duration
from restow.pressure.evaluation import NEVER
from restow.pressure.situation import KEPT
from restow.reporting.html.elements import EMPTY, Markup, tag, text
from restow.reporting.pressure_table import short_number
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.pressure.monitoring import PressureView
    from restow.pressure.rules import Rule
    from restow.pressure.situation import SingleArray, Situation

#: Nodes that are shown: those under pressure, and those nearest to it.
MOST_NODES: Final = 100
#: Seconds between two loads, at least.
_REFRESH: Final = 5

_WIDTH: Final = KEPT - 1
_HEIGHT: Final = 20
#: Room above and below, so that a line at the edge is whole.
_MARGIN: Final = 1


def render_pressure(view: PressureView) -> str:
    """Return the page; the same view gives the same text."""
    style = Markup(resources.files(__package__).joinpath("pressure.css").read_text(encoding="utf-8"))
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="refresh", content=max(_REFRESH, math.ceil(view.interval))),
        tag("title", text(_title(view))),
        tag("style", style),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', *_body(view)), lang='en')}\n"


def _title(view: PressureView) -> str:
    if view.situation is None:
        return f"{counted(len(view.labelled), 'node')} labelled"
    nodes = len(view.situation.nodes)
    return f"{len(_marked(view.situation))} of {counted(nodes, 'node')} under pressure"


def _body(view: PressureView) -> Iterator[Markup]:
    yield tag("h1", text(_title(view)))
    yield tag("p", text(_state(view)), class_="dim")
    if view.trouble:
        yield tag("p", text(f"{view.trouble}."), class_="attention", role="alert")
    if view.situation is None:
        yield tag("ul", *(tag("li", tag("h3", text(name))) for name in view.labelled), class_="nodes")
        return
    yield tag("h2", text("Rules"))
    yield tag("ul", *(_rule(rule, row, view.situation) for row, rule in enumerate(view.criteria.rules)), class_="rules")
    shown = _nearest_first(view, view.situation)
    yield tag("h2", text("Nodes"))
    yield tag("ul", *(_node(position, view, view.situation) for position in shown[:MOST_NODES]), class_="nodes")
    if len(shown) > MOST_NODES:
        more = counted(len(shown) - MOST_NODES, "more node", "more nodes")
        yield tag("p", text(f"... and {more}, farther from their thresholds"), class_="dim")


def _state(view: PressureView) -> str:
    if not view.leads:
        return "This replica waits for the lease: another one asks Prometheus and writes the marks."
    if view.situation is None:
        return "Waiting for the first answers."
    dry = ", and writes nothing (dry run)" if view.dry_run else ""
    age = format_duration(max(0, view.now - view.situation.at) // SECOND * SECOND)
    return f"Asks every {view.interval:g} s{dry}; the last round was {age} ago."


def _rule(rule: Rule, row: int, situation: Situation) -> Markup:
    pressed, nodes = int(situation.pressure.pressed[row].sum()), len(situation.nodes)
    held = situation.marks.held_back[row]
    note = (
        f"{pressed} of {counted(nodes, 'node')}: too many, so it marks none"
        if held
        else f"{pressed} of {counted(nodes, 'node')}"
    )
    return tag(
        "li",
        tag("h3", text(f"{rule.name} {_sign(rule)} {short_number(rule.threshold)}")),
        tag("p", text(note), class_="over" if held else None),
        tag("code", text(rule.query)),
    )


def _node(position: int, view: PressureView, situation: Situation) -> Markup:
    is_marked = situation.marks.label[position] or situation.marks.taint[position]
    values = [_value(rule, row, position, view, situation) for row, rule in enumerate(view.criteria.rules)]
    heading = tag("h3", text(situation.nodes[position].name))
    state = tag("p", text(_node_state(position, view, situation)), class_="state") if is_marked else EMPTY
    return tag("li", heading, state, *values, class_="pressed" if is_marked else None)


def _node_state(position: int, view: PressureView, situation: Situation) -> str:
    since = situation.pressure.pressed_since[:, position]
    known = since[since != NEVER]
    age = format_duration(max(0, view.now - int(known.min())) // SECOND * SECOND) if known.size else "0s"
    return f"under pressure for {age}"


def _value(rule: Rule, row: int, position: int, view: PressureView, situation: Situation) -> Markup:
    value = float(situation.values[row, position])
    shown = short_number(value) if math.isfinite(value) else "-"
    over = situation.over[row, position]
    parts = [
        tag("span", text(f"{rule.name} {_sign(rule)} {short_number(rule.threshold)}"), class_="name"),
        tag("span", text(shown), class_="figure over" if over else "figure"),
        line(rule, view.history.values[row, position], view.history.minute, situation.at),
    ]
    if not math.isfinite(value):
        silent = max(0, view.now - int(situation.pressure.last_value[row, position])) // SECOND * SECOND
        why = situation.joined[row].why_no_value(position)
        parts.append(tag("span", text(f"{why} for {format_duration(silent)}"), class_="age"))
    return tag("div", *parts, class_="value")


def _sign(rule: Rule) -> str:
    return ">" if rule.direction == "above" else "<"


def _marked(situation: Situation) -> list[int]:
    marked: list[int] = np.flatnonzero(situation.marks.label | situation.marks.taint).tolist()
    return marked


def _nearest_first(view: PressureView, situation: Situation) -> list[int]:
    """All positions: marked nodes, then by how near the nearest value is to its threshold."""
    signs = np.array([1.0 if rule.direction == "above" else -1.0 for rule in view.criteria.rules]).reshape(-1, 1)
    limits = np.array([rule.threshold for rule in view.criteria.rules]).reshape(-1, 1)
    scale = np.where(limits == 0, 1.0, np.abs(limits))
    nearness = signs * (situation.values - limits) / scale
    nearest = np.where(np.isfinite(nearness), nearness, -np.inf).max(axis=0, initial=-np.inf)
    marked = situation.marks.label | situation.marks.taint
    order: list[int] = np.lexsort((-nearest, ~marked)).tolist()
    return order


def line(rule: Rule, values: SingleArray, minute: int, now: int) -> Markup:
    """Return the line of values, one a minute of which the newest is of ``minute``; nothing where there is no value."""
    late = min(max(now // MINUTE - minute, 0), KEPT)
    shown = [float(value) for value in np.concatenate((values[late:], np.full(late, np.nan)))]
    finite = [value for value in shown if math.isfinite(value)]
    if not finite:
        return EMPTY
    low, high = min(0.0, rule.threshold, *finite), max(rule.threshold, *finite)
    note = f"last hour: {short_number(min(finite))} to {short_number(max(finite))}"
    limit = _y(rule.threshold, low, high)
    return tag(
        "svg",
        tag("title", Markup(note)),
        tag("line", x1=0, x2=_WIDTH, y1=limit, y2=limit, class_="limit"),
        *(tag("polyline", points=points, class_="line") for points in _segments(shown, low, high)),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=note,
    )


def _segments(values: list[float], low: float, high: float) -> Iterator[str]:
    """The points of each stretch without a gap; a lone value is a short dash."""
    for is_value, stretch in groupby(enumerate(values), key=lambda each: math.isfinite(each[1])):
        if is_value:
            points = [(x, _y(value, low, high)) for x, value in stretch]
            if len(points) == 1:
                points.insert(0, (points[0][0] - 1, points[0][1]))
            yield " ".join(f"{x},{y}" for x, y in points)


def _y(value: float, low: float, high: float) -> str:
    share = (value - low) / (high - low) if high > low else 0.5
    return f"{_HEIGHT - _MARGIN - share * (_HEIGHT - 2 * _MARGIN):.1f}"
