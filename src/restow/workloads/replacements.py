"""Replacements: the pods that controllers would create for pods that are evicted.

A plan that says where an evicted pod lands needs the pod that lands: a new one, which exists next to the old one for a
moment. Its row is made on request, right after the old one in canonical order; the pod does not exist until it is
placed. Rules see in it the next pod of the controller (``workloads.next_pod``), and nothing of the old pod's history:
it is new, healthy and has no node. Source: ReplicaSet, StatefulSet and Job, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property

from msgspec import structs

from restow.cluster.pod_values import Flag, Phase, PodStates, PodVolume
from restow.cluster.pods import NO_POD, PENDING, PodRow
from restow.cluster.snapshot import Key
from restow.cluster.state import ClusterState
from restow.kube.objects import (
    Condition,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
)
from restow.workloads.next_pod import NextPod, NextPods

#: Ends the uid of a replacement, and the name of what belongs to it alone.
_MARK = "+replacement"
_HEALTHY = PodStates(phase="Running", reason="", containers=(), init_containers=(), ephemeral_containers=())
_READY = (Condition(type="Ready", status="True"),)
#: Columns of a pod itself, not of its template.
_OF_THE_OLD_POD = Flag.TERMINATING


class Replacements:
    """The replacements of one state's pods."""

    def __init__(self, state: ClusterState, now: int) -> None:
        """``now`` is when replacements are created (nanoseconds since the epoch)."""
        self._state = state
        self._pods = state.cluster.pods
        self._now = now
        self._next_pods = NextPods(state.cluster)
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
        return self._state.reserve(pod, self._new_values(pod), list(self._own_claims(pod)))

    def _new_values(self, pod: int) -> PodRow:
        """The columns in which a pod that its controller creates again differs."""
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

    def _own_claims(self, pod: int) -> Iterator[tuple[Key, PersistentVolumeClaim]]:
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
