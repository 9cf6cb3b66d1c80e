"""Figures of a window of samples."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.histories import a_series
from restow.cluster.usage_series import SampleSeries, UsageHistory, UsageSample, latest, mean, std, within

MOST = 2**63 - 1


SPIKE = a_series({100: 10, 160: 20, 220: 1000, 280: 30}, "query")
SAMPLES = st.dictionaries(st.integers(0, 1000), st.integers(0, MOST), max_size=20)


def test_a_window_is_open_at_its_beginning_and_closed_at_its_end():
    found = within(SPIKE, 120, 280)
    assert found.times.tolist() == [220, 280]
    assert found.values.tolist() == [1000, 30]
    assert found.query == "query"


def test_samples_after_now_do_not_exist_yet():
    assert latest(SPIKE, 219) == UsageSample(160, 20)
    assert mean(SPIKE, 1000, 219) == 15
    assert latest(SPIKE, 99) is None


@pytest.mark.parametrize("figure", [mean, std])
def test_where_there_is_no_sample_there_is_no_figure(figure):
    assert figure(SPIKE, 60, 5000) is None
    assert figure(a_series({}), 60, 100) is None


@given(SAMPLES.filter(bool), st.integers(1, 1000), st.integers(0, 1000))
def test_figures_are_those_of_the_samples_in_the_window(samples, window, now):
    inside = sorted(value for time, value in samples.items() if now - window < time <= now)
    if not inside:
        assert mean(a_series(samples), window, now) is None
        return
    assert mean(a_series(samples), window, now) == pytest.approx(statistics.fmean(inside), rel=1e-9)
    spread = statistics.pstdev([float(value) for value in inside])
    assert std(a_series(samples), window, now) == pytest.approx(spread, rel=1e-6, abs=1e-6 * inside[-1])


def test_a_node_or_resource_that_nobody_has_measured_has_no_series():
    history = UsageHistory({"n1": {"cpu": SPIKE}})
    assert history.series("n1", "cpu") is SPIKE
    assert history.series("n1", "memory") is None
    assert history.series("n2", "cpu") is None


@pytest.mark.parametrize(
    ("times", "values", "why"), [([1], [], "1 times"), ([2, 1], [0, 0], "ascend"), ([1, 1], [0, 0], "ascend")]
)
def test_columns_that_are_no_series_are_refused(times, values, why):
    with pytest.raises(ValueError, match=why):
        SampleSeries(np.array(times, dtype=np.int64), np.array(values, dtype=np.int64))
