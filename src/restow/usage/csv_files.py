"""Traces of usage as CSV: ``node,time,resource,value``, a sample a line, in any order.

A time is RFC 3339 or seconds since the epoch, a value a quantity as Kubernetes writes them: ``1500m``, ``2.5``,
``3Gi``. Of the resource ``share`` it is the answer to a query of a policy, from 0 to 1. The samples become the same
objects that a snapshot stores, so every reader of one reads the other. Other traces are read by ``read_rows`` too.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from msgspec import Struct

from restow.cluster.amounts import amount
from restow.cluster.usage_series import MOST_SAMPLES, PER_SHARE, SHARE, STORED, SampleSeries, packed
from restow.errors import InputError, OutOfRangeError
from restow.kube.excerpts import excerpt
from restow.kube.objects import UsageSeries
from restow.kube.quantity import NANO_PER_UNIT, Quantity, parse_quantity
from restow.kube.timestamps import SECOND, parse_time


class CsvRows(Struct, frozen=True):
    """The names of the columns, and the rows that are not empty; to be read once."""

    header: tuple[str, ...]
    rows: Iterator[tuple[int, Mapping[str, str]]]


def read_rows(text: str, origin: str) -> CsvRows:
    """The rows of a text; InputError, there or while they are read, names file and line of what is no CSV."""
    lines = _lines(text, origin)
    _, names = next(lines, (1, []))
    header = tuple(map(str.strip, names))
    return CsvRows(header, _named_rows(lines, header, origin))


def _lines(text: str, origin: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"{origin}:{reader.line_num}: not valid CSV: {error}") from error


def _named_rows(
    lines: Iterator[tuple[int, list[str]]], header: tuple[str, ...], origin: str
) -> Iterator[tuple[int, Mapping[str, str]]]:
    for line, row in lines:
        if len(row) not in (0, len(header)):
            raise InputError(f"{origin}:{line}: has {len(row)} columns, not {len(header)}")
        if row:
            yield line, dict(zip(header, map(str.strip, row), strict=True))


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
