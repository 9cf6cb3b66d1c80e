"""What nodes used over time: for each node and resource a series of samples, and figures of a window of it.

Times are whole seconds since the epoch, values whole milli-CPUs or bytes, as ``cluster.amounts`` has them. A window is
a number of seconds up to and including ``now``, without the second in which it begins, as a range of Prometheus.
Samples after ``now`` do not exist yet. A figure is None if the window has no sample: unknown is not zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

#: Seconds since the epoch, or amounts.
Column = npt.NDArray[np.int64]


@dataclass(slots=True, frozen=True, eq=False)
class SampleSeries:
    """What one node used of one resource: ``values[i]`` at ``times[i]``, which ascend without repetition."""

    times: Column
    values: Column
    #: The query that the samples answer; empty where they are of no query.
    query: str = ""

    def __post_init__(self) -> None:
        """ValueError for columns that are no series."""
        if len(self.times) != len(self.values):
            raise ValueError(f"{len(self.times)} times have {len(self.values)} values")
        if len(self.times) and bool((np.diff(self.times) <= 0).any()):
            raise ValueError("the times do not ascend")

    def __len__(self) -> int:
        """Return how many samples there are."""
        return len(self.times)


@dataclass(slots=True, frozen=True)
class UsageHistory:
    """The series of each node by its name, and there by resource: ``cpu``, ``memory``."""

    nodes: Mapping[str, Mapping[str, SampleSeries]] = field(default_factory=dict)

    def series(self, node: str, resource: str) -> SampleSeries | None:
        """Return what a node used of a resource; None if it was not measured."""
        return self.nodes.get(node, {}).get(resource)


class UsageSample(NamedTuple):
    """One sample."""

    at: int
    value: int


def within(series: SampleSeries, window: int, now: int) -> SampleSeries:
    """Return the samples of a window."""
    first, end = np.searchsorted(series.times, (now - window, now), side="right")
    return SampleSeries(series.times[first:end], series.values[first:end], series.query)


def latest(series: SampleSeries, now: int) -> UsageSample | None:
    """Return the last sample up to now, however old it is."""
    end = int(np.searchsorted(series.times, now, side="right"))
    return UsageSample(int(series.times[end - 1]), int(series.values[end - 1])) if end else None


def mean(series: SampleSeries, window: int, now: int) -> float | None:
    """Return the mean of a window's samples."""
    values = within(series, window, now).values
    return float(values.mean(dtype=np.float64)) if len(values) else None


def std(series: SampleSeries, window: int, now: int) -> float | None:
    """Return the standard deviation of a window's samples (of the population, as ``stddev_over_time``)."""
    values = within(series, window, now).values
    return float(values.std(dtype=np.float64)) if len(values) else None
