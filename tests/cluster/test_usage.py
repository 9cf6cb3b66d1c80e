"""Usage from metrics objects, in exact nano-units."""

from __future__ import annotations

import pytest

from builders import a_node, a_pod, node_metrics, pod_metrics
from descheduling.harness import a_cluster
from restow.cluster.usage import container_usage, node_usage
from restow.cluster.usage import pod_metrics as metrics_of
from restow.errors import InputError

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
