"""ReplicaSet, ReplicationController, DaemonSet and StatefulSet: which pods each creates and deletes now.

Each kind of controller is a function: given the object and its pods as they are, it returns the pods that the
controller creates and deletes now. What it waits for shows when it is asked again, with the pods as they are then.
``NOTHING`` is the answer of controllers that have all they want, that wait, or that are being deleted.

* ReplicaSet, ReplicationController: as many active pods as there are replicas. A pod that terminates does not count, so
  it is replaced at once, next to the old one; one that is over has been replaced when it ended. Of too many pods those
  go first that would be missed least.
* DaemonSet: one pod on each node that its template is for. A pod that terminates or is over is still there, so the next
  one comes when it has vanished. Whether a node is full, cordoned or ready counts for nothing; taints do, but those of
  a node in trouble are tolerated.
* StatefulSet: one pod for each ordinal, which keeps its name. A name is taken until the old pod has vanished, so a pod
  comes again only after it, and one that is over is deleted first. ``podManagementPolicy: OrderedReady`` creates pods
  one after the other, each when all before it are ready, and takes them away from the highest ordinal down;
  ``Parallel`` does not wait.

Source: the controllers of these kinds and ActivePodsWithRanks, Kubernetes 1.36.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key, partial
from itertools import islice
from typing import Final

import numpy as np
from msgspec import Struct, field

from restow.cluster.interning import BoolArray
from restow.cluster.node_matching import matches
from restow.cluster.nodes import Nodes
from restow.cluster.pod_values import NO_TIME, Phase
from restow.cluster.pods import PENDING
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import OwnerReference, ReplicationController, Toleration, Workload
from restow.kube.taints import HARD_EFFECTS, all_tolerated

#: How many pods a controller creates or deletes at a time, at most.
BURST: Final = 500
#: An annotation of pods: those with lower numbers go first.
DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_OVER = (Phase.SUCCEEDED, Phase.FAILED)


class ControlledPod(Struct, frozen=True):
    """One pod of a controller."""

    name: str
    uid: str = ""
    phase: Phase = Phase.RUNNING
    #: Whether its deletion has begun.
    terminating: bool = False
    ready: bool = True
    #: The index of its node, PENDING if it has none.
    node: int = 0
    #: The annotation ``DELETION_COST``.
    deletion_cost: int = 0
    #: The most restarts that a container of it has had.
    restarts: int = 0
    #: When it was created and since when it is ready, nanoseconds since the epoch.
    created: int = NO_TIME
    ready_since: int = NO_TIME
    #: Of an indexed Job: its completion index.
    index: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has succeeded or failed."""
        return self.phase in _OVER

    @property
    def is_active(self) -> bool:
        """Whether it counts as there: not over, and not terminating."""
        return not self.is_over and not self.terminating


class NewPod(Struct, frozen=True):
    """A pod that a controller creates from its template."""

    #: Of a StatefulSet the ordinal, of an indexed Job the completion index.
    index: int | None = None
    #: Of a DaemonSet the only node that it may go to.
    node: int | None = None


class Actions(Struct, frozen=True):
    """What a controller does now, in this order: at most ``BURST`` of each, the rest when it is asked again."""

    create: list[NewPod] = field(default_factory=list)
    delete: list[ControlledPod] = field(default_factory=list)


NOTHING = Actions()


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


_TOLERATED = {
    "NoExecute": ("not-ready", "unreachable"),
    "NoSchedule": ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"),
}
#: What every pod of a DaemonSet tolerates.
ADDED_TOLERATIONS: Final = tuple(
    Toleration(key=f"node.kubernetes.io/{taint}", operator="Exists", effect=effect)
    for effect, taints in _TOLERATED.items()
    for taint in taints
)
#: What those of one with ``hostNetwork`` tolerate in addition.
ADDED_ON_HOST_NETWORK: Final = Toleration(
    key="node.kubernetes.io/network-unavailable", operator="Exists", effect="NoSchedule"
)
#: Taints that an existing pod has to tolerate too.
EXPELLING: Final = ("NoExecute",)


def runs_on(nodes: Nodes, selection: NodeSelection, tolerations: Sequence[Toleration]) -> BoolArray:
    """The nodes that get a pod of a template, bool[node]; ``tolerations`` include those that are added."""
    return matches(selection, nodes) & _tolerated(nodes, tolerations, HARD_EFFECTS)


def stays_on(nodes: Nodes, selection: NodeSelection, tolerations: Sequence[Toleration]) -> BoolArray:
    """The nodes where a pod that is there may stay, bool[node]."""
    return matches(selection, nodes) & _tolerated(nodes, tolerations, EXPELLING)


