"""Owners: who controls which pods, up to the top as far as the input shows.

``OwnerCounts`` counts pods by owner, which is what minReplicas asks. ``workload_of`` climbs from a pod's owner to the
workload that people know (ReplicaSet to Deployment, Job to CronJob) as far as the input holds the objects.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from restow.cluster.interning import BoolArray, IntArray, Interner, combine
from restow.cluster.pod_columns import PodColumn
from restow.cluster.pods import Pods
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.objects import OwnerReference

#: Kinds that are themselves made by a workload.
_INTERMEDIATE = ("ReplicaSet", "Job")
#: Stands for the namespace of owners without a uid.
_ANY: Final = -1


class OwnerCounts:
    """How many existing pods name each owner, kept up to date by notifications.

    An owner is in the namespace of its pods, so a uid that a pod of another namespace names is another owner: a user
    who may create pods may write any uid into them. Source: metadata.ownerReferences, Kubernetes 1.36.
    """

    def __init__(self, pods: Pods, exists: BoolArray) -> None:
        self._pods = pods
        #: Namespace and uid of each owner.
        self._interner: Interner[tuple[int, str]] = Interner()
        #: The owners of a namespace and a list of owners, without repeats.
        self._owners: dict[tuple[int, int], list[int]] = {}
        #: The only owner of each pod, -1 where there is not exactly one.
        self._only = PodColumn(pods, self._only_owners)
        self._counts: IntArray = np.zeros(0, dtype=np.int64)
        self._counts = self._counted(exists)

    def siblings(self, pods: IntArray) -> IntArray:
        """How many existing pods name each pod's only owner, itself included; -1 without exactly one owner."""
        owner = self._only.values[pods]
        return np.where(owner >= 0, self._known_counts()[owner], -1) if len(self._interner) else np.full(len(pods), -1)

    def of_pod(self, pod: int) -> IntArray:
        """How many existing pods name each of a pod's owners."""
        owners = self._owners_of(self._pods.namespace.item(pod), self._pods.owners.item(pod))
        counts: IntArray = self._known_counts()[owners]
        return counts

    def change(self, pod: int, more: int) -> None:
        """A pod came (1) or went (-1)."""
        owners = self._owners_of(self._pods.namespace.item(pod), self._pods.owners.item(pod))
        self._known_counts()[owners] += more

    def validate(self, exists: BoolArray) -> None:
        """Recount and compare; AssertionError where a count differs."""
        counted = self._counted(exists)
        assert np.array_equal(counted, self._known_counts()), "the counts of owners differ from the pods"

    def _known_counts(self) -> IntArray:
        """The counts of all owners that there are."""
        new = len(self._interner) - len(self._counts)
        if new:
            self._counts = np.append(self._counts, np.zeros(new, dtype=np.int64))
        return self._counts

    def _counted(self, exists: BoolArray) -> IntArray:
        pods = self._pods
        group, table = combine(pods.namespace[exists], pods.owners[exists])
        sizes = np.bincount(group, minlength=len(table)).tolist()
        found = [self._owners_of(namespace, owners) for namespace, owners in table.tolist()]
        counts = [0] * len(self._interner)
        for owners, number in zip(found, sizes, strict=True):
            for owner in owners:
                counts[owner] += number
        return np.array(counts, dtype=np.int64)

    def _owners_of(self, namespace: int, owners: int) -> list[int]:
        known = self._owners.get((namespace, owners))
        if known is None:
            # An API server accepts no owner without a uid; in a file, all of these are one, as for the Descheduler.
            named = {(namespace if each.uid else _ANY, each.uid) for each in self._pods.tables.owners[owners]}
            known = self._owners[namespace, owners] = sorted(map(self._interner.id, named))
        return known

    def _only_owners(self, rows: IntArray) -> IntArray:
        if len(rows) == 1:
            return np.array([self._only_owner(self._pods.namespace.item(rows[0]), self._pods.owners.item(rows[0]))])
        pairs, table = combine(self._pods.namespace[rows], self._pods.owners[rows])
        only: IntArray = np.array([self._only_owner(*pair) for pair in table.tolist()], dtype=np.int64)
        return only[pairs] if len(only) else only

    def _only_owner(self, namespace: int, owners: int) -> int:
        """The owner of a namespace and a list of owners; -1 where there is not exactly one."""
        return self._owners_of(namespace, owners)[0] if len(self._pods.tables.owners[owners]) == 1 else -1


def workload_of(cluster: ClusterSnapshot, pod: int) -> OwnerReference | None:
    """The topmost workload of a pod that the input shows; None for a pod without owner."""
    pods = cluster.pods
    owner = owner_of(pods, pod)
    if owner is None or owner.kind not in _INTERMEDIATE:
        return owner
    found = cluster.kind(owner.kind).get((pods.tables.namespaces[pods.namespace[pod]], owner.name))
    above = found.metadata.owner_references if found is not None else None
    return (controller_of(above) or above[0]) if above else owner


def pods_of_workloads(cluster: ClusterSnapshot, workloads: Container[str]) -> Iterator[tuple[int, str]]:
    """Yield the pods of some workloads (uids), and of which; pods without an owner belong to none."""
    owners, examples = np.unique(cluster.pods.owners, return_index=True)
    for owner, example in zip(owners.tolist(), examples.tolist(), strict=True):
        workload = workload_of(cluster, example)
        if workload is not None and workload.uid in workloads:
            for pod in np.flatnonzero(cluster.pods.owners == owner).tolist():
                yield pod, workload.uid


def owner_of(pods: Pods, pod: int) -> OwnerReference | None:
    """The owner that controls a pod, else the first of its owners; None for a pod without owner."""
    return main_owner(pods.tables.owners[pods.owners[pod]])


def main_owner(owners: Sequence[OwnerReference]) -> OwnerReference | None:
    """The owner that controls, else the first; None where there are none."""
    return (controller_of(owners) or owners[0]) if owners else None


def controller_of(owners: Iterable[OwnerReference]) -> OwnerReference | None:
    """The owner that controls an object; None if none does."""
    return next((owner for owner in owners if owner.controller), None)
