"""Results of usage queries: samples of nodes over time, and the figure computed from them.

Every source - a Prometheus, a stored history - returns the same: for each query, the samples of each node. Decisions
work on these. A pod that was just evicted still counts in the last figure of its old node, and its replacement in no
figure yet; a ``UsageChange`` corrects a figure that is from before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

#: How a ``problem`` begins where what was asked has no answer. The words are upstream's.
NO_USAGE: Final = "error getting node usage"

#: What a straight line through equal values may fall by, as a share of them, since the fit rounds.
_ROUNDING: Final = 1e-9

Series = npt.NDArray[np.float64]


class UsageQuery(Struct, frozen=True):
    """A query, and the name of its source of usage in policies."""

    source: str
    text: str


def no_client(source: str) -> str:
    """How a ``problem`` begins where a source could not be asked. The words are upstream's."""
    return f"error initializing usage client: {source.lower()} client not initialized"


@dataclass(slots=True, frozen=True, eq=False)
class NodeSamples:
    """The samples of one node, or of what a query calls one; ``times`` (seconds since the epoch) rise."""

    node: str
    times: Series
    values: Series


@dataclass(slots=True, frozen=True, eq=False)
class QueryResult:
    """What one query came to at a time (seconds since the epoch, by the clock of who answered)."""

    at: float
    samples: tuple[NodeSamples, ...] = ()
    #: Why there is nothing, in a sentence; empty where there is.
    problem: str = ""
    #: What it came to in the cycles before, the last one first; empty where there were none.
    earlier: tuple[QueryResult, ...] = ()

    def after(self, before: QueryResult | None, cycles: int) -> QueryResult:
        """The result with earlier ones, ``cycles`` of them in all."""
        if before is None:
            return self
        return replace(self, earlier=(replace(before, earlier=()), *before.earlier)[: cycles - 1])


class Figure(Struct, frozen=True):
    """The figure of one node's samples."""

    value: float
    #: Seconds since the newest sample.
    age: float
    #: How many samples it was made of.
    samples: int


def figure_of(series: NodeSamples, at: float, *, percentile: float | None, window: float) -> Figure | None:
    """The newest value, or a percentile of those within a window (seconds) before ``at``; None where there is none.

    Samples that are not a number do not count. Between two samples a percentile is interpolated, as Prometheus does.
    """
    counts = np.isfinite(series.values) & (series.times > at - window)
    times, values = series.times[counts], series.values[counts]
    if not len(values):
        return None
    value = values[-1] if percentile is None else _percentile(values, percentile)
    return Figure(float(value), max(0.0, at - float(times[-1])), len(values))


def _percentile(values: Series, percentile: float) -> float:
    """What NumPy's function gives, in a tenth of its time: there are thousands of nodes."""
    ordered = np.sort(values)
    rank = percentile / 100 * (len(ordered) - 1)
    below = int(rank)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    return low + (high - low) * (rank - below)


def percentiles(values: Series, percentile: float) -> Series:
    """The percentile of each column of a table, float[time, ...], by the same rule; one that is not a number does not count.

    Not-a-number for a column without a sample.
    """
    ordered = np.sort(values, axis=0)
    last = np.maximum((~np.isnan(ordered)).sum(axis=0) - 1, 0)
    rank = percentile / 100 * last
    below = rank.astype(np.int64)
    low, high = (np.take_along_axis(ordered, at[None], axis=0)[0] for at in (below, np.minimum(below + 1, last)))
    found: Series = low + (high - low) * (rank - below)
    return found


def falls_to(series: NodeSamples, at: float, seconds: float) -> float | None:
    """Where a falling node will be in ``seconds`` if its trend continues for that long; None if it does not fall.

    The trend is the straight line that fits its samples best.
    """
    counts = np.isfinite(series.values) & (series.times > at - seconds)
    times, values = series.times[counts] - at, series.values[counts]
    if len(times) < 3 or times[-1] == times[0]:
        return None
    slope, now = np.polyfit(times, values, 1)
    fall = -slope * seconds
    return float(now - fall) if fall > _ROUNDING * abs(now) else None


def query_result(samples: Iterable[tuple[str, float, float]], at: float) -> QueryResult:
    """The result of samples (node, time, value) one after the other; those of one node stand together or not."""
    by_node: dict[str, list[tuple[float, float]]] = {}
    for node, time, value in samples:
        by_node.setdefault(node, []).append((time, value))
    return QueryResult(at, tuple(_series(by_node)))


def _series(by_node: dict[str, list[tuple[float, float]]]) -> Iterator[NodeSamples]:
    for node, points in by_node.items():
        times, values = np.array(sorted(points, key=lambda point: point[0]), dtype=np.float64).T
        yield NodeSamples(node, times, values)


class UsageChange(Struct, frozen=True):
    """How much the usage of a node grows with a pod that came, or shrinks with one that left."""

    #: Its name.
    node: str
    #: Nanoseconds since the epoch.
    at: int
    #: In nano-units by resource; negative for a pod that has left.
    amounts: Mapping[str, int]

    @property
    def is_arrival(self) -> bool:
        """Whether a pod came rather than left."""
        return all(amount >= 0 for amount in self.amounts.values())
