"""Which cluster a plan was made of, and whether a cluster is that one.

The uid of the Namespace kube-system identifies a cluster: the API server creates it once, and it cannot be deleted. Where
the plan or the cluster does not show it, the names of nodes and the uids of pods decide: uids are unique, so that a cluster
without a single one of the plan's pods is another one, or no move of the plan can be made in it anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import UNSET

from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.plan import Move, PlanCluster, PlanMetadata
from restow.kube.excerpts import excerpt

_KUBE_SYSTEM: Final = ("", "kube-system")
_WHAT_TO_DO: Final = "choose the plan's cluster with --context or --kubeconfig, or plan this one: restow plan -o json"


def plan_cluster(cluster: ClusterSnapshot, api_server: str | None) -> PlanCluster:
    """The cluster in a plan; ``api_server`` is the host and port that it was read from, None for files."""
    return PlanCluster(_uid(cluster), api_server, len(cluster.nodes), pods_in(cluster))


def pods_in(cluster: ClusterSnapshot) -> int:
    """How many pods the input has, without replacements."""
    return int(cluster.pods.read().sum())


def foreign_cluster(
    metadata: PlanMetadata, moves: Sequence[Move], cluster: ClusterSnapshot, api_server: str
) -> str | None:
    """Why a plan is not of this cluster, in one sentence; None where it is, or where nothing speaks against it."""
    made_of = None if metadata.cluster is UNSET else metadata.cluster
    uid, here = (None if made_of is None else made_of.uid), _uid(cluster)
    if uid is not None and here is not None:
        what = f"the Namespace kube-system has the uid {excerpt(uid)} in the plan and {here} in this cluster"
        return None if uid == here else _sentence(what, made_of, api_server)
    difference = _nothing_in_common(moves, cluster)
    return None if difference is None else _sentence(difference, made_of, api_server)


def _uid(cluster: ClusterSnapshot) -> str | None:
    namespace = cluster.kind("Namespace").get(_KUBE_SYSTEM)
    return None if namespace is None else namespace.metadata.uid or None


def _nothing_in_common(moves: Sequence[Move], cluster: ClusterSnapshot) -> str | None:
    """Which of nodes and pods the plan and a cluster do not share at all; None where they share both."""
    nodes = {each.source for each in moves}.union(*(each.candidates for each in moves))
    if nodes and nodes.isdisjoint(cluster.nodes.names):
        return f"none of the plan's nodes ({_some(nodes)}) is in this cluster"
    pods = {each.pod.uid: str(each.pod) for each in moves}
    if pods and pods.keys().isdisjoint(cluster.pods.uids):
        return f"none of the pods that the plan moves ({_some(pods.values())}) is in this cluster, by uid"
    return None


def _some(names: Iterable[str]) -> str:
    first, *others = sorted(names)
    return f"{excerpt(first)} and {len(others)} more" if others else excerpt(first)


def _sentence(what: str, made_of: PlanCluster | None, api_server: str) -> str:
    planned = "" if made_of is None or made_of.api_server is None else f" of {excerpt(made_of.api_server)}"
    return f"is the plan{planned} of another cluster than {api_server}: {what}; {_WHAT_TO_DO}"
