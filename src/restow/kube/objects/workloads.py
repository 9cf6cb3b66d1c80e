"""Controllers that create pods, and Services that select them."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import Int32, LabelSelector, ObjectMeta


class Ordinals(Struct, frozen=True, gc=False):
    """``ordinals`` of a StatefulSet."""

    start: Int32 = 0


class WorkloadSpec(Struct, frozen=True, gc=False, rename="camel"):
    """The part of a controller's spec that decisions read."""

    replicas: Int32 | None = None
    selector: LabelSelector | None = None
    #: Of a StatefulSet.
    pod_management_policy: str | None = None
    ordinals: Ordinals | None = None


class Workload(Struct, frozen=True, gc=False):
    """A ReplicaSet, Deployment, StatefulSet, DaemonSet or CronJob."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()


class ReplicationControllerSpec(Struct, frozen=True, gc=False):
    """Spec of a ReplicationController: its selector is a plain map of labels."""

    replicas: Int32 | None = None
    selector: dict[str, str] | None = None


class ReplicationController(Struct, frozen=True, gc=False):
    """A v1 ReplicationController."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ServiceSpec(Struct, frozen=True, gc=False):
    """The selector of a Service."""

    selector: dict[str, str] | None = None


class Service(Struct, frozen=True, gc=False):
    """A v1 Service."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ServiceSpec = ServiceSpec()
