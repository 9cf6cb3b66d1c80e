"""The usage of nodes over time. Rows are upstream's own (MC)."""

from __future__ import annotations

import pytest

from restow.cluster.smoothing import smoothed
from restow.kube.objects import NodeMetrics


def a_sample(cpu: str, memory: str = "0") -> NodeMetrics:
    return NodeMetrics(usage={"cpu": cpu, "memory": memory})


def test_the_first_sample_counts_as_it_is() -> None:
    sample = a_sample("1400123n")
    assert smoothed(None, sample) is sample


@pytest.mark.parametrize(
    ("start", "then", "mean"),
    [
        pytest.param("1400m", ["500m"], "1310m", id="MC one"),
        pytest.param("1310m", ["900m"], "1269m", id="MC two"),
        pytest.param("5m", ["0"], "5m", id="half a step is rounded up"),
        pytest.param("0", ["4m"] * 50, "0m", id="what is close is never reached"),
        pytest.param("100001n", ["100001n"], "1m", id="amounts are rounded up to whole steps"),
    ],
)
def test_a_new_sample_counts_a_tenth(start: str, then: list[str], mean: str) -> None:
    known = a_sample(start)
    for each in then:
        known = smoothed(known, a_sample(each))
    assert (known.usage or {})["cpu"] == mean


def test_memory_is_kept_in_bytes_and_what_is_left_out_is_nothing() -> None:
    known = smoothed(a_sample("1", "1000"), NodeMetrics(usage={"cpu": "1"}))
    assert known.usage == {"cpu": "1000m", "memory": "900"}
