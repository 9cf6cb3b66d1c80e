"""Owners: who controls which pods, and how far up the input can tell.

``OwnerIndex`` counts pods by owner uid, which is what minReplicas asks. ``workload_of`` climbs from a pod's owner to
the workload that people know (ReplicaSet to Deployment, Job to CronJob) as far as the input holds the objects.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, Interner
from restow.cluster.pods import Pods
from restow.cluster.snapshot import Cluster
from restow.kube.objects import OwnerReference

#: Kinds that are themselves made by a workload.
_INTERMEDIATE = ("ReplicaSet", "Job")


@dataclass(slots=True, frozen=True)
class OwnerIndex:
    """Owner uids as small integers."""

    #: The owner column of the pods.
    column: npt.NDArray[np.int32]
    #: The owner uids of each distinct list of owners, without repeats.
    uids: tuple[npt.NDArray[np.int64], ...]
    #: The uid of each pod's owner where it has exactly one, else -1; int64[pod].
    sole: npt.NDArray[np.int64]
    count: int

    @staticmethod
    def of(pods: Pods) -> OwnerIndex:
        """The index of a cluster's pods."""
        interner: Interner[str] = Interner()
        lists = pods.tables.owners
        uids = [sorted({interner.id(owner.uid) for owner in owners}) for owners in lists]
        sole = [each[0] if len(owners) == 1 else -1 for each, owners in zip(uids, lists, strict=True)]
        return OwnerIndex(
            column=pods.owners,
            uids=tuple(np.array(each, dtype=np.int64) for each in uids),
            sole=np.array(sole, dtype=np.int64)[pods.owners] if sole else np.zeros(0, dtype=np.int64),
            count=len(interner),
        )

    def of_pod(self, pod: int) -> npt.NDArray[np.int64]:
        """The owner uids of a pod."""
        return self.uids[int(self.column[pod])]

    def counts(self, exists: BoolArray) -> npt.NDArray[np.int64]:
        """How many existing pods name each owner uid, int64[owner uid]."""
        pods = np.bincount(self.column[exists], minlength=len(self.uids))
        counts: npt.NDArray[np.int64] = np.zeros(self.count, dtype=np.int64)
        for owners, number in zip(self.uids, pods, strict=True):
            counts[owners] += number
        return counts


def workload_of(cluster: Cluster, pod: int) -> OwnerReference | None:
    """The workload of a pod, as far up as the input tells; None for a pod without owner."""
    pods = cluster.pods
    owner = owner_of(pods, pod)
    if owner is None or owner.kind not in _INTERMEDIATE:
        return owner
    found = cluster.kind(owner.kind).get((pods.tables.namespaces[pods.namespace[pod]], owner.name))
    above = found.metadata.owner_references if found is not None else None
    return _controller(above) if above else owner


def pods_of_workloads(cluster: Cluster, workloads: Container[str]) -> Iterator[tuple[int, str]]:
    """Yield the pods of some workloads (uids), and of which; pods without an owner belong to none."""
    owners, examples = np.unique(cluster.pods.owners, return_index=True)
    for owner, example in zip(owners.tolist(), examples.tolist(), strict=True):
        workload = workload_of(cluster, example)
        if workload is not None and workload.uid in workloads:
            for pod in np.flatnonzero(cluster.pods.owners == owner).tolist():
                yield pod, workload.uid


def owner_of(pods: Pods, pod: int) -> OwnerReference | None:
    """The owner that controls a pod, else the first of its owners; None for a pod without owner."""
    owners = pods.tables.owners[pods.owners[pod]]
    return _controller(owners) if owners else None


def _controller(owners: tuple[OwnerReference, ...]) -> OwnerReference:
    return next((owner for owner in owners if owner.controller), owners[0])
