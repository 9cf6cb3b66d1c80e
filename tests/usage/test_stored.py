"""The histories of an input, and the usage of one moment in them."""

from __future__ import annotations

import json

import msgspec
import pytest

from builders import a_node, a_pod, node_metrics, pod_metrics
from cluster.histories import a_series, samples_of, stored
from descheduling.harness import a_cluster
from restow.cluster.usage_samples import UsageQuery
from restow.cluster.usage_series import SHARE, packed
from restow.errors import InputError
from restow.kube.timestamps import SECOND
from restow.usage.measured import container_usage, node_usage, time_of
from restow.usage.stored import stored_history, stored_results, with_usage_at

CPU, MEMORY = {100: 1500, 200: 500}, {150: 1 << 30}


@pytest.fixture
def cluster():
    series = [stored("n1", "cpu", CPU), stored("n1", "memory", MEMORY), stored("n2", "cpu", {100: 7})]
    return a_cluster(a_node("n1"), a_node("n2"), a_pod("p"), *series, node_metrics("n2", cpu="3", memory="1Ki"))


def test_every_series_is_found_by_node_and_resource(cluster):
    history = stored_history(cluster)
    found = {(node, resource): samples_of(each) for node, of in history.nodes.items() for resource, each in of.items()}
    assert found == {("n1", "cpu"): CPU, ("n1", "memory"): MEMORY, ("n2", "cpu"): {100: 7}}
    assert history.nodes["n1"]["cpu"].query == "cpu?"


@pytest.mark.parametrize(
    ("now", "cpu", "memory", "oldest"), [(120, 1500, 0, 100), (199, 1500, 1 << 30, 100), (9999, 500, 1 << 30, 150)]
)
def test_a_node_used_what_its_history_last_says(cluster, now, cpu, memory, oldest):
    found = with_usage_at(cluster, now)
    assert node_usage(found.cluster)["n1"] == {"cpu": cpu * 10**6, "memory": memory * 10**9}
    assert (found.nodes, found.oldest) == (1, oldest)
    assert time_of(found.cluster, "n1") == oldest * SECOND


def test_metrics_of_the_input_count_before_its_history(cluster):
    assert node_usage(with_usage_at(cluster, 9999).cluster)["n2"]["cpu"] == 3 * 10**9


def test_before_its_first_sample_nothing_is_known_of_a_node(cluster):
    found = with_usage_at(cluster, 99)
    assert node_usage(found.cluster).keys() == {"n2"}
    assert found.nodes == 0


def test_a_series_that_cannot_be_read_is_an_error_that_names_it():
    broken = stored("n1", "cpu", CPU) | {"samples": 7}
    with pytest.raises(InputError, match=r"UsageSeries n1.cpu: columns: do not hold 7 samples"):
        a_cluster(a_node("n1"), a_pod("p"), broken)


@pytest.fixture
def shared():
    pods = [a_pod("a", node="n1", cpu="300m", memory="1Gi"), a_pod("b", node="n1", cpu="100m"), a_pod("c", node="n2")]
    return [a_node("n1"), a_node("n2"), *pods, stored("n1", "cpu", CPU), stored("n1", "memory", MEMORY)]


def test_without_metrics_of_pods_the_usage_of_a_node_is_shared_among_its_pods_by_their_requests(shared):
    found = with_usage_at(a_cluster(*shared), 150)
    metrics = {
        name: container_usage(each.containers[0]) for (_, name), each in found.cluster.kind("PodMetrics").items()
    }
    assert metrics == {
        "a": {"cpu": 1125 * 10**6, "memory": (1 << 30) * 10**9},
        "b": {"cpu": 375 * 10**6, "memory": 0},
    }
    assert found.estimated


def test_with_metrics_of_pods_nothing_is_estimated(shared):
    found = with_usage_at(a_cluster(*shared, pod_metrics("b", cpu="1")), 150)
    assert [name for _, name in found.cluster.kind("PodMetrics")] == ["b"]
    assert not found.estimated


def stored_series(node, samples, query="load"):
    series = a_series({time: int(share * 1_000_000) for time, share in samples.items()}, query)
    return json.loads(msgspec.json.encode(packed(node, SHARE, series)))


@pytest.fixture
def queried():
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


def asked(*texts):
    return [UsageQuery("Prometheus", text) for text in texts]


def told(result):
    return {each.node: dict(zip(each.times.tolist(), each.values.tolist(), strict=True)) for each in result.samples}


def test_a_query_has_the_samples_that_were_there_by_then(queried):
    load, unknown = asked("load", "unknown")
    found = stored_results(queried, [load, unknown], 200, source="Prometheus")
    assert found.keys() == {load, unknown}
    assert told(found[load]) == {"n1": {100: 0.25, 160: 0.5}, "n2": {160: 0.1}, "n3": {100: 0.0625}}
    assert found[load].at == 200
    assert found[load].problem == ""


def test_a_series_of_no_query_stands_for_any(queried):
    (result,) = stored_results(queried, asked("unknown"), 200, source="Prometheus").values()
    assert told(result) == {"n1": {100: 0.125}, "n3": {100: 0.0625}}


def test_each_query_has_its_own_series(queried):
    (result,) = stored_results(queried, asked("other"), 200, source="Prometheus").values()
    assert told(result)["n2"] == {160: 0.9}


def test_what_is_stored_with_a_query_is_no_answer_of_another_source(queried):
    """A series of no query stands for any, whoever is asked."""
    (result,) = stored_results(queried, [UsageQuery("Graphite", "load")], 200, source="Prometheus").values()
    assert told(result) == {"n1": {100: 0.125}, "n3": {100: 0.0625}}


def test_before_the_first_sample_a_query_has_no_result(queried):
    assert stored_results(queried, asked("load"), 99, source="Prometheus") == {}


def test_each_step_of_the_history_before_counts_as_a_cycle(queried):
    (result,) = stored_results(queried, asked("load"), 220, cycles=5, source="Prometheus").values()
    assert [each.at for each in result.earlier] == [160, 100]
    assert [told(each)["n1"] for each in result.earlier] == [{100: 0.25, 160: 0.5}, {100: 0.25}]


def test_shares_are_no_amounts(queried):
    assert stored_history(queried).nodes == {}
