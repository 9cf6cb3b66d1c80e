"""ReplicaSet and ReplicationController: as many active pods as there are replicas.

A pod that terminates does not count, so it is replaced at once, next to the old one; one that is over has been replaced
when it ended. Of too many pods those go first that would be missed least. Source: ReplicaSet controller and
ActivePodsWithRanks, Kubernetes 1.36.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cmp_to_key, partial

from restow.cluster.pod_values import NO_TIME, Phase
from restow.cluster.pods import PENDING
from restow.kube.objects import OwnerReference, ReplicationController, Workload
from restow.workloads.controlled_pods import BURST, Actions, ControlledPod, NewPod

_KINDS = ("ReplicaSet", "ReplicationController")
#: Pods in other phases are deleted before those that run.
_PHASES: Mapping[Phase, int] = {Phase.PENDING: 0, Phase.UNKNOWN: 1, Phase.RUNNING: 2}


def replica_set(
    replicas: int, pods: Sequence[ControlledPod], now: int, related: Iterable[ControlledPod] = ()
) -> Actions:
    """What the controller does now; ``related`` are the other pods of the same Deployment."""
    active = [pod for pod in pods if pod.is_active]
    surplus = len(active) - replicas
    if surplus <= 0:
        return Actions(create=[NewPod()] * min(-surplus, BURST))
    return Actions(delete=deletion_order(active, now, related)[: min(surplus, BURST)])


def wanted_replicas(found: Workload | ReplicationController | None, owner: OwnerReference) -> int | None:
    """How many pods an owner wants; None if it is not of these kinds, or ``found`` by its name is not that owner."""
    if owner.kind not in _KINDS or found is None or found.metadata.uid != owner.uid:
        return None
    if found.metadata.deletion_timestamp is not None:
        return 0
    return 1 if found.spec.replicas is None else int(found.spec.replicas)


def deletion_order(
    active: Sequence[ControlledPod], now: int, related: Iterable[ControlledPod] = ()
) -> list[ControlledPod]:
    """Active pods, the one first that a controller with too many pods deletes first.

    Pods come earlier that have no node, that do not run, that are not ready, whose deletion cost is lower, that share
    their node with more pods of the same Deployment, that have not been ready for long, that have restarted more often,
    and that are younger. Times count by their magnitude, so that not always the youngest has to go.
    """
    on_node = Counter(pod.node for pod in (*active, *related) if pod.is_active)

    def expendable(pod: ControlledPod) -> tuple[int, ...]:
        phase = _PHASES.get(pod.phase, 0)
        return int(pod.node != PENDING), phase, int(pod.ready), pod.deletion_cost, -on_node[pod.node]

    ranked = sorted(active, key=cmp_to_key(partial(_by_age, now=now)))
    return sorted(ranked, key=expendable)


def _by_age(one: ControlledPod, other: ControlledPod, now: int) -> int:
    """Negative if one pod goes before another with which it is equal in all other respects."""
    if one.ready and other.ready and one.ready_since != other.ready_since:
        return _younger(one.ready_since, other.ready_since, now) or _by_uid(one, other)
    if one.restarts != other.restarts:
        return other.restarts - one.restarts
    if one.created != other.created:
        return _younger(one.created, other.created, now) or _by_uid(one, other)
    return 0


def _younger(one: int, other: int, now: int) -> int:
    """Negative if a time is later than another by an order of magnitude, seen from now; no time at all is latest."""
    if NO_TIME in (one, other):
        return -1 if one == NO_TIME else 1
    return _magnitude(now - one) - _magnitude(now - other)


def _magnitude(age: int) -> int:
    return int(math.log2(age)) if age > 0 else -1


def _by_uid(one: ControlledPod, other: ControlledPod) -> int:
    return -1 if one.uid < other.uid else 1
