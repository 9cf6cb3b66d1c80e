"""What nodes used over time: a series of samples for each node and resource, figures of a window, and its packed form.

Times are whole seconds since the epoch, values whole milli-CPUs or bytes, as ``cluster.amounts`` has them. A window is
a number of seconds up to and including ``now``, without the second in which it begins, as a range of Prometheus.
Samples after ``now`` do not exist yet. A figure is None if the window has no sample: unknown is not zero.

A snapshot stores a series exactly (``packed``), in a byte or two a sample. Times and values are kept as differences,
which are small where a figure changes slowly, and byte by byte: all lowest bytes first, then all second ones, so that
the upper bytes are one long run of zeros, which zlib packs. Values are counted in the largest unit that divides them
all; ``rounded`` makes that a large one.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from restow.cluster.amounts import LARGEST
from restow.kube.excerpts import excerpt
from restow.kube.objects import API_VERSIONS, ObjectMeta, UsageSeries

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


class UsageHistory(Struct, frozen=True):
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


KIND: Final = "UsageSeries"
#: What is stored of nodes: amounts, and the answers to a policy's queries, in millionths.
RESOURCES: Final = ("cpu", "memory")
SHARE: Final = "share"
PER_SHARE: Final = 1_000_000
STORED: Final = (*RESOURCES, SHARE)
#: Samples that one series may have: a year of five minutes.
MOST_SAMPLES: Final = 110_000

_WORD: Final = np.dtype("<i8")
#: Seconds since the epoch at the end of the year 9999.
_LATEST: Final = 253_402_300_799
#: Bits of the largest value that ``rounded`` keeps: an error of a thousandth.
_BITS: Final = 10
#: Series that are decoded once, those of two resources of 10,000 nodes; and lists of times, of which most have the same.
_KEPT: Final = 20_000
_TIMES_KEPT: Final = 64


def packed(node: str, resource: str, series: SampleSeries) -> UsageSeries:
    """A series as a snapshot stores it; the series has a sample at least."""
    unit = max(int(np.gcd.reduce(series.values)), 1)
    columns = _planes(_deltas(series.times)) + _planes(_zigzag(_deltas(series.values // unit)))
    return UsageSeries(
        api_version=API_VERSIONS[KIND],
        kind=KIND,
        metadata=ObjectMeta(name=series_name(node, resource, series.query)),
        node=node,
        resource=resource,
        query=series.query,
        samples=len(series),
        unit=unit,
        columns=zlib.compress(columns, 9),
    )


def unpacked(wire: UsageSeries) -> SampleSeries:
    """The series again; ValueError says which field is not what ``packed`` writes."""
    _check_fields(wire)
    return SampleSeries(*_decoded(wire.columns, wire.samples, wire.unit), wire.query)


def rounded(series: SampleSeries) -> SampleSeries:
    """Round values to a thousandth of the largest one, so that the series packs into fewer bytes."""
    largest = int(series.values.max(initial=0))
    unit = 1 << max(largest.bit_length() - _BITS - 1, 0)
    nearest = series.values // unit + (series.values % unit > unit // 2)
    return SampleSeries(series.times, np.minimum(nearest, LARGEST // unit) * unit, series.query)


def series_name(node: str, resource: str, query: str) -> str:
    """The name of the object: there is one for each node and resource, and of shares one for each query."""
    name = f"{node}.{resource}"
    return f"{name}.{hashlib.sha256(query.encode()).hexdigest()[:8]}" if resource == SHARE else name


def _check_fields(wire: UsageSeries) -> None:
    version = API_VERSIONS[KIND]
    if wire.api_version != version:
        raise ValueError(f"apiVersion: {excerpt(wire.api_version)} is not known; this restow reads {version}")
    if wire.resource not in STORED:
        raise ValueError(f'resource: "{excerpt(wire.resource)}" is not one of {", ".join(STORED)}')
    name = series_name(wire.node, wire.resource, wire.query)
    if wire.metadata.name != name:
        raise ValueError(f"metadata.name: must be {excerpt(name)}")
    if not 0 < wire.samples <= MOST_SAMPLES:
        raise ValueError(f"samples: {excerpt(wire.samples)} is not from 1 to {MOST_SAMPLES}")
    if not 0 < wire.unit <= LARGEST:
        raise ValueError(f"unit: {excerpt(wire.unit)} is not from 1 to {LARGEST}")


@lru_cache(maxsize=_KEPT)
def _decoded(columns: bytes, samples: int, unit: int) -> tuple[Column, Column]:
    """Times and values. They are kept: a plan asks for the same series when it is read, for a moment, and for a window."""
    planes = _inflated(columns, samples)
    half = _WORD.itemsize * samples
    steps = np.cumsum(_unzigzag(_words(planes[half:])))
    if int(steps.min()) < 0 or int(steps.max()) > LARGEST // unit:
        raise ValueError(f"columns: a value is negative, or more than {LARGEST}")
    return _times(planes[:half]), _constant(steps * unit)


@lru_cache(maxsize=_TIMES_KEPT)
def _times(planes: bytes) -> Column:
    """The times, of which series that were asked for together share one array."""
    times = np.cumsum(_words(planes))
    if int(times.min()) < 0 or int(times.max()) > _LATEST or bool((np.diff(times) <= 0).any()):
        raise ValueError("columns: the times do not ascend from 1970 to 9999")
    return _constant(times)


def _constant(column: Column) -> Column:
    column.flags.writeable = False
    return column


def _inflated(packed_columns: bytes, samples: int) -> bytes:
    """The bytes of both columns, and never more than the samples take."""
    size = 2 * _WORD.itemsize * samples
    stream = zlib.decompressobj()
    try:
        columns = stream.decompress(packed_columns, size + 1)
    except zlib.error as error:
        raise ValueError(f"columns: cannot be unpacked: {error}") from error
    if len(columns) != size or not stream.eof or stream.unused_data:
        raise ValueError(f"columns: do not hold {samples} samples")
    return columns


def _deltas(column: Column) -> Column:
    return np.diff(column, prepend=np.int64(0))


def _zigzag(steps: Column) -> Column:
    """Signed numbers as unsigned ones, small where they are near zero: 0, -1, 1, -2..."""
    return (steps << 1) ^ (steps >> 63)


def _unzigzag(words: Column) -> Column:
    return (words >> 1 & LARGEST) ^ -(words & 1)


def _planes(words: Column) -> bytes:
    return words.astype(_WORD).view(np.uint8).reshape(-1, _WORD.itemsize).T.tobytes()


def _words(planes: bytes) -> Column:
    return (
        np.ascontiguousarray(np.frombuffer(planes, dtype=np.uint8).reshape(_WORD.itemsize, -1).T)
        .view(_WORD)
        .ravel()
        .astype(np.int64)
    )
