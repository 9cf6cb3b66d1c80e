"""What the queries of a policy came to, as an input has stored it."""

from __future__ import annotations

import json

import msgspec
import pytest

from builders import a_node, a_pod
from cluster.histories import a_series
from descheduling.harness import a_cluster
from restow.cluster.stored_usage import stored_history, stored_results
from restow.cluster.usage_columns import SHARE, packed


def stored_series(node, samples, query="load"):
    series = a_series({time: int(share * 1_000_000) for time, share in samples.items()}, query)
    return json.loads(msgspec.json.encode(packed(node, SHARE, series)))


@pytest.fixture
def prometheus_cluster():
    return a_cluster(
        a_node("n1"),
        a_node("n2"),
        a_pod("p"),
        stored_series("n1", {100: 0.25, 160: 0.5, 220: 0.875}),
        stored_series("n2", {160: 0.1}),
        stored_series("n2", {160: 0.9}, "other"),
        stored_series("n1", {100: 0.125}, ""),
        stored_series("n3", {100: 0.0625}, ""),
    )


def told(result):
    return {each.node: dict(zip(each.times.tolist(), each.values.tolist(), strict=True)) for each in result.samples}


def test_a_query_has_the_samples_that_were_there_by_then(prometheus_cluster):
    found = stored_results(prometheus_cluster, ["load", "unknown"], 200)
    assert told(found["load"]) == {"n1": {100: 0.25, 160: 0.5}, "n2": {160: 0.1}, "n3": {100: 0.0625}}
    assert found["load"].at == 200
    assert found["load"].problem == ""


def test_a_series_of_no_query_stands_for_any(prometheus_cluster):
    assert told(stored_results(prometheus_cluster, ["unknown"], 200)["unknown"]) == {
        "n1": {100: 0.125},
        "n3": {100: 0.0625},
    }


def test_each_query_has_its_own_series(prometheus_cluster):
    assert told(stored_results(prometheus_cluster, ["other"], 200)["other"])["n2"] == {160: 0.9}


def test_before_the_first_sample_a_query_has_no_result(prometheus_cluster):
    assert stored_results(prometheus_cluster, ["load"], 99) == {}


def test_each_step_of_the_history_before_counts_as_a_cycle(prometheus_cluster):
    (result,) = stored_results(prometheus_cluster, ["load"], 220, cycles=5).values()
    assert [each.at for each in result.earlier] == [160, 100]
    assert [told(each)["n1"] for each in result.earlier] == [{100: 0.25, 160: 0.5}, {100: 0.25}]


def test_shares_are_no_amounts(prometheus_cluster):
    assert stored_history(prometheus_cluster).nodes == {}
