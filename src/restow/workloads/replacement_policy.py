"""What happens after an eviction: whether a controller creates the pod again, and when.

That is what the controller does when it sees the pod terminate, and when it has vanished, asked of a controller that
wants no other pod. A ReplicaSet or a Job replaces a terminating pod at once, so for a while both are there. A StatefulSet
cannot: the name is taken until the old pod has vanished. A DaemonSet waits too, and so does a Job that says so. A pod that
is over has been replaced, if at all, when it ended. A pod is lost that has no owner, or one that wants no pods any more:
it is scaled to zero, suspended, finished or being deleted, or waits for its last pods only.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from msgspec import structs

from restow.cluster.interning import BoolArray
from restow.cluster.owners import owner_of
from restow.cluster.pod_values import Phase
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.objects import Job, ObjectMeta, OwnerReference, ReplicationController, Workload
from restow.kube.objects.workloads import WorkloadSpec
from restow.workloads import stateful_sets
from restow.workloads.controlled_pods import NOTHING, Actions, ControlledPod
from restow.workloads.daemon_sets import daemon_set
from restow.workloads.jobs import job, parallelism
from restow.workloads.replica_sets import replica_set
from restow.workloads.stateful_sets import stateful_set

#: What a controller does about the pods that count for it.
_Controller = Callable[[Sequence[ControlledPod]], Actions]

_KINDS = ("ReplicaSet", "ReplicationController", stateful_sets.KIND, "DaemonSet", "Job")
#: The pod of which the controllers are asked, which is the first of a StatefulSet.
_NAME = "pod"
_RUNNING = ControlledPod(f"{_NAME}-0")
_TERMINATING = replace(_RUNNING, terminating=True)
_OVER = replace(_RUNNING, phase=Phase.FAILED)
_ONE_NODE: BoolArray = np.ones(1, dtype=bool)


class ReplacementPolicy(enum.Enum):
    """When a pod's replacement comes."""

    #: While the pod is still terminating.
    OVERLAPPING = "overlapping"
    #: Once the pod has vanished.
    AFTERWARDS = "afterwards"
    #: Never: the pod is over and was replaced long ago, or need not be.
    NOT_NEEDED = "not needed"
    #: Never: no controller would create it.
    NONE = "none"


class ReplacementPolicies:
    """When the replacements of one cluster's pods would come."""

    def __init__(self, cluster: ClusterSnapshot) -> None:
        self._cluster = cluster
        self._pods = cluster.pods
        self._known: dict[tuple[int, int, int], ReplacementPolicy] = {}

    def of(self, pod: int) -> ReplacementPolicy:
        """When the replacement of a pod would come."""
        key = int(self._pods.owners[pod]), int(self._pods.namespace[pod]), int(self._pods.phase[pod])
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._find(pod)
        return known

    def _find(self, pod: int) -> ReplacementPolicy:
        owner = owner_of(self._pods, pod)
        controller = _creates_nothing if owner is None else self._controller(pod, owner)
        over = self._pods.is_over(pod)
        if not over and controller((_TERMINATING,)).create:
            return ReplacementPolicy.OVERLAPPING
        if controller(()).create and not controller((_OVER if over else _RUNNING,)).create:
            return ReplacementPolicy.AFTERWARDS
        return ReplacementPolicy.NOT_NEEDED if over else ReplacementPolicy.NONE

    def _controller(self, pod: int, owner: OwnerReference) -> _Controller:
        """The controller of a pod, as if it wanted only that pod; an unknown one counts as a ReplicaSet."""
        namespace = self._pods.tables.namespaces[self._pods.namespace[pod]]
        found = self._cluster.kind(owner.kind).get((namespace, owner.name)) if owner.kind in _KINDS else None
        if found is not None and found.metadata.deletion_timestamp is not None:
            return _creates_nothing
        match owner.kind:
            case "DaemonSet":
                return partial(daemon_set, _ONE_NODE, _ONE_NODE)
            case "Job":
                return partial(job, _of_one_pod(found or Job()), now=0)
            case stateful_sets.KIND:
                return partial(
                    stateful_set, Workload(ObjectMeta(name=_NAME), WorkloadSpec(replicas=_at_most_one(found)))
                )
        return partial(replica_set, _at_most_one(found), now=0)


def _creates_nothing(_pods: Sequence[ControlledPod]) -> Actions:
    """A controller that creates nothing."""
    return NOTHING


def _at_most_one(found: Workload | ReplicationController | None) -> int:
    return 1 if found is None or found.spec.replicas is None else min(found.spec.replicas, 1)


def _of_one_pod(wire: Job) -> Job:
    return structs.replace(wire, spec=structs.replace(wire.spec, parallelism=min(parallelism(wire), 1)))
