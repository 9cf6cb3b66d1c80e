"""Explanations name each veto and what would lift it."""

from __future__ import annotations

import pytest

from builders import a_node
from descheduling.harness import a_policy
from descheduling.test_vetoes import DO_NOT_DISRUPT, LOCAL, OLD, VETOED, web
from explaining.explained import explained, gates, node_explained, told, view
from proving.test_closed_nodes import CLOSED, LOW, TOLERANT, pods_on

NODES = [a_node("n1"), a_node("n2"), a_node("n3")]
POLICY = a_policy(*OLD, evictor=LOCAL)
LIFTED = {
    "do-not-disrupt": "without its annotation karpenter.sh/do-not-disrupt",
    "do-not-disrupt-for-a-time": "at 2026-01-01T00:20:00Z, when its annotation karpenter.sh/do-not-disrupt ends",
    "not-safe-to-evict": "without its annotation cluster-autoscaler.kubernetes.io/safe-to-evict",
    "local-volume-that-is-not-safe": "without its annotation cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes",
    "eviction-in-progress": "once the migration of its virtual machine has ended",
    "a-migration-runs": "once the migration of its virtual machine has ended",
    "just-migrated": "once its migrationCoolDown is over",
    "migration-just-ended": "once its migrationCoolDown is over",
}


@pytest.mark.parametrize("case", LIFTED)
def test_explanation_says_what_lifts_a_veto(case: str) -> None:
    _, pods, code, others = VETOED[case]
    found = explained(POLICY, *NODES, *pods, *others)
    assert gates(found)["evictor"] == (False, code)
    (change,) = view(found).changes
    assert (told(change), change.verified) == ([LIFTED[case]], not LIFTED[case].startswith("once"))


def test_explanation_names_the_annotation_of_the_node() -> None:
    nodes = [a_node("n1", annotations={DO_NOT_DISRUPT: "true"}), *NODES[1:]]
    found = explained(POLICY, *nodes, web())
    assert gates(found)["evictor"] == (False, "NodeDoNotDisrupt")
    assert [told(each) for each in view(found).changes] == [
        ["without the annotation karpenter.sh/do-not-disrupt of n1"]
    ]


@pytest.mark.parametrize("case", CLOSED)
def test_explanation_names_the_setting_that_opens_nodes(case: str) -> None:
    closed, code, switch = CLOSED[case]
    objects = [a_node("n1", unschedulable=True), a_node("n2", **closed), *pods_on("n1", 1, tolerations=TOLERANT)]
    found = explained(a_policy(*OLD, restow={"certainty": "possible"}), *objects, pod="n1-0")
    assert gates(found)["placement"] == (False, code)
    assert [f"with vetoes.{switch}: false in the policy's restow section"] in [
        told(each) for each in view(found).changes
    ]


@pytest.mark.parametrize("case", CLOSED)
def test_explanation_of_a_node_says_that_it_receives_nothing(case: str) -> None:
    closed, code, switch = CLOSED[case]
    objects = [a_node("n1"), a_node("n2", **closed), *pods_on("n1", 8)]
    found = node_explained(a_policy(*LOW), *objects, node="n2")
    why = (
        "is virtual" if code == "VirtualNode" else "is about to be removed (taint DeletionCandidateOfClusterAutoscaler)"
    )
    assert found.closed == f"it {why} and receives nothing"
    assert found.strategies[0].message
    assert not node_explained(a_policy(*LOW, restow={"vetoes": {switch: False}}), *objects, node="n2").closed
    assert not node_explained(a_policy(*LOW), *objects, node="n2", placement="upstream").closed
