"""The charts of a simulation: what was sampled, and evictions by strategy and outcome."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Final

from restow.reporting.html.charts import Axis, Bar, Line, bar_chart, legend, line_chart, scale_of
from restow.reporting.html.elements import Markup, joined, row, tag, text
from restow.reporting.simulation_wording import time_text
from restow.reporting.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from restow.reporting.simulation_document import MadeEviction, SimulationResult

#: Of more strategies the others are drawn together.
_MOST_STRATEGIES: Final = 8
_OTHERS: Final = "all others"
_BARS: Final = 60
_ROWS: Final = 24
#: A balance that is better than this everywhere is not drawn as if it were bad.
_LEAST_SPREAD: Final = 0.1
_UP: Final = {"moved": "moved to another node", "waiting": "waiting at the end", "unreplaced": "not replaced"}
_DOWN: Final = {"returned": "in vain: back on its node (below the line)"}


def run_charts(result: SimulationResult, axis: Axis) -> Iterator[Markup]:
    """Yield the figures of nodes in use, pending pods and balance."""
    samples, summary = result.samples, result.summary
    used, pending = samples.nodes_in_use, samples.pending
    waited = f"at most {summary.most_pending:,} at once, one of them for {time_text(summary.longest_pending_seconds)}"
    in_use = f"{min(used):,} to {max(used):,}, {summary.nodes_in_use:,} at the end"
    yield _numbers("Nodes in use", in_use if min(used) < max(used) else f"{used[0]:,}", used, result, axis)
    yield _numbers("Pending pods", waited, pending, result, axis)
    lines = (Line("CPU", "cpu", samples.cpu_spread), Line("memory", "memory", samples.memory_spread))
    ends = (summary.cpu_spread, summary.memory_spread)
    caption_text = "; ".join(
        f"{line.name} at most {max(*line.numbers, end):.2f}, {end:.2f} at the end"
        for line, end in zip(lines, ends, strict=True)
    )
    title = "Imbalance: standard deviation of the nodes' requests / allocatable"
    scale = scale_of([*samples.cpu_spread, *samples.memory_spread], _LEAST_SPREAD)
    drawn = line_chart(lines, samples.every_seconds, axis, f"{title}: {caption_text}", scale)
    yield _figure(title, caption_text, joined([legend({"cpu": "CPU", "memory": "memory (dashed)"}), drawn]))


def _numbers(title: str, caption_text: str, numbers: Sequence[float], result: SimulationResult, axis: Axis) -> Markup:
    line = Line(title, "count", numbers)
    drawn = line_chart([line], result.samples.every_seconds, axis, f"{title}: {caption_text}", scale_of(numbers))
    return _figure(title, caption_text, drawn)


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
        yield _figure(name, caption_text, bar_chart(_bars(found, axis), axis, f"Evictions by {name}: {caption_text}"))


def _bars(evictions: Sequence[MadeEviction], axis: Axis) -> list[Bar]:
    """What was evicted in each of equal stretches of the run."""
    width = axis.seconds / _BARS
    counts: dict[int, Counter[str]] = {}
    for each in evictions:
        place = min(int(each.at / width), _BARS - 1) if width else 0
        counts.setdefault(place, Counter())[each.result] += 1
    return [
        Bar(
            place * width,
            (place + 1) * width,
            {kind: found[kind] for kind in _UP},
            {kind: found[kind] for kind in _DOWN},
            _outcomes(found),
        )
        for place, found in sorted(counts.items())
    ]


def _outcomes(counts: Counter[str]) -> str:
    words = {"moved": "moved", "returned": "in vain", "waiting": "waiting", "unreplaced": "not replaced"}
    parts = ", ".join(f"{counts[kind]:,} {word}" for kind, word in words.items() if counts[kind])
    return f"{counted(counts.total(), 'pod')}: {parts}" if parts else "0 pods"


def numbers_table(result: SimulationResult) -> Markup:
    """Write what the charts show as a table of few rows: their alternative for those who do not see them."""
    samples = result.samples
    distance = -(-len(samples.pending) // _ROWS)
    shown = range(0, len(samples.pending), distance)
    times = [each.at for each in result.evictions]
    heads = ("Time", "Nodes in use", "Pending", "CPU imbalance", "Memory imbalance", "Evictions so far")
    body = (
        row(
            map(
                text,
                (
                    time_text(index * samples.every_seconds),
                    f"{samples.nodes_in_use[index]:,}",
                    f"{samples.pending[index]:,}",
                    f"{samples.cpu_spread[index]:.3f}",
                    f"{samples.memory_spread[index]:.3f}",
                    f"{bisect_right(times, index * samples.every_seconds):,}",
                ),
            )
        )
        for index in shown
    )
    table = tag("table", tag("thead", row(map(text, heads), "th")), tag("tbody", *body), class_="numbers")
    wide = tag("div", table, class_="scrolled", tabindex=0, role="region", aria_label="The charts in numbers")
    return tag("details", tag("summary", text("The charts in numbers")), wide, class_="short")
