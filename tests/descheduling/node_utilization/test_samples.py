"""Usage from a query's samples. Ids are the rows of upstream's unit tests (UH), restated."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from builders import std_node
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.cluster.usage_samples import UsageQuery, query_result
from restow.descheduling.framework import StrategyError
from restow.descheduling.node_utilization.queried import queried
from restow.descheduling.node_utilization.usage import Usage

LOAD = UsageQuery("Prometheus", "q")
NAMES = ("ip-10-0-17-165", "ip-10-0-51-101", "ip-10-0-94-25")


def sampled(samples: dict[str, float]) -> Usage:
    cluster = a_cluster(*(std_node(name) for name in NAMES))
    result = query_result(((name, 0.0, value) for name, value in samples.items()), 0.0)
    state = ClusterState(replace(cluster, usage={LOAD: result}))
    view: Any = SimpleNamespace(state=state, compared=np.arange(len(NAMES)), usage=None)
    return queried(view, LOAD)


SAMPLES = {
    "UH-23": ((0.4245454545454522, 0.20381818181818104, 0.5695757575757561), [42, 20, 56]),
    "ends": ((0, 0.999, 1), [0, 99, 100]),
}


@pytest.mark.parametrize(("samples", "expected"), SAMPLES.values(), ids=SAMPLES.keys())
def test_samples_are_cut_to_whole_percents(samples: tuple[float, ...], expected: list[int]) -> None:
    usage = sampled(dict(zip(NAMES, samples, strict=True)))
    assert [each["MetricResource"] // 10**9 for each in usage.by_node.values()] == expected
    assert usage.of_pod is None


def test_only_the_newest_sample_of_a_history_counts() -> None:
    """What was out of range before is no error."""
    cluster = a_cluster(*(std_node(name) for name in NAMES))
    samples = [(name, at, value) for name in NAMES for at, value in ((1.0, 1.5), (2.0, 0.5))]
    view: Any = SimpleNamespace(
        state=ClusterState(replace(cluster, usage={LOAD: query_result(samples, 2.0)})),
        compared=np.arange(len(NAMES)),
        usage=None,
    )
    assert {each["MetricResource"] for each in queried(view, LOAD).by_node.values()} == {50 * 10**9}


def test_a_listed_node_without_a_sample_is_an_error() -> None:
    with pytest.raises(
        StrategyError, match=r"^error getting node usage: unable to find metric entry for ip-10-0-94-25$"
    ):
        sampled({NAMES[0]: 0.1, NAMES[1]: 0.1, "other": 0.1})


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.20381818181818104, "1.203818181818181"),
        (-0.5, "-0.5"),
        (1e20, "100000000000000000000"),
        (float("inf"), "+Inf"),
    ],
)
def test_a_sample_out_of_range_is_an_error(value: float, shown: str) -> None:
    expected = f'the collected metrics sample for "n" has value {shown} outside of <0; 1> interval'
    with pytest.raises(StrategyError) as caught:
        sampled({"n": value})
    assert str(caught.value) == f"error getting node usage: {expected}"
