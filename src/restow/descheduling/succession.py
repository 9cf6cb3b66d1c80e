"""What happens after an eviction: whether a controller creates the pod again, and when.

A ReplicaSet or a Job counts a pod that terminates as gone and replaces it at once, so for a while both are there. A
StatefulSet cannot: the name is taken until the old pod has vanished. A DaemonSet waits too, and so does a Job that says
so. A pod without owner is lost, and one that is over has been replaced, if at all, when it ended. Source: Kubernetes
1.36, the controllers' replacement policies.
"""

from __future__ import annotations

import enum

from restow.cluster.owners import owner_of
from restow.cluster.snapshot import Cluster
from restow.kube.objects import OwnerReference


class Succession(enum.Enum):
    """When a pod's replacement comes."""

    #: While the pod is still terminating.
    OVERLAPPING = "overlapping"
    #: Once the pod has vanished.
    AFTERWARDS = "afterwards"
    #: Never: the pod is over and was replaced long ago, or need not be.
    CLEARED = "cleared"
    #: Never: nobody knows how to create it.
    LOST = "lost"


#: Owners that have one pod of a name, or of a node, at a time.
_ONE_AT_A_TIME = ("StatefulSet", "DaemonSet")


class Successions:
    """When the replacements of one cluster's pods would come."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._owners = cluster.pods.owners
        self._over = cluster.pods.terminal
        self._known: dict[tuple[int, int, bool], Succession] = {}

    def of(self, pod: int) -> Succession:
        """When the replacement of a pod would come."""
        key = int(self._owners[pod]), int(self._cluster.pods.namespace[pod]), bool(self._over[pod])
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._find(pod)
        return known

    def _find(self, pod: int) -> Succession:
        owner = owner_of(self._cluster.pods, pod)
        if owner is not None and owner.kind in _ONE_AT_A_TIME:
            return Succession.AFTERWARDS
        if self._over[pod]:
            return Succession.CLEARED
        if owner is None:
            return Succession.LOST
        return Succession.AFTERWARDS if self._waits(pod, owner) else Succession.OVERLAPPING

    def _waits(self, pod: int, owner: OwnerReference) -> bool:
        """Whether a pod belongs to a Job that replaces pods only when they have ended."""
        pods = self._cluster.pods
        namespace = pods.tables.namespaces[pods.namespace[pod]]
        job = self._cluster.kind("Job").get((namespace, owner.name)) if owner.kind == "Job" else None
        return job is not None and job.spec.pod_replacement_policy == "Failed"
