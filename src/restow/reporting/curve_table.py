"""``restow plan --curve`` on a terminal: a line for each plan, and how to get it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.text import Text

from restow.plain_text import printable
from restow.reporting.answer import figure_text
from restow.reporting.terminal import labelled, next_commands, paragraph, print_sections, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from restow.reporting.curve_result import CurvePoint, GoalCurve

HEADS: Final = ("BUDGET", "MOVES", "VALUE", "BEST POSSIBLE", "GAIN PER MOVE", "")
READING: Final = (
    "Each line is a plan of its own, proven like any other. The gain per move is the average since the line before; best possible is "
    "what no plan with this budget can be below."
)
#: Of the bars.
_LENGTH: Final = 20


def print_curve(curve: GoalCurve, console: Console) -> None:
    """Print the curve in as many columns as the console has."""
    width = console.width
    header = labelled("goal", [f"{printable(curve.goal)}: {printable(curve.unit)}", curve.metadata.cluster], width)
    sections = (header, _lines(curve, width), paragraph(READING, width, "dim"), next_commands(_commands(curve), width))
    print_sections(sections, console)


def rows(curve: GoalCurve) -> Iterator[Sequence[str]]:
    """The cells of each point, without the bar."""
    for point, gain in zip(curve.points, ["", *map(gain_text, curve.gains())], strict=True):
        yield f"{point.budget:,}", f"{point.moves:,}", figure_text(point.value), best(point), gain


def best(point: CurvePoint) -> str:
    """What is known of the best plan with the budget of a point."""
    if point.optimal:
        return "reached"
    return "-" if point.bound is None else figure_text(point.bound)


def gain_text(gain: float) -> str:
    """A gain with two digits after the point, or two that say something."""
    return f"{gain:,.2f}" if abs(gain) >= 0.01 or not gain else f"{gain:.2g}"


def command(curve: GoalCurve, point: CurvePoint) -> str:
    """How to get the plan of a point."""
    return f"restow plan ... --goal {printable(curve.goal)} --budget {point.budget}"


def _lines(curve: GoalCurve, width: int) -> Iterator[Text]:
    cells = [HEADS, *([*row, bar] for row, bar in zip(rows(curve), _bars(curve), strict=True))]
    yield from table(cells, width)


def _bars(curve: GoalCurve) -> list[str]:
    most = max((point.value for point in curve.points), default=0) or 1
    return ["▇" * round(_LENGTH * point.value / most) for point in curve.points]


def _commands(curve: GoalCurve) -> dict[str, str]:
    middle = curve.points[len(curve.points) // 2]
    return {
        command(curve, middle): "the plan of a line",
        "restow plan ... --curve -o html > curve.html": "the curve to share",
    }
