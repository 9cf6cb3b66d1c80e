"""Pod: the fields that decisions read, some of them raw."""

from __future__ import annotations

from msgspec import Raw, Struct, field

from restow.kube.objects.containers import Container, ContainerReport, ContainerStatus
from restow.kube.objects.metadata import Condition
from restow.kube.objects.pod_volumes import Volume
from restow.kube.objects.wire import ABSENT, Int32, Int64


class PodAnnotations(Struct, frozen=True, gc=False):
    """The annotations that decisions read; all others are never decoded."""

    evict: str | None = field(default=None, name="descheduler.alpha.kubernetes.io/evict")
    prefer_no_eviction: str | None = field(default=None, name="descheduler.alpha.kubernetes.io/prefer-no-eviction")
    index_failures: str | None = field(default=None, name="batch.kubernetes.io/job-index-failure-count")
    mirror: str | None = field(default=None, name="kubernetes.io/config.mirror")
    source: str | None = field(default=None, name="kubernetes.io/config.source")
    request_evict_only: str | None = field(default=None, name="descheduler.alpha.kubernetes.io/request-evict-only")


class PodMeta(Struct, frozen=True, gc=False, rename="camel"):
    """The metadata of a pod; ``labels`` and ``owner_references`` stay raw because replicas share them."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: Raw = ABSENT
    annotations: PodAnnotations | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    owner_references: Raw = ABSENT


class PodSpec(Struct, frozen=True, gc=False, rename="camel"):
    """What scheduling and eviction read of a pod's spec; the raw fields are interned by the loader."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] | None = None
    volumes: tuple[Volume, ...] | None = None
    node_name: str | None = None
    node_selector: Raw = ABSENT
    affinity: Raw = ABSENT
    tolerations: Raw = ABSENT
    topology_spread_constraints: Raw = ABSENT
    resources: Raw = ABSENT
    overhead: Raw = ABSENT
    resource_claims: Raw = ABSENT
    scheduling_gates: Raw = ABSENT
    priority: Int32 | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    scheduler_name: str | None = None
    host_network: bool | None = None
    termination_grace_period_seconds: Int64 | None = None


class PodStatus(Struct, frozen=True, gc=False, rename="camel"):
    """What decisions read of a pod's status."""

    phase: str = ""
    reason: str | None = None
    qos_class: str | None = None
    start_time: str | None = None
    nominated_node_name: str | None = None
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerReport, ...] | None = None
    init_container_statuses: tuple[ContainerReport, ...] | None = None
    ephemeral_container_statuses: tuple[ContainerStatus, ...] | None = None
    resources: Raw = ABSENT
    allocated_resources: Raw = ABSENT


class Pod(Struct, frozen=True, gc=False):
    """A v1 Pod."""

    metadata: PodMeta = PodMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
