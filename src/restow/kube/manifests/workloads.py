"""ReplicaSet, ReplicationController, StatefulSet, DaemonSet and ControllerRevision, with templates and statuses."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from restow.kube.manifests.metadata import Metadata, PodTemplate
from restow.kube.objects import Condition, Int32, Int64, LabelSelector
from restow.kube.objects.workloads import WorkloadSpec


class ReplicaSetSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Spec of a ReplicaSet."""

    replicas: Int32 = 1
    min_ready_seconds: Int32 = 0
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()


class ReplicaSetStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Status of a ReplicaSet or a ReplicationController."""

    replicas: Int32 = 0
    fully_labeled_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    observed_generation: Int64 = 0
    conditions: tuple[Condition, ...] | None = None


class ReplicaSet(Struct, frozen=True, omit_defaults=True):
    """An apps/v1 ReplicaSet."""

    metadata: Metadata = Metadata()
    spec: ReplicaSetSpec = ReplicaSetSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class ReplicationControllerSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Spec of a ReplicationController: its selector is a plain map of labels."""

    replicas: Int32 = 1
    min_ready_seconds: Int32 = 0
    selector: dict[str, str] | None = None
    template: PodTemplate = PodTemplate()


class ReplicationController(Struct, frozen=True, omit_defaults=True):
    """A v1 ReplicationController."""

    metadata: Metadata = Metadata()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()
    status: ReplicaSetStatus = ReplicaSetStatus()


class RollingUpdate(Struct, frozen=True, rename="camel", omit_defaults=True):
    """``rollingUpdate`` of a StatefulSet (partition) or a DaemonSet (the others); counts or percentages."""

    partition: Int32 = 0
    max_unavailable: Int32 | str | None = None
    max_surge: Int32 | str = 0


class UpdateStrategy(Struct, frozen=True, rename="camel", omit_defaults=True):
    """``updateStrategy`` of a StatefulSet or a DaemonSet."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class StatefulSetSpec(WorkloadSpec, frozen=True, rename="camel", omit_defaults=True):
    """Spec of a StatefulSet."""

    min_ready_seconds: Int32 = 0
    template: PodTemplate = PodTemplate()  # type: ignore[assignment]  # whole, not what decisions read
    update_strategy: UpdateStrategy = UpdateStrategy()  # type: ignore[assignment]
    revision_history_limit: Int32 = 10
    volume_claim_templates: tuple[dict[str, Any], ...] | None = None
    service_name: str = ""


class StatefulSetStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Status of a StatefulSet."""

    replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    current_replicas: Int32 = 0
    updated_replicas: Int32 = 0
    current_revision: str = ""
    update_revision: str = ""
    observed_generation: Int64 = 0


class StatefulSet(Struct, frozen=True, omit_defaults=True):
    """An apps/v1 StatefulSet."""

    metadata: Metadata = Metadata()
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class DaemonSetSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Spec of a DaemonSet."""

    min_ready_seconds: Int32 = 0
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()
    update_strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: Int32 = 10


class DaemonSetStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Status of a DaemonSet."""

    current_number_scheduled: Int32 = 0
    desired_number_scheduled: Int32 = 0
    number_misscheduled: Int32 = 0
    number_ready: Int32 = 0
    number_available: Int32 = 0
    number_unavailable: Int32 = 0
    updated_number_scheduled: Int32 = 0
    observed_generation: Int64 = 0


class DaemonSet(Struct, frozen=True, omit_defaults=True):
    """An apps/v1 DaemonSet."""

    metadata: Metadata = Metadata()
    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()


class RevisedSpec(Struct, frozen=True, omit_defaults=True):
    """What a ControllerRevision keeps of a spec."""

    template: PodTemplate = PodTemplate()


class RevisionData(Struct, frozen=True, omit_defaults=True):
    """``data`` of a ControllerRevision."""

    spec: RevisedSpec = RevisedSpec()


class ControllerRevision(Struct, frozen=True, omit_defaults=True):
    """An apps/v1 ControllerRevision: a template that a StatefulSet or a DaemonSet has or had."""

    metadata: Metadata = Metadata()
    data: RevisionData = RevisionData()
    revision: Int64 = 0
