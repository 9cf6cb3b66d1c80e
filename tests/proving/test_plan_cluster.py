"""A plan carries its cluster, and is of no other."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from builders import NOW, Object, a_namespace, a_node, a_pod
from builders.metadata import uid_of
from builders.plans import a_move
from descheduling.harness import a_cluster
from restow.descheduling.plan import Move, PlanCluster, PlanMetadata, PodRef
from restow.proving.planning import foreign_cluster, plan_cluster

KUBE_SYSTEM = uid_of("Namespace", "", "kube-system")
HERE: list[Object] = [a_namespace("kube-system"), a_node("n1"), a_node("n2"), a_pod("web-1", node="n1")]
WEB = PodRef("default", "web-1", uid_of("Pod", "default", "web-1"))


def made_of(**known: Any) -> PlanMetadata:
    cluster = PlanCluster(**({"uid": None, "api_server": None, "nodes": 2, "pods": 1} | known))
    return PlanMetadata(NOW, "prove", "0", cluster=cluster)


def moves(pod: PodRef = WEB, route: tuple[str, str] = ("n1", "n2")) -> list[Move]:
    move = a_move("x", route)
    return [type(move)(pod=pod, owner=None, source=move.source, target=move.target, candidates=move.candidates)]


def foreign(metadata: PlanMetadata, planned: list[Move], objects: list[Object] | None = None) -> str | None:
    return foreign_cluster(metadata, planned, a_cluster(*(HERE if objects is None else objects)), "10.0.0.1:6443")


def test_a_plan_names_its_cluster_by_uid_address_and_counts() -> None:
    known = plan_cluster(a_cluster(*HERE), "10.0.0.1:6443")
    assert known == PlanCluster(KUBE_SYSTEM, "10.0.0.1:6443", nodes=2, pods=1)


def test_of_an_input_without_kube_system_only_the_counts_are_known() -> None:
    assert plan_cluster(a_cluster(a_node("n1")), None) == PlanCluster(None, None, nodes=1, pods=0)


def test_another_kube_system_is_another_cluster_even_with_the_same_nodes_and_pods() -> None:
    sentence = foreign(made_of(uid="other", api_server="10.9.9.9:6443"), moves())
    assert sentence is not None
    for part in ("10.9.9.9:6443", "10.0.0.1:6443", "other", KUBE_SYSTEM, "--context"):
        assert part in sentence


def test_the_same_kube_system_is_the_same_cluster_whatever_has_become_of_its_nodes_and_pods() -> None:
    gone = PodRef("default", "web-1", "gone")
    assert foreign(made_of(uid=KUBE_SYSTEM, api_server="proxy:443"), moves(gone, ("n8", "n9"))) is None


@pytest.mark.parametrize(
    "metadata", [made_of(), PlanMetadata(NOW, "prove", "0")], ids=["without uid", "before clusters"]
)
class TestWithoutAUid:
    def test_shared_nodes_and_pods_are_evidence_of_the_same_cluster(self, metadata: PlanMetadata) -> None:
        assert foreign(metadata, moves()) is None

    def test_a_cluster_without_one_of_its_nodes_is_another(self, metadata: PlanMetadata) -> None:
        sentence = foreign(metadata, moves(route=("n8", "n9")))
        assert sentence is not None
        assert "none of the plan's nodes (n8 and 1 more)" in sentence

    def test_a_cluster_without_one_of_its_pods_is_another(self, metadata: PlanMetadata) -> None:
        sentence = foreign(metadata, moves(PodRef("default", "web-1", "elsewhere")))
        assert sentence is not None
        assert "default/web-1" in sentence

    def test_a_plan_without_moves_is_of_any_cluster(self, metadata: PlanMetadata) -> None:
        assert foreign(metadata, []) is None


def test_a_cluster_that_does_not_show_kube_system_is_judged_by_nodes_and_pods() -> None:
    metadata = made_of(uid="other")
    assert foreign(metadata, moves(), HERE[1:]) is None
    assert foreign(metadata, moves(PodRef("default", "web-1", "elsewhere")), HERE[1:]) is not None


def test_plans_from_before_have_no_cluster() -> None:
    assert PlanMetadata(NOW, "prove", "0").cluster is UNSET
