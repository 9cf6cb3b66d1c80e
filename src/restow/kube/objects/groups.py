"""The group that a pod names other than by labels: annotations of batch systems, and the fields of gang scheduling."""

from __future__ import annotations

from typing import Final

from msgspec import Struct, field


class GroupAnnotations(Struct, frozen=True, gc=False):
    """The annotations of a pod that name its group or say how the group must be placed."""

    #: Volcano's PodGroup; also of schedulers that took the annotation over.
    group_name: str | None = field(default=None, name="scheduling.k8s.io/group-name")
    volcano_group_name: str | None = field(default=None, name="scheduling.volcano.sh/group-name")
    #: How many pods a group of a LeaderWorkerSet has, and the node label whose domain it has to itself.
    lws_size: str | None = field(default=None, name="leaderworkerset.sigs.k8s.io/size")
    lws_exclusive: str | None = field(default=None, name="leaderworkerset.sigs.k8s.io/exclusive-topology")
    #: The node label whose domain each Job of a JobSet has to itself.
    jobset_exclusive: str | None = field(default=None, name="alpha.jobset.sigs.k8s.io/exclusive-topology")
    #: Kueue's Workload, and how many pods a group of plain pods has.
    kueue_workload: str | None = field(default=None, name="kueue.x-k8s.io/workload")
    kueue_total_count: str | None = field(default=None, name="kueue.x-k8s.io/pod-group-total-count")


class SchedulingGroup(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.schedulingGroup``, the PodGroup that a pod is scheduled with. Source: core/v1, Kubernetes 1.36."""

    pod_group_name: str = ""


class WorkloadReference(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.workloadRef``, which came before ``schedulingGroup``. Source: core/v1, Kubernetes 1.35."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str = ""


#: Name and name on the wire of each of ``GroupAnnotations``.
GROUP_ANNOTATIONS: Final = tuple(
    (name, wire)
    for name, wire in zip(GroupAnnotations.__struct_fields__, GroupAnnotations.__struct_encode_fields__, strict=True)
)
