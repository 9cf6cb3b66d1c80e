"""Which pods a PodDisruptionBudget covers."""

from __future__ import annotations

import pytest

from builders import a_node, a_pdb, a_pod, requirement
from descheduling.harness import a_cluster
from restow.cluster.budgets import covered
from restow.cluster.label_groups import LabelGroups

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
    labels = LabelGroups(cluster.pods)
    found = covered(cluster, labels)
    assert [name for pod, name in enumerate(cluster.pods.names) if labels.groups.values[pod] in found] == names
