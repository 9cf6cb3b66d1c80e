"""What an input does not tell, and whom that leaves in the dark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import (
    ZONE,
    Object,
    a_list,
    a_node,
    a_pod,
    a_pvc,
    claim_volume,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    selector,
    spread,
)
from descheduling.harness import a_cluster
from proving.proven import TOLD
from restow.scheduling.loop.missing_data import MissingData
from restow.sources.documents import load_cluster

TEAM = selector(labels={"team": "red"})
EVERYWHERE = pod_term(selector(labels={"app": "web"}), topology=ZONE, namespace_selector=TEAM)


def missing_data(pod: Object, *others: Object, told: bool = False) -> MissingData:
    return MissingData(a_cluster(a_node("n1"), pod, *others, *(TOLD if told else ())))


def a_web_pod(**fields: Any) -> Object:
    return a_pod("p", node="n1", labels={"app": "web"}, **fields)


def test_a_plain_pod_depends_on_scores_only() -> None:
    found = missing_data(a_web_pod(owner=("ReplicaSet", "web")))
    assert found.decisive(0) == ()
    assert found.scoring(0) == ("Service", "ReplicaSet")
    assert found.missed == {"Service", "ReplicaSet"}


def test_a_pod_with_constraints_of_its_own_needs_no_services() -> None:
    assert missing_data(a_web_pod(spread=[spread(1, ZONE, selector())])).scoring(0) == ()


@pytest.mark.parametrize("kind", ["ReplicaSet", "StatefulSet", "ReplicationController"])
def test_owners_with_a_selector_shift_scores(kind: str) -> None:
    assert missing_data(a_web_pod(owner=(kind, "web"))).scoring(0) == ("Service", kind)


def test_what_is_told_of_leaves_nothing_open() -> None:
    pod = a_web_pod(owner=("ReplicaSet", "web"), volumes=[claim_volume("data")], affinity=pod_affinity([EVERYWHERE]))
    found = missing_data(pod, told=True)
    assert (found.decisive(0), found.scoring(0), found.lacks("Namespace")) == ((), (), False)
    assert not found.missed


def test_claims_and_what_they_lead_to() -> None:
    pod = a_web_pod(volumes=[claim_volume("data")])
    assert missing_data(pod).decisive(0) == ("PersistentVolumeClaim", "CSINode")
    assert missing_data(pod, a_pvc("data", volume="pv")).decisive(0) == ("PersistentVolume", "CSINode")
    unbound = missing_data(pod, a_pvc("data", storage_class="late")).decisive(0)
    assert unbound == ("PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "CSIStorageCapacity")


@pytest.mark.parametrize("make", [pod_affinity, pod_anti_affinity])
def test_terms_by_labels_of_namespaces_rule_nodes_out(make: Any) -> None:
    assert missing_data(a_web_pod(affinity=make([EVERYWHERE]))).decisive(0) == ("Namespace",)
    everyone = pod_term(selector(labels={"app": "web"}), topology=ZONE, namespace_selector=selector())
    assert missing_data(a_web_pod(affinity=make([everyone]))).decisive(0) == ()


def test_pods_that_others_keep_away_depend_on_namespaces_too() -> None:
    other = a_pod("q", node="n1", affinity=pod_anti_affinity([EVERYWHERE]))
    assert missing_data(a_web_pod(), other).decisive(0) == ("Namespace",)
    assert missing_data(a_pod("p", node="n1", labels={"app": "db"}), other).decisive(0) == ()


def test_preferences_by_labels_of_namespaces_shift_scores() -> None:
    pod = a_web_pod(affinity=pod_affinity(preferred=[(1, EVERYWHERE)]))
    assert missing_data(pod).decisive(0) == ()
    assert missing_data(pod).scoring(0) == ("Namespace", "Service")


def test_an_empty_list_of_a_kind_is_proof_of_absence(tmp_path: Path) -> None:
    """The API lists budgets as a PodDisruptionBudgetList; kubectl's List without items tells of nothing."""
    dump, more = tmp_path / "dump.json", tmp_path / "more.json"
    dump.write_text(json.dumps(a_list(a_node("n1"), a_web_pod())))
    typed = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudgetList", "items": []}
    for empty, lacks in ((typed, False), (a_list(), True)):
        more.write_text(json.dumps(empty))
        assert MissingData(load_cluster([str(dump), str(more)])[0]).lacks("PodDisruptionBudget") is lacks
