"""Series of usage for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping

import msgspec
import numpy as np
from hypothesis import strategies as st

from builders import Object
from restow.cluster.amounts import LARGEST
from restow.cluster.usage_series import SampleSeries, packed

#: Values by time; a year of seconds, and whatever a node may use.
SAMPLES = st.dictionaries(st.integers(0, 253_402_300_799), st.integers(0, LARGEST), min_size=1, max_size=30)


def a_series(samples: Mapping[int, int], query: str = "") -> SampleSeries:
    """The series of these values by time."""
    times = sorted(samples)
    values = [samples[time] for time in times]
    return SampleSeries(np.array(times, dtype=np.int64), np.array(values, dtype=np.int64), query)


def stored(node: str, resource: str, samples: Mapping[int, int]) -> Object:
    """The same as the object that a snapshot stores, of a query that says what it is of."""
    wire: Object = json.loads(msgspec.json.encode(packed(node, resource, a_series(samples, f"{resource}?"))))
    return wire


def samples_of(series: SampleSeries) -> dict[int, int]:
    """The values of a series by time."""
    return dict(zip(series.times.tolist(), series.values.tolist(), strict=True))