def daemon_set(wanted: BoolArray, allowed: BoolArray, pods: Sequence[ControlledPod]) -> Actions:
    """What the controller does now, by the nodes that get a pod and those where one may stay.

    ``node`` of a pod is the node that it was made for, whether it has been bound to it or not.
    """
    by_node: defaultdict[int, list[ControlledPod]] = defaultdict(list)
    for pod in pods:
        by_node[pod.node].append(pod)
    create = [NewPod(node=node) for node in np.flatnonzero(wanted).tolist() if node not in by_node]
    unwanted = (_surplus(there) if allowed[node] else there for node, there in sorted(by_node.items()))
    return Actions(create[:BURST], [pod for some in unwanted for pod in some if not pod.terminating][:BURST])


def _surplus(pods: Sequence[ControlledPod]) -> list[ControlledPod]:
    """All of a node's pods but the oldest of those that run."""
    over = [pod for pod in pods if pod.is_over]
    running = sorted((pod for pod in pods if pod.is_active), key=lambda pod: (pod.created, pod.name))
    return [*over, *running[1:]]


def _tolerated(nodes: Nodes, tolerations: Sequence[Toleration], effects: Collection[str]) -> BoolArray:
    tolerated = [all_tolerated(tolerations, taints, effects) for taints in nodes.taint_sets]
    return np.array(tolerated, dtype=bool)[nodes.taints]


STATEFUL_SET: Final = "StatefulSet"
_PARALLEL = "Parallel"
_NAME = re.compile(r"(?P<name>.*)-(?P<ordinal>[0-9]{1,10})")


def stateful_set(workload: Workload, pods: Sequence[ControlledPod]) -> Actions:
    """What the controller does now; pods whose name has no ordinal are not looked at."""
    spec = workload.spec
    first = spec.ordinals.start if spec.ordinals is not None else 0
    wanted = range(first, first + (1 if spec.replicas is None else spec.replicas))
    known = dict(_by_ordinal(workload.metadata.name, pods))
    ordered = spec.pod_management_policy != _PARALLEL
    surplus = sorted(ordinal for ordinal in known if ordinal not in wanted)
    if not ordered:
        return _all_at_once(wanted, known, surplus)
    for ordinal in wanted:
        step = _next_step(ordinal, known.get(ordinal))
        if step is not None:
            return step
    return _shrink([known[ordinal] for ordinal in surplus])


def ordinal_of(name: str, pod: str) -> int | None:
    """The ordinal of a pod of a StatefulSet by their names; None if the pod's name is not of that kind."""
    found = _NAME.fullmatch(pod)
    return int(found["ordinal"]) if found and found["name"] == name else None


def _by_ordinal(name: str, pods: Sequence[ControlledPod]) -> Iterator[tuple[int, ControlledPod]]:
    for pod in pods:
        ordinal = ordinal_of(name, pod.name)
        if ordinal is not None:
            yield ordinal, pod


def _all_at_once(wanted: range, known: Mapping[int, ControlledPod], surplus: Iterable[int]) -> Actions:
    missing = (NewPod(index=ordinal) for ordinal in wanted if ordinal not in known)
    over = (known[ordinal] for ordinal in sorted(known) if ordinal in wanted and known[ordinal].is_over)
    delete = [pod for pod in (*over, *(known[each] for each in surplus)) if not pod.terminating]
    return Actions(list(islice(missing, BURST)), delete[:BURST])


def _next_step(ordinal: int, pod: ControlledPod | None) -> Actions | None:
    """What is done, maybe only waited for, before the next ordinal; None where the pod is as it should be."""
    if pod is None:
        return Actions(create=[NewPod(index=ordinal)])
    if pod.is_over and not pod.terminating:
        return Actions(delete=[pod])
    return None if _is_healthy(pod) else NOTHING


def _shrink(surplus: Sequence[ControlledPod]) -> Actions:
    """Take one pod away, the last of those that are too many; if it is not healthy, only where no other is."""
    if not surplus or any(pod.terminating for pod in surplus):
        return NOTHING
    last = surplus[-1]
    unhealthy = [pod for pod in surplus if not _is_healthy(pod)]
    return Actions(delete=[last]) if _is_healthy(last) or unhealthy[0] is last else NOTHING


def _is_healthy(pod: ControlledPod) -> bool:
    return pod.phase is Phase.RUNNING and pod.ready and not pod.terminating
