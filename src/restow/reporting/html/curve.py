"""``restow plan --curve -o html``: moves against the value of the goal, and how to get the plan of each point; it has no script."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restow.descheduling.plan import GoalResult
from restow.reporting.answer import figure_text, goal_sentence
from restow.reporting.curve_table import READING, best, command, gain_text
from restow.reporting.html.elements import (
    Markup,
    cards,
    contents,
    facts,
    figure,
    origin,
    section,
    tag,
    text,
    whole_page,
)
from restow.reporting.html.simulation import STYLES
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.reporting.curve_result import CurvePoint, GoalCurve

#: The picture, and the margins of the plot in it: left, top, right, bottom.
_WIDTH: Final = 960
_HEIGHT: Final = 380
_LEFT: Final = 64
_TOP: Final = 24
_RIGHT: Final = 40
_BOTTOM: Final = 52
_TICKS: Final = 4


def form(curve: GoalCurve) -> bytes:
    """Render ``-o html``."""
    return render_curve(curve).encode()


def render_curve(curve: GoalCurve) -> str:
    """Return the page; the same curve gives the same text."""
    metadata, last = curve.metadata, curve.points[-1]
    header = tag(
        "header",
        origin(("restow plan --curve", metadata.cluster, metadata.generated_at)),
        tag("h1", text(_headline(curve))),
        tag("p", text(READING), class_="lead"),
        tag("dl", *_figures(curve), class_="figures"),
    )
    versions = facts({"restow": metadata.restow_version, "document": f"{curve.kind} {curve.api_version}"})
    sections = (_picture(curve), _plans(curve), section("versions", "Versions", versions))
    places = {"curve": "Curve", "plans": "Plans", "versions": "Versions"}
    title = f"{curve.goal} with up to {counted(last.moves, 'move')} - restow plan"
    return whole_page(title, (header, contents(places), tag("main", *sections)), [*STYLES, "curve.css"])


def _headline(curve: GoalCurve) -> str:
    first, last = curve.points[0], curve.points[-1]
    if not last.moves:
        return f"Goal {curve.goal}: no move is worth it"
    return goal_sentence(GoalResult(curve.goal, curve.unit, first.value, last.value), last.moves)


def _half(curve: GoalCurve) -> CurvePoint:
    """The first point with at least half of the whole gain."""
    first, last = curve.points[0], curve.points[-1]
    return next(point for point in curve.points if first.value - point.value >= (first.value - last.value) / 2)


def _figures(curve: GoalCurve) -> Iterator[Markup]:
    first, last, half = curve.points[0], curve.points[-1], _half(curve)
    yield figure("Now", text(figure_text(first.value)), curve.unit)
    yield figure("With all moves", text(figure_text(last.value)), counted(last.moves, "move"))
    yield figure("Half of the gain", text(f"{half.moves:,}"), f"moves, to {figure_text(half.value)}")
    yield figure("Best possible", text(best(last)), "proven, with as many moves")


def _picture(curve: GoalCurve) -> Markup:
    points = curve.points
    most, high = max(points[-1].moves, 1), max(point.value for point in points) or 1.0
    reached = [_place(point.moves, point.value, most, high) for point in points]
    possible = [_place(point.moves, point.bound, most, high) for point in points if point.bound is not None]
    drawn = [
        *_frame(most, high),
        tag("polygon", points=_joined([*reached, *reversed(possible)]), class_="between"),
        tag("polyline", points=_joined(possible), class_="possible"),
        tag("polyline", points=_joined(reached), class_="reached"),
        *(_dot(curve, point, place) for point, place in zip(points, reached, strict=True)),
    ]
    label = "; ".join(f"{counted(point.moves, 'move')}: {figure_text(point.value)}" for point in points)
    svg = tag("svg", *drawn, viewBox=f"0 0 {_WIDTH} {_HEIGHT}", role="img", aria_label=label, class_="curve")
    key = tag("p", tag("span", text("Line: "), class_="reached"), text(_KEY), class_="key dim")
    return section("curve", "Moves against the goal", key, tag("div", svg, class_="scroll", tabindex=0))


_KEY: Final = "the value that proven plans reach; dashes: what no plan can be below. The best plan is between the two."


def _place(moves: float, value: float, most: int, high: float) -> tuple[float, float]:
    """Where a point is in the picture."""
    x = _LEFT + moves / most * (_WIDTH - _LEFT - _RIGHT)
    y = _HEIGHT - _BOTTOM - value / high * (_HEIGHT - _TOP - _BOTTOM)
    return round(x, 1), round(y, 1)


def _joined(places: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in places)


def _frame(most: int, high: float) -> Iterator[Markup]:
    for tick in range(_TICKS + 1):
        x, y = _place(most * tick / _TICKS, high * tick / _TICKS, most, high)
        right = _WIDTH - _RIGHT
        yield tag("line", x1=_LEFT, x2=right, y1=f"{y:g}", y2=f"{y:g}", class_="rule")
        yield tag("text", text(figure_text(round(high * tick / _TICKS, 2))), x=_LEFT - 8, y=f"{y + 4:g}", class_="end")
        moves = most * tick / _TICKS
        if moves == round(moves) or most > _TICKS:
            yield tag("text", text(f"{round(moves):,}"), x=f"{x:g}", y=_HEIGHT - _BOTTOM + 20, class_="middle")
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    yield tag("text", text("moves"), x=f"{middle:g}", y=_HEIGHT - 8, class_="middle")


def _dot(curve: GoalCurve, point: CurvePoint, place: tuple[float, float]) -> Markup:
    title = f"{counted(point.moves, 'move')}: {figure_text(point.value)} {curve.unit}"
    return tag("circle", tag("title", text(title)), cx=f"{place[0]:g}", cy=f"{place[1]:g}", r=5)


def _plans(curve: GoalCurve) -> Markup:
    cells = (
        {
            "Plan": text(counted(point.moves, "move")),
            "Value": text(figure_text(point.value)),
            "Best possible": text(best(point)),
            "Gain per move": text(gain),
            "Command": tag("code", text(command(curve, point))) if point.budget else text("the cluster as it is"),
        }
        for point, gain in zip(curve.points, ["", *map(gain_text, curve.gains())], strict=True)
    )
    return section("plans", "Plans", tag("p", text(f"Value: {curve.unit}."), class_="dim"), cards(cells))
