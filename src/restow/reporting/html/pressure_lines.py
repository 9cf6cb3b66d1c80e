"""The last hour of one value as a line, with its threshold."""

from __future__ import annotations

import math
from itertools import groupby
from typing import TYPE_CHECKING, Final

import numpy as np

from restow.kube.duration import MINUTE
from restow.pressure.situation import KEPT
from restow.reporting.html.elements import EMPTY, Markup, tag
from restow.reporting.pressure_table import short_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from restow.pressure.rules import Rule
    from restow.pressure.situation import SingleArray

_WIDTH: Final = KEPT - 1
_HEIGHT: Final = 20
#: Room above and below, so that a line at the edge is whole.
_MARGIN: Final = 1


def line(rule: Rule, values: SingleArray, minute: int, now: int) -> Markup:
    """Return the line of values, one a minute of which the newest is of ``minute``; nothing where there is no value."""
    late = min(max(now // MINUTE - minute, 0), KEPT)
    shown = [float(value) for value in np.concatenate((values[late:], np.full(late, np.nan)))]
    finite = [value for value in shown if math.isfinite(value)]
    if not finite:
        return EMPTY
    low, high = min(0.0, rule.threshold, *finite), max(rule.threshold, *finite)
    told = f"last hour: {short_number(min(finite))} to {short_number(max(finite))}"
    limit = _y(rule.threshold, low, high)
    return tag(
        "svg",
        tag("title", Markup(told)),
        tag("line", x1=0, x2=_WIDTH, y1=limit, y2=limit, class_="limit"),
        *(tag("polyline", points=points, class_="line") for points in _segments(shown, low, high)),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=told,
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
