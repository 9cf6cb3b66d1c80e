"""Usage from metrics objects, in exact nano-units."""

from __future__ import annotations

import pytest

from builders import a_node, a_pod, node_metrics, pod_metrics
from descheduling.harness import a_cluster
from restow.errors import InputError
from restow.kube.objects import NodeMetrics
from restow.usage.measured import container_usage, node_usage, smoothed
from restow.usage.measured import pod_metrics as metrics_of

NODE, POD = a_node("n1"), a_pod("p")


def test_node_usage_is_exact():
    cluster = a_cluster(NODE, POD, node_metrics("n1", cpu="1234567n", memory="1Ki"), node_metrics("n9"))
    assert node_usage(cluster) == {"n1": {"cpu": 1234567, "memory": 1024 * 10**9}, "n9": {"cpu": 0, "memory": 0}}


def test_a_resource_that_a_sample_leaves_out_is_zero():
    metrics = node_metrics("n1")
    metrics["usage"] = None
    assert node_usage(a_cluster(NODE, POD, metrics)) == {"n1": {"cpu": 0, "memory": 0}}


def test_the_metrics_of_a_pod_are_found_by_namespace_and_name():
    cluster = a_cluster(NODE, POD, a_pod("p", namespace="other"), pod_metrics("p", cpu="5m"))
    found = metrics_of(cluster, 0)
    assert found is not None
    assert container_usage(found.containers[0]) == {"cpu": 5 * 10**6, "memory": 0}
    assert metrics_of(cluster, 1) is None


@pytest.mark.parametrize("metrics", [node_metrics("n1", cpu="x"), pod_metrics("p", cpu="x")], ids=["node", "pod"])
def test_an_unreadable_amount_is_an_error_that_names_the_object(metrics):
    with pytest.raises(
        InputError, match=r"^(NodeMetrics n1|PodMetrics default/p: c0): usage: cpu: \"x\" is not a quantity"
    ):
        a_cluster(NODE, POD, metrics)


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
