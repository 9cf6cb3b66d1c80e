"""What happens after an eviction: whether a controller creates the pod again, and when.

A ReplicaSet or a Job counts a pod that terminates as gone and replaces it at once, so for a while both are there. A
StatefulSet cannot: the name is taken until the old pod has vanished. A DaemonSet waits too, and so does a Job that says
so. A pod without owner is lost, and so is one of a Job that only waits for its last pods: without ``completions`` it
creates none once one has succeeded. A pod that is over has been replaced, if at all, when it ended. Source: Kubernetes
1.36, the controllers' replacement policies.
"""

from __future__ import annotations

import enum

from restow.cluster.owners import owner_of
from restow.cluster.snapshot import Cluster
from restow.kube.objects import Job


class ReplacementPolicy(enum.Enum):
    """When a pod's replacement comes."""

    #: While the pod is still terminating.
    OVERLAPPING = "overlapping"
    #: Once the pod has vanished.
    AFTERWARDS = "afterwards"
    #: Never: the pod is over and was replaced long ago, or need not be.
    NOT_NEEDED = "cleared"
    #: Never: nobody knows how to create it.
    LOST = "lost"


#: Owners that have one pod of a name, or of a node, at a time.
_ONE_AT_A_TIME = ("StatefulSet", "DaemonSet")


class ReplacementPolicies:
    """When the replacements of one cluster's pods would come."""

    def __init__(self, cluster: Cluster) -> None:
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
        owner = owner_of(self._cluster.pods, pod)
        if owner is not None and owner.kind in _ONE_AT_A_TIME:
            return ReplacementPolicy.AFTERWARDS
        if self._pods.is_over(pod):
            return ReplacementPolicy.NOT_NEEDED
        if owner is None:
            return ReplacementPolicy.LOST
        job = job_of(self._cluster, pod)
        if job is None:
            return ReplacementPolicy.OVERLAPPING
        if job.spec.completions is None and job.status.succeeded:
            return ReplacementPolicy.LOST
        return ReplacementPolicy.AFTERWARDS if replaces_only_ended(job) else ReplacementPolicy.OVERLAPPING


def job_of(cluster: Cluster, pod: int) -> Job | None:
    """The Job that controls a pod, if one does and the input holds it."""
    pods = cluster.pods
    owner = owner_of(pods, pod)
    if owner is None or owner.kind != "Job":
        return None
    job: Job | None = cluster.kind("Job").get((pods.tables.namespaces[pods.namespace[pod]], owner.name))
    return job


def replaces_only_ended(job: Job) -> bool:
    """Whether a Job replaces, and counts as failed, only pods that have ended, and none that terminate."""
    return job.spec.pod_replacement_policy == "Failed" or job.spec.pod_failure_policy is not None
