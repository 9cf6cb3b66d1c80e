"""VolumeRestrictions: some disks bear one pod a node, and some claims one pod in the whole cluster.

A disk that a pod names itself (GCE PD, AWS EBS, iSCSI, Ceph RBD) conflicts with the same disk of a pod on the node,
unless both only read it; EBS has no such exception. A claim with access mode ReadWriteOncePod that a pod uses anywhere
rejects every node. Source: Kubernetes 1.36.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pod_columns import PodIndex
from restow.cluster.pod_values import Disk, PodVolume
from restow.cluster.snapshot import Key
from restow.kube.objects import AWSElasticBlockStore, GCEPersistentDisk, ISCSIVolume
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.framework.extension_points import PASSES, PROCEED, SKIP, FilterResult, Outcome, PreFiltered
from restow.scheduling.framework.minors import CLAIM_IN_USE_REASON, holds
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, PodFacts, Resource
from restow.scheduling.volumes.storage import VolumePlugin, names_claim, not_found

NAME = "VolumeRestrictions"

_ONE_POD = "ReadWriteOncePod"
_DISK_CONFLICT = Outcome(("node(s) had no available disk",))
_IN_USE = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
)
_CLAIM_IN_USE = Outcome((_IN_USE,))
#: Up to 1.33.
_CLAIM_WAS_IN_USE = Outcome(
    ("node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",)
)


class VolumeRestrictions(VolumePlugin):
    """Filter."""

    name = NAME

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._state = context.state
        in_use = _CLAIM_IN_USE if holds(CLAIM_IN_USE_REASON, context.state.cluster) else _CLAIM_WAS_IN_USE
        self._outcomes = _DISK_CONFLICT, in_use

    def prefilter(self, pod: int) -> PreFiltered:
        """Fail where a claim is missing; skip pods without disks and without claims that another pod holds."""
        volumes = self._storage.volumes_of(pod)
        if not volumes:
            return SKIP
        for volume in volumes:
            if volume.is_named_claim and self._storage.claim(pod, volume) is None:
                return PreFiltered(failure=not_found("persistentvolumeclaim", volume.claim))
        needed = any(volume.disk is not None for volume in volumes) or self._is_claim_in_use(pod)
        return PROCEED if needed else SKIP

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes where a pod has a conflicting disk, then all of them for a claim in use."""
        conflicting = np.zeros(len(self._state.cluster.nodes), dtype=bool)
        for volume in self._storage.volumes_of(pod):
            if volume.disk is not None:
                others = self._counted(self._users_of_disks.of(_identity(volume.disk)))
                found = [other for other in others.tolist() if self._has_conflict(volume.disk, other)]
                conflicting[self._state.node[found]] = True
        otherwise = 1 if self._is_claim_in_use(pod) else PASSES
        return FilterResult(np.where(conflicting[nodes], 0, otherwise), self._outcomes)

    def _is_claim_in_use(self, pod: int) -> bool:
        return any(self._is_in_use(pod, volume) for volume in self._storage.volumes_of(pod) if volume.is_named_claim)

    def _is_in_use(self, pod: int, volume: PodVolume) -> bool:
        claim = self._storage.claim(pod, volume)
        if claim is None or _ONE_POD not in (claim.spec.access_modes or ()):
            return False
        return len(self._counted(self._users_of_claims.of(self._storage.claim_key(pod, volume)))) > 0

    def _counted(self, pods: list[int]) -> IntArray:
        """Those of some pods that hold their volumes on a known node."""
        users: IntArray = np.array(pods, dtype=np.int64)
        return users[self._state.holding(users) & (self._state.node[users] >= 0)]

    def _has_conflict(self, disk: Disk, other: int) -> bool:
        """Whether a pod has a disk of the same identity that cannot share a node with this one."""
        disks = [each.disk for each in self._storage.volumes_of(other) if each.disk is not None]
        return any(_identity(each) == _identity(disk) and _conflict(disk, each) for each in disks)

    @cached_property
    def _users_of_claims(self) -> PodIndex[Key]:
        return PodIndex(
            self._state.cluster.pods,
            self._storage.with_volumes,
            lambda pods: (
                [self._storage.claim_key(pod, each) for each in self._storage.volumes_of(pod) if each.is_named_claim]
                for pod in pods
            ),
        )

    @cached_property
    def _users_of_disks(self) -> PodIndex[tuple[str, ...]]:
        return PodIndex(
            self._state.cluster.pods,
            self._storage.with_volumes,
            lambda pods: (
                [_identity(each.disk) for each in self._storage.volumes_of(pod) if each.disk is not None]
                for pod in pods
            ),
        )


def _identity(disk: Disk) -> tuple[str, ...]:
    """Disks that are the same have the same identity; for RBD a monitor has to be shared too."""
    if isinstance(disk, GCEPersistentDisk):
        return "gce", disk.pd_name
    if isinstance(disk, AWSElasticBlockStore):
        return "aws", disk.volume_id
    if isinstance(disk, ISCSIVolume):
        return "iscsi", disk.iqn
    return "rbd", disk.pool, disk.image


def _conflict(one: Disk, other: Disk) -> bool:
    """Whether two disks of the same identity cannot be on one node."""
    if isinstance(one, AWSElasticBlockStore) or isinstance(other, AWSElasticBlockStore):
        return True
    if one.read_only and other.read_only:
        return False
    mine, theirs = getattr(one, "monitors", None), getattr(other, "monitors", None)
    return isinstance(one, GCEPersistentDisk | ISCSIVolume) or not set(mine or ()).isdisjoint(theirs or ())


def _frees_volume(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: a pod of the namespace is gone that had a disk which conflicts with one of the pod's, or the same claim.

    Whether the claim is for one pod at a time is not asked.
    """
    old: PodFacts = event.old
    if old.namespace != pod.namespace:
        return False
    claims = {each.claim for each in pod.volumes if each.is_named_claim}
    if any(each.claim in claims for each in old.volumes if each.is_named_claim):
        return True
    mine, theirs = ([each.disk for each in one.volumes if each.disk is not None] for one in (pod, old))
    return any(_identity(disk) == _identity(other) and _conflict(disk, other) for disk in mine for other in theirs)


PLUGIN = SchedulerPlugin(
    NAME,
    ("preFilter", "filter"),
    lambda context, _args: VolumeRestrictions(context),
    dependent=("filter",),
    interests=(
        Interest(Resource.POD, Action.DELETE, _frees_volume, "a pod goes that uses one of its disks or claims"),
        Interest(Resource.NODE, Action.ADD, words="a node is added"),
        Interest(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, names_claim, "one of its claims is added"),
    ),
)
