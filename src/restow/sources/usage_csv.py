r"""Traces of usage as CSV: ``node,time,resource,value``, a sample a line, in any order.

A time is RFC 3339 or seconds since the epoch, a value a quantity as Kubernetes writes them: ``1500m``, ``2.5``,
``3Gi``. Of the resource ``share`` it is the answer to a query of a policy, from 0 to 1.\n\nThe samples become the same
objects that a snapshot stores, so every reader of one reads the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from restow.cluster.amounts import amount
from restow.cluster.usage_columns import MOST_SAMPLES, PER_SHARE, SHARE, STORED, packed
from restow.cluster.usage_history import SampleSeries
from restow.errors import InputError, OutOfRangeError
from restow.kube.excerpts import excerpt
from restow.kube.objects import UsageSeries
from restow.kube.quantity import NANO_PER_UNIT, Quantity, parse_quantity
from restow.kube.timestamps import SECOND, parse_time
from restow.sources.csv_rows import read_rows

COLUMNS: Final = ("node", "time", "resource", "value")

_SUFFIXES: Final = (".csv", ".csv.gz")
_SECONDS: Final = re.compile(r"([0-9]{1,11})(?:\.[0-9]*)?", re.ASCII)

#: Samples by node and resource, each a value at a time.
_Samples = dict[tuple[str, str], dict[int, int]]


def is_trace(name: str) -> bool:
    """Whether an input is a trace by its name."""
    return name.endswith(_SUFFIXES)


def read_trace(text: str, origin: str) -> list[UsageSeries]:
    """The series of a trace; InputError names file, line and column of each row that cannot be read."""
    samples: _Samples = {}
    problems: list[str] = []
    for line, row in _rows(text, origin):
        try:
            _take(row, samples)
        except (ValueError, OutOfRangeError) as error:
            problems.append(f"{origin}:{line}: {error}")
    if problems:
        raise InputError(*problems)
    if not samples:
        raise InputError(f"{origin}: holds no samples; write one a line below {','.join(COLUMNS)}")
    return [packed(node, resource, _series(found)) for (node, resource), found in sorted(samples.items())]


def _rows(text: str, origin: str) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows of a text that has the columns of a trace."""
    read = read_rows(text, origin)
    if sorted(read.header) != sorted(COLUMNS):
        found = excerpt(",".join(read.header))
        raise InputError(f'{origin}:1: the first line must be {",".join(COLUMNS)}, not "{found}"')
    return read.rows


def _take(row: Mapping[str, str], samples: _Samples) -> None:
    """Add a sample; ValueError names the column that cannot be read."""
    node, resource = row["node"], row["resource"]
    if not node:
        raise ValueError("node: is empty")
    if resource not in STORED:
        raise ValueError(f'resource: "{excerpt(resource)}" is not one of {", ".join(STORED)}')
    series = samples.setdefault((node, resource), {})
    time = _time(row["time"])
    if time in series:
        raise ValueError(f"time: {excerpt(node)} has a value of {resource} at this time already")
    if len(series) >= MOST_SAMPLES:
        raise ValueError(f"{excerpt(node)} has more than {MOST_SAMPLES} samples of {resource}; leave some out")
    series[time] = _value(resource, row["value"])


def _time(text: str) -> int:
    seconds = _SECONDS.fullmatch(text)
    try:
        time = int(seconds[1]) if seconds else parse_time(text) // SECOND
    except ValueError as error:
        raise ValueError(f"time: {error}; write 2026-11-21T00:00:00Z or seconds since 1970") from error
    if time < 0:
        raise ValueError(f"time: {text} is before 1970")
    return time


def _value(resource: str, text: str) -> int:
    try:
        quantity = parse_quantity(text)
        return _share(quantity) if resource == SHARE else amount(resource, quantity)
    except ValueError as error:
        raise ValueError(f"value: {error}") from error


def _share(quantity: Quantity) -> int:
    if not 0 <= quantity.nano <= NANO_PER_UNIT:
        raise ValueError(f"a share is from 0 to 1, not {quantity}")
    return quantity.nano * PER_SHARE // NANO_PER_UNIT


def _series(samples: Mapping[int, int]) -> SampleSeries:
    times = sorted(samples)
    return SampleSeries(
        np.array(times, dtype=np.int64), np.fromiter((samples[time] for time in times), np.int64, count=len(times))
    )
