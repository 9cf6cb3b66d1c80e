"""Which pods a PodDisruptionBudget covers."""

from __future__ import annotations

import pytest

from builders import a_node, a_pdb, a_pod, requirement
from descheduling.harness import a_cluster
from restow.cluster.budgets import CoveringBudgets
from restow.cluster.pod_classes import LabelGroups
from restow.cluster.state import ClusterState

PODS = [a_pod("a", labels={"app": "a"}), a_pod("b", labels={"app": "b"}), a_pod("c", namespace="other")]


@pytest.mark.parametrize(
    ("budgets", "names"),
    [
        pytest.param([], [], id="none"),
        pytest.param([a_pdb("x")], [], id="absent-selector-matches-nothing"),
        pytest.param([a_pdb("x", selector={})], ["a", "b"], id="empty-selector-matches-the-namespace"),
        pytest.param([a_pdb("x", selector={"matchLabels": {"app": "a"}})], ["a"], id="labels"),
        pytest.param([a_pdb("x", selector={}, namespace="other")], ["c"], id="other-namespace"),
        pytest.param([a_pdb("x", selector={}, namespace="empty")], [], id="namespace-without-pods"),
        pytest.param(
            [a_pdb("x", selector={"matchExpressions": [requirement("app", "Near", "a")]}), a_pdb("y", selector={})],
            ["a", "b"],
            id="invalid-selector-is-skipped",
        ),
    ],
)
def test_covered(budgets, names):
    cluster = a_cluster(a_node("n1"), *PODS, *budgets)
    covering = CoveringBudgets(cluster, LabelGroups(cluster.pods))
    assert [name for pod, name in enumerate(cluster.pods.names) if covering.of(pod)] == names


def test_a_pod_with_labels_that_were_not_there_is_covered_like_any_other():
    budgets = [a_pdb(name, selector={"matchLabels": {"app": name}}) for name in ("a", "new")]
    state = ClusterState(a_cluster(a_node("n1"), *PODS, *budgets, a_pdb("c", namespace="other", selector={})))
    pods = state.cluster.pods
    covering = CoveringBudgets(state.cluster, LabelGroups(pods))
    labels = {name: pods.intern("labels", {"app": name}) for name in ("new", "strange")}
    pod, namespace = pods.names.index("a"), pods.intern("namespaces", "empty")
    came = [state.reserve(pod, {"labels": each}) for each in (pods.labels[pod], labels["new"], labels["strange"])]
    elsewhere = state.reserve(pod, {"labels": labels["new"], "namespace": namespace})
    assert [list(covering.of(each)) for each in (*came, elsewhere)] == [[0], [1], [], []]
