"""What is built must be what the wire structs read: a typing error in a builder would make other tests vacuous."""

from __future__ import annotations

import msgspec
import pytest

from builders import (
    CRIT,
    LS,
    MIRROR,
    RS,
    a_condition,
    a_list,
    a_namespace,
    a_node,
    a_pdb,
    a_pod,
    a_priority_class,
    a_pv,
    a_pvc,
    a_replica_set,
    a_service,
    a_storage_class,
    a_toleration,
    ago,
    anti,
    node_affinity,
    node_metrics,
    node_term,
    pod_metrics,
    running,
    selector,
    std_node,
    tc,
    waiting,
)
from restow.kube import objects

EVERYTHING = [
    a_node("n1", labels={"zone": "a"}, taints=["k=v:NoSchedule"], images={"web": 1}, extended={"gpu": 8}),
    a_namespace("shop"),
    a_priority_class("high", 1000),
    a_pv("v", zone="a"),
    a_pvc("c", volume="v"),
    a_storage_class("fast"),
    a_replica_set("rs", deployment="web", selector=selector(labels={"app": "web"})),
    a_service("web", selector={"app": "web"}),
    a_pdb("web", selector=selector(), min_available="50%"),
    node_metrics("n1", cpu="1", memory="1Gi"),
    pod_metrics("p", cpu="1", memory="1Gi"),
    a_pod("p", node="n1", owner=RS, tolerations=["k=v:NoSchedule"], spread=[tc(1)], statuses=[waiting("X"), running()]),
]


@pytest.mark.parametrize("built", EVERYTHING, ids=lambda built: built["kind"])
def test_every_built_object_decodes_and_uses_known_fields(built):
    text = msgspec.json.encode(built)
    kind = {"ReplicaSet": objects.Workload}.get(built["kind"]) or getattr(objects, built["kind"])
    decoded = msgspec.json.decode(text, type=kind)
    assert decoded.metadata.name == built["metadata"]["name"]


def test_a_pod_has_explicit_requests_unless_they_are_none():
    assert a_pod("p", memory=None)["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "100m"}}
    assert "resources" not in a_pod("p", cpu=None, memory=None)["spec"]["containers"][0]


def test_uids_tell_pods_apart_and_stay_the_same():
    pods = [a_pod("p"), a_pod("q"), a_pod("p", namespace="other")]
    assert len({pod["metadata"]["uid"] for pod in pods}) == 3
    assert a_pod("p") == a_pod("p")


def test_an_owner_reference_carries_the_uid_of_the_built_owner():
    pod = a_pod("p", namespace="shop", owner=("ReplicaSet", "rs"))
    assert pod["metadata"]["ownerReferences"][0]["uid"] == a_replica_set("rs", namespace="shop")["metadata"]["uid"]


def test_fixture_shorthands_are_the_protected_kinds_of_pods():
    assert a_pod("p", **CRIT)["metadata"]["namespace"] == "kube-system"
    assert a_pod("p", volumes=LS)["spec"]["volumes"][0].keys() >= {"hostPath", "emptyDir"}
    assert "kubernetes.io/config.mirror" in a_pod("p", annotations=MIRROR)["metadata"]["annotations"]
    assert std_node("n1")["status"]["allocatable"] == {"cpu": "2000m", "memory": "3000", "pods": "10"}


@pytest.mark.parametrize(
    ("text", "toleration"),
    [
        ("k=v:NoSchedule", {"key": "k", "value": "v", "effect": "NoSchedule"}),
        ("k:NoSchedule", {"key": "k", "operator": "Exists", "effect": "NoSchedule"}),
        ("k=v", {"key": "k", "value": "v"}),
        ("", {"operator": "Exists"}),
    ],
)
def test_tolerations_from_text(text, toleration):
    assert a_toleration(text) == toleration


def test_affinity_halves_join():
    both = node_affinity([node_term(("zone", "In", "a"))]) | anti("foo", "bar")
    decoded = msgspec.json.decode(msgspec.json.encode(both), type=objects.Affinity)
    assert decoded.node_affinity.required.node_selector_terms[0].match_expressions[0].values == ("a",)
    assert decoded.pod_anti_affinity.required[0].topology_key == "region"


def test_times_are_relative_to_one_clock():
    assert a_condition("Ready", "True", since=ago(60))["lastTransitionTime"] == "2025-12-31T23:59:00Z"


def test_a_list_is_what_kubectl_prints():
    assert a_list(a_node("n1"))["kind"] == "List"
