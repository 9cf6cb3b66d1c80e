"""Replacements: the pods that controllers would create for pods that are evicted, and when.

A plan that says where an evicted pod lands needs the pod that lands: a new one, which exists next to the old one for a
moment. Its row is made on request, right after the old one in canonical order; the pod does not exist until it is
placed. Rules see in it the next pod of the controller (``workloads.next_pod``), and nothing of the old pod's history:
it is new, healthy and has no node. Source: ReplicaSet, StatefulSet and Job, Kubernetes 1.36.

When it comes (``ReplacementPolicy``) is what the controller does when it sees the pod terminate, and when it has
vanished, asked of a controller that wants no other pod. A ReplicaSet or a Job replaces a terminating pod at once, so for
a while both are there. A StatefulSet cannot: the name is taken until the old pod has vanished. A DaemonSet waits too,
and so does a Job that says so. A pod that is over has been replaced, if at all, when it ended. A pod is lost that has no
owner, or one that wants no pods any more: it is scaled to zero, suspended, finished or being deleted, or waits for its
last pods only.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property, partial

import numpy as np
from msgspec import structs

from restow.cluster.interning import BoolArray
from restow.cluster.owners import owner_of
from restow.cluster.pod_values import Flag, Phase, PodStates, PodVolume
from restow.cluster.pods import NO_POD, PENDING, PodRow
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.cluster.state import ClusterState
from restow.kube.objects import (
    Condition,
    Job,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
    ReplicationController,
    Workload,
)
from restow.kube.objects.workloads import WorkloadSpec
from restow.workloads import controllers
from restow.workloads.controllers import NOTHING, Actions, ControlledPod, daemon_set, replica_set, stateful_set
from restow.workloads.jobs import job, parallelism
from restow.workloads.next_pod import NextPod, NextPods

#: Ends the uid of a replacement, and the name of what belongs to it alone.
_MARK = "+replacement"
_HEALTHY = PodStates(phase="Running", reason="", containers=(), init_containers=(), ephemeral_containers=())
_READY = (Condition(type="Ready", status="True"),)
#: Columns of a pod itself, not of its template.
_OF_THE_OLD_POD = Flag.TERMINATING


class Replacements:
    """The replacements of one state's pods."""

    def __init__(self, state: ClusterState, now: int, next_pods: NextPods | None = None) -> None:
        """``now`` is when replacements are created (nanoseconds since the epoch), ``next_pods`` what is known of controllers."""
        self._state = state
        self._pods = state.cluster.pods
        self._now = now
        self._next_pods = NextPods(state.cluster) if next_pods is None else next_pods
        self._known: dict[int, NextPod] = {}

    @cached_property
    def _states(self) -> int:
        return self._pods.intern("states", _HEALTHY)

    @cached_property
    def _conditions(self) -> int:
        return self._pods.intern("conditions", _READY)

    def of(self, pod: int) -> int:
        """The replacement of a pod, which may be a replacement itself."""
        known = int(self._pods.replaced_by[pod])
        return known if known != NO_POD else self._create(pod)

    def next_pod(self, pod: int) -> NextPod:
        """In what the replacement of a pod differs from the pod, and why it may be another one than is known."""
        known = self._known.get(pod)
        if known is None:
            known = self._known[pod] = self._next_pods.of(self._pods.original(pod))
        return known

    def like(self, pod: int) -> int:
        """The row in which rules see what they will see in the replacement: that of the pod if both are alike."""
        return self.of(pod) if self.next_pod(pod).changes and not self._pods.is_replacement(pod) else pod

    def signature(self, pod: int) -> Hashable:
        """Equal for pods, alike in all columns, whose replacements are alike too."""
        changes, caveat, _ = self.next_pod(pod)
        return tuple(sorted(changes.items())), caveat

    def _create(self, pod: int) -> int:
        return self._state.reserve(pod, self.changes(pod), list(self.own_claims(pod)))

    def changes(self, pod: int) -> PodRow:
        """The columns in which the pod differs that its controller creates again."""
        # The replacement of a replacement is made of the same template.
        new = {} if self._pods.is_replacement(pod) else self.next_pod(pod).changes
        uid, volumes = self._pods.uids[pod], int(new.get("volumes", self._pods.volumes[pod]))
        changed: PodRow = {
            "uids": uid and uid + _MARK,
            "held": -1,
            "node": PENDING,
            "nominated": PENDING,
            "created": self._now,
            "started": self._now,
            "phase": Phase.RUNNING,
            "states": self._states,
            "conditions": self._conditions,
            "flags": int(new.get("flags", self._pods.flags[pod])) & ~int(_OF_THE_OLD_POD),
        }
        changed = {**new, **changed}
        own = self._volumes(volumes)
        return changed if own == volumes else changed | {"volumes": own}

    def _volumes(self, volumes: int) -> int:
        """The volumes of a replacement, which names the claims of its own generic ephemeral ones."""
        mounted = self._pods.tables.volumes[volumes]
        if True not in [each.ephemeral for each in mounted]:
            return volumes
        return self._pods.intern("volumes", tuple(map(_own, mounted)))

    def own_claims(self, pod: int) -> Iterator[tuple[Key, PersistentVolumeClaim]]:
        """The claims that come with a replacement: those of the old pod's ephemeral volumes, not bound yet."""
        namespace = self._pods.tables.namespaces[self._pods.namespace[pod]]
        claims, uid = self._state.cluster.kind("PersistentVolumeClaim"), self._pods.uids[pod]
        for volume in self._pods.tables.volumes[self._pods.volumes[pod]]:
            old = claims.get((namespace, volume.claim)) if volume.ephemeral else None
            if old is not None:
                yield (namespace, volume.claim + _MARK), _unbound(old, uid and uid + _MARK)


def _own(volume: PodVolume) -> PodVolume:
    return volume._replace(claim=volume.claim + _MARK) if volume.ephemeral else volume


def _unbound(claim: PersistentVolumeClaim, uid: str) -> PersistentVolumeClaim:
    metadata = ObjectMeta(
        name=claim.metadata.name + _MARK,
        namespace=claim.metadata.namespace,
        owner_references=(OwnerReference(kind="Pod", uid=uid, controller=True),),
    )
    spec = structs.replace(claim.spec, volume_name="")
    return PersistentVolumeClaim(metadata, spec, PersistentVolumeClaimStatus(phase="Pending"))


#: What a controller does about the pods that count for it.
_Controller = Callable[[Sequence[ControlledPod]], Actions]

_KINDS = ("ReplicaSet", "ReplicationController", controllers.STATEFUL_SET, "DaemonSet", "Job")
#: The pod of which the controllers are asked, which is the first of a StatefulSet.
_NAME = "pod"
_RUNNING = ControlledPod(f"{_NAME}-0")
_TERMINATING = structs.replace(_RUNNING, terminating=True)
_OVER = structs.replace(_RUNNING, phase=Phase.FAILED)
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
            case controllers.STATEFUL_SET:
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
