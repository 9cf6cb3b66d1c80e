"""The charts of a simulation, as inline SVG: what was sampled as lines, evictions as stacked bars, above one time axis.

Marks show where something happened. The picture is as wide as its place: what is drawn is stretched, texts are not. A mouse
over a moment says its numbers (titles); the label of the picture, and a table of few rows, say the whole of it for those who
do not see it.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from restow.kube.duration import HOUR, MINUTE, SECOND
from restow.reporting.html.elements import Markup, joined, row, tag, text
from restow.reporting.simulation_wording import EVICTED_BY, LEAST_SPREAD, SAMPLED, Course, courses, time_text
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from restow.reporting.simulation_document import MadeEviction, SimulationResult


#: The coordinates of what is stretched.
_WIDTH: Final = 1000
_HEIGHT: Final = 100
#: Pixels above the plot, and to where it goes; below are the times.
_TOP: Final = 18
_BOTTOM: Final = _TOP + _HEIGHT
#: More marks cannot be distinguished by eye.
_MOST_MARKS: Final = 60
_MOST_TICKS: Final = 6
#: Up to here every unit can be seen.
_FEW: Final = 20
_STEPS: Final = (
    *(each * SECOND for each in (1, 5, 10, 30)),
    *(each * MINUTE for each in (1, 2, 5, 10, 15, 30)),
    *(each * HOUR for each in (1, 2, 3, 6, 12)),
    *(24 * HOUR * each for each in (1, 2, 7, 14, 30, 90)),
)


@dataclass(slots=True, frozen=True)
class Axis:
    """The time below a chart, in seconds, and when something happened."""

    seconds: float
    marks: Sequence[float] = ()

    def share(self, at: float) -> float:
        """Where a time is, from 0 to 1."""
        return min(max(at / self.seconds, 0.0), 1.0) if self.seconds else 0.0

    def ticks(self) -> list[float]:
        """Return few round times of the axis."""
        span = self.seconds * SECOND
        step = next((each for each in _STEPS if span <= each * _MOST_TICKS), math.ceil(span / _MOST_TICKS))
        return [number * step / SECOND for number in range(int(span // step) + 1)]


@dataclass(slots=True, frozen=True)
class ValueScale:
    """The values at the bottom and at the top."""

    low: float
    high: float

    def y(self, value: float) -> float:
        """Where a value is in the picture."""
        return round(_HEIGHT - (value - self.low) / (self.high - self.low) * _HEIGHT, 1)


def scale_of(numbers: Sequence[float], least: float = 1) -> ValueScale:
    """Return a scale for numbers, at least so high; it begins at 0 unless all of them are large and far from it."""
    low, high = min(numbers, default=0), max(numbers, default=0)
    high = max(_round_up(high), least)
    return ValueScale(_round_down(low, high) if low > high / 2 and high > _FEW else 0, high)


def _round_up(number: float) -> float:
    if number <= 0:
        return 0
    unit = 10 ** math.floor(math.log10(number))
    steps = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)
    return float(round(next(step for step in steps if step * unit >= number * (1 - 1e-9)) * unit, 9))


def _round_down(low: float, high: float) -> float:
    unit = 10 ** math.floor(math.log10(max(high - low, high / 100)))
    return float(max(math.floor(low / unit) * unit - unit, 0))


@dataclass(slots=True, frozen=True)
class Line:
    """Numbers that hold from each sample to the next; ``kind`` is the class that it is drawn with."""

    name: str
    kind: str
    numbers: Sequence[float]


def line_chart(lines: Sequence[Line], every: float, axis: Axis, described: str, scale: ValueScale) -> Markup:
    """Draw lines of samples that are ``every`` seconds apart."""
    drawn = [tag("path", d=_steps(each.numbers, every, axis, scale), class_=each.kind) for each in lines]
    if len(lines) == 1:
        outline = _steps(lines[0].numbers, every, axis, scale)
        drawn.insert(0, tag("path", d=f"{outline}V{_HEIGHT}H0Z", class_=f"{lines[0].kind} area"))
    low = f"{scale.low:,.10g} to " if scale.low else ""
    return _picture([*drawn, *_moments(lines, every, axis)], axis, described, f"{low}{scale.high:,.10g}")


def _steps(numbers: Sequence[float], every: float, axis: Axis, scale: ValueScale) -> str:
    """A path that holds each value until the next; values that stay the same are one stretch."""
    turns = (
        f"H{_x(index * every, axis)}V{scale.y(number):g}"
        for index, (before, number) in enumerate(pairwise(numbers), 1)
        if number != before
    )
    return "".join([f"M0 {scale.y(numbers[0]):g}", *turns, f"H{_WIDTH}"])


def _moments(lines: Sequence[Line], every: float, axis: Axis) -> Iterator[Markup]:
    """Tooltips: the numbers of each stretch in which none of them changes."""
    rows = list(zip(*(each.numbers for each in lines), strict=True))
    begin = 0
    for index in range(1, len(rows) + 1):
        if index == len(rows) or rows[index] != rows[begin]:
            tooltip = ", ".join(
                f"{number:g}{f' {line.name}' if len(lines) > 1 else ''}"
                for line, number in zip(lines, rows[begin], strict=True)
            )
            yield _spot(begin * every, min(index * every, axis.seconds), axis, tooltip)
            begin = index


def _spot(begin: float, end: float, axis: Axis, tooltip: str) -> Markup:
    x = axis.share(begin) * _WIDTH
    title = tag("title", text(f"{time_text(begin)}: {tooltip}"))
    return tag("rect", title, x=f"{x:.1f}", width=f"{axis.share(end) * _WIDTH - x:.1f}", height=_HEIGHT, class_="spot")


@dataclass(slots=True, frozen=True)
class Bar:
    """What was counted from one time to another, in seconds: by the class that it is drawn with."""

    begin: float
    end: float
    up: Mapping[str, int]
    down: Mapping[str, int]
    tooltip: str


def bar_chart(bars: Sequence[Bar], axis: Axis, described: str) -> Markup:
    """Draw bars on top of each other, above a base line and below it, of which the longest fill the picture."""
    up = max((sum(each.up.values()) for each in bars), default=0)
    down = max((sum(each.down.values()) for each in bars), default=0)
    unit = _HEIGHT / ((up + down) or 1)
    drawn = [each for bar in bars for each in _bar(bar, axis, unit, up * unit)]
    base = tag("line", x1=0, x2=_WIDTH, y1=f"{up * unit:g}", y2=f"{up * unit:g}", class_="base")
    spots = (_spot(each.begin, each.end, axis, each.tooltip) for each in bars)
    below = f" above the line, {down:,} below" if down else ""
    return _picture([*drawn, base, *spots], axis, described, f"{up:,}{below}")


def _bar(bar: Bar, axis: Axis, unit: float, base: float) -> Iterator[Markup]:
    x = axis.share(bar.begin) * _WIDTH
    # A little room between neighbours.
    width = max((axis.share(bar.end) * _WIDTH - x) * 0.9, 1)
    for counts, sign in ((bar.up, -1), (bar.down, 1)):
        reached = 0
        for kind, count in counts.items():
            if count:
                top = base - (reached + count) * unit if sign < 0 else base + reached * unit
                place = {"x": f"{x:.1f}", "y": f"{top:.1f}", "width": f"{width:.1f}", "height": f"{count * unit:.1f}"}
                yield tag("rect", class_=kind, **place)
                reached += count


def _picture(drawn: Sequence[Markup], axis: Axis, described: str, height: str) -> Markup:
    marks = (
        tag("line", x1=_x(at, axis), x2=_x(at, axis), y1=0, y2=_HEIGHT, class_="mark")
        for at in axis.marks[:_MOST_MARKS]
    )
    plot = tag(
        "svg",
        *marks,
        *drawn,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        y=_TOP,
        width="100%",
        height=_HEIGHT,
        aria_hidden="true",
    )
    frame = (
        tag("line", x1=0, x2="100%", y1=_TOP, y2=_TOP, class_="rule"),
        tag("line", x1=0, x2="100%", y1=_BOTTOM, y2=_BOTTOM, class_="rule"),
        tag("text", text(height), x=0, y=_TOP - 5),
    )
    return tag("svg", *frame, plot, *_axis(axis), role="img", aria_label=described, class_="chart")


def _axis(axis: Axis) -> Iterator[Markup]:
    for at in axis.ticks():
        share = axis.share(at)
        anchor = "start" if share < 0.04 else "end" if share > 0.96 else None
        yield tag("line", x1=f"{share:.2%}", x2=f"{share:.2%}", y1=_BOTTOM, y2=_BOTTOM + 4, class_="rule")
        yield tag("text", text(time_text(at)), x=f"{share:.2%}", y=_BOTTOM + _TOP, class_=anchor or "middle")


def _x(at: float, axis: Axis) -> str:
    return f"{axis.share(at) * _WIDTH:.1f}"


def legend(kinds: Mapping[str, str]) -> Markup:
    """Say in words what each class that something is drawn with means."""
    swatch = {
        kind: tag("svg", tag("rect", class_=kind, width=14, height=10), class_="swatch", aria_hidden="true")
        for kind in kinds
    }
    words = (tag("span", swatch[kind], text(f" {name}")) for kind, name in kinds.items())
    return tag("p", joined(words), class_="key")


#: Of more strategies the others are drawn together.
_MOST_STRATEGIES: Final = 8
_OTHERS: Final = "all others"
_BARS: Final = 60
_ROWS: Final = 24
_UP: Final = {"moved": "moved to another node", "waiting": "waiting at the end", "unreplaced": "not replaced"}
_DOWN: Final = {"returned": "in vain: back on its node (below the line)"}


def run_charts(result: SimulationResult, axis: Axis) -> Iterator[Markup]:
    """Yield the figures of nodes in use, pending pods and balance."""
    pending, in_use, cpu, memory = courses(result)
    yield _numbers(in_use, result, axis)
    yield _numbers(pending, result, axis)
    lines = (Line("CPU", "cpu", cpu.numbers), Line("memory", "memory", memory.numbers))
    caption_text = f"CPU {cpu.details}; memory {memory.details}"
    title = "Spread: standard deviation of the nodes' requests / allocatable"
    scale = scale_of([*cpu.numbers, *memory.numbers], LEAST_SPREAD)
    drawn = line_chart(lines, result.samples.every_seconds, axis, f"{title}: {caption_text}", scale)
    yield _figure(title, caption_text, joined([legend({"cpu": "CPU", "memory": "memory (dashed)"}), drawn]))


def _numbers(course: Course, result: SimulationResult, axis: Axis) -> Markup:
    line, described = Line(course.title, "count", course.numbers), f"{course.title}: {course.details}"
    drawn = line_chart([line], result.samples.every_seconds, axis, described, scale_of(course.numbers))
    return _figure(course.title, course.details, drawn)


def _figure(title: str, caption_text: str, drawn: Markup) -> Markup:
    caption = tag("figcaption", tag("b", text(title)), text(" "), tag("span", text(caption_text), class_="dim"))
    return tag("figure", caption, drawn)


def eviction_charts(result: SimulationResult, axis: Axis) -> Iterator[Markup]:
    """Yield a figure for each strategy that evicted."""
    names = [name for name, _ in Counter(each.by for each in result.evictions).most_common()]
    drawn = names if len(names) <= _MOST_STRATEGIES else [*names[: _MOST_STRATEGIES - 1], _OTHERS]
    made: dict[str, list[MadeEviction]] = {name: [] for name in drawn}
    for each in result.evictions:
        made[each.by if each.by in made else _OTHERS].append(each)
    used = {each.result for each in result.evictions}
    yield legend({kind: name for kind, name in (_UP | _DOWN).items() if kind in used})
    for name, found in made.items():
        caption_text = _outcomes(Counter(each.result for each in found))
        yield _figure(
            name,
            caption_text,
            bar_chart(
                stretches(((each.at, each.result) for each in found), axis),
                axis,
                f"Evictions by {name}: {caption_text}",
            ),
        )


def _outcomes(counts: Counter[str]) -> str:
    kinds = {each.field: each.title.lower() for each in EVICTED_BY if each.field in _UP | _DOWN}
    parts = ", ".join(f"{counts[kind]:,} {word}" for kind, word in kinds.items() if counts[kind])
    return f"{counted(counts.total(), 'pod')}: {parts}" if parts else "0 pods"


def stretches(
    events: Iterable[tuple[float, str]], axis: Axis, told: Callable[[Counter[str]], str] = _outcomes
) -> list[Bar]:
    """Count what happened in each of equal stretches of time: when, and with which result; ``told`` says it in words."""
    width = axis.seconds / _BARS
    counts: dict[int, Counter[str]] = {}
    for at, kind in events:
        place = min(int(at / width), _BARS - 1) if width else 0
        counts.setdefault(place, Counter())[kind] += 1
    return [
        Bar(
            place * width,
            (place + 1) * width,
            {kind: found[kind] for kind in _UP},
            {kind: found[kind] for kind in _DOWN},
            told(found),
        )
        for place, found in sorted(counts.items())
    ]


def numbers_table(result: SimulationResult) -> Markup:
    """Write what the charts show as a table of few rows: their alternative for those who do not see them."""
    samples = result.samples
    distance = -(-len(samples.pending) // _ROWS)
    shown = range(0, len(samples.pending), distance)
    times = [each.at for each in result.evictions]
    heads = ("Time", *(each.title for each in SAMPLED), "Evictions so far")
    body = (
        row(
            (
                text(time_text(index * samples.every_seconds)),
                *(text(each.shown(getattr(samples, each.field)[index])) for each in SAMPLED),
                text(f"{bisect_right(times, index * samples.every_seconds):,}"),
            )
        )
        for index in shown
    )
    table = tag("table", tag("thead", row(map(text, heads), "th")), tag("tbody", *body), class_="numbers")
    wide = tag("div", table, class_="scrolled", tabindex=0, role="region", aria_label="The charts in numbers")
    return tag("details", tag("summary", text("The charts in numbers")), wide, class_="short")
