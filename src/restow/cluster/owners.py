"""Owners: who controls which pods, and how far up the input can tell.

``OwnerCounts`` counts pods by owner uid, which is what minReplicas asks. ``workload_of`` climbs from a pod's owner to
the workload that people know (ReplicaSet to Deployment, Job to CronJob) as far as the input holds the objects.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray, Interner
from restow.cluster.pods import Pods
from restow.cluster.snapshot import Cluster
from restow.kube.objects import OwnerReference

#: Kinds that are themselves made by a workload.
_INTERMEDIATE = ("ReplicaSet", "Job")


class OwnerCounts:
    """How many existing pods name each owner uid, kept up to date by being told; lists of owners that come are taken in."""

    def __init__(self, pods: Pods, exists: BoolArray) -> None:
        self._pods = pods
        self._interner: Interner[str] = Interner()
        #: The owner uids of each distinct list of owners, without repeats.
        self._uids: list[npt.NDArray[np.int64]] = []
        #: The only owner uid of each list, -1 where there is not exactly one; int64[list of owners].
        self._only: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._counts: npt.NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._meet_new_lists()
        self._counts = self._counted(exists)

    def siblings(self, pods: IntArray) -> npt.NDArray[np.int64]:
        """How many existing pods name each pod's only owner, itself included; -1 without exactly one owner."""
        if len(self._uids) < len(self._pods.tables.owners):
            self._meet_new_lists()
        owner = self._only[self._pods.owners[pods]]
        return np.where(owner >= 0, self._counts[owner], -1) if len(self._counts) else np.full(len(pods), -1)

    def of_pod(self, pod: int) -> npt.NDArray[np.int64]:
        """How many existing pods name each of a pod's owners."""
        if self._pods.owners[pod] >= len(self._uids):
            self._meet_new_lists()
        counts: npt.NDArray[np.int64] = self._counts[self._uids[self._pods.owners[pod]]]
        return counts

    def change(self, pod: int, more: int) -> None:
        """A pod came (1) or went (-1)."""
        owners = self._pods.owners[pod]
        if owners >= len(self._uids):
            self._meet_new_lists()
        self._counts[self._uids[owners]] += more

    def validate(self, exists: BoolArray) -> None:
        """Count anew and compare; AssertionError where a count differs."""
        self._meet_new_lists()
        assert np.array_equal(self._counted(exists), self._counts), "the counts of owners differ from the pods"

    def _counted(self, exists: BoolArray) -> npt.NDArray[np.int64]:
        pods = np.bincount(self._pods.owners[exists], minlength=len(self._uids))
        counts = np.zeros_like(self._counts)
        for owners, number in zip(self._uids, pods, strict=True):
            counts[owners] += number
        return counts

    def _meet_new_lists(self) -> None:
        new = self._pods.tables.owners[len(self._uids) :]
        uids = [sorted({self._interner.id(owner.uid) for owner in owners}) for owners in new]
        only = [each[0] if len(owners) == 1 else -1 for each, owners in zip(uids, new, strict=True)]
        self._uids += [np.array(each, dtype=np.int64) for each in uids]
        self._only = np.append(self._only, np.array(only, dtype=np.int64))
        self._counts = np.append(self._counts, np.zeros(len(self._interner) - len(self._counts), dtype=np.int64))


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


def controller_of(owners: Iterable[OwnerReference]) -> OwnerReference | None:
    """The owner that controls an object; None if none does."""
    return next((owner for owner in owners if owner.controller), None)


def _controller(owners: tuple[OwnerReference, ...]) -> OwnerReference:
    return next((owner for owner in owners if owner.controller), owners[0])
