"""Series of usage for tests."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from hypothesis import strategies as st

from restow.cluster.amounts import LARGEST
from restow.cluster.usage_history import SampleSeries

#: Values by time; a year of seconds, and whatever a node may use.
SAMPLES = st.dictionaries(st.integers(0, 253_402_300_799), st.integers(0, LARGEST), min_size=1, max_size=30)


def a_series(samples: Mapping[int, int], query: str = "") -> SampleSeries:
    """The series of these values by time."""
    times = sorted(samples)
    values = [samples[time] for time in times]
    return SampleSeries(np.array(times, dtype=np.int64), np.array(values, dtype=np.int64), query)


def samples_of(series: SampleSeries) -> dict[int, int]:
    """The values of a series by time."""
    return dict(zip(series.times.tolist(), series.values.tolist(), strict=True))
