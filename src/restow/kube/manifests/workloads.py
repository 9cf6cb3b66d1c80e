"""Controllers, Jobs and CronJobs among them, with templates, statuses and revisions."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from restow.kube.manifests.cluster_objects import Metadata, PodTemplate
from restow.kube.objects import Condition, Int32, Int64, LabelSelector, OwnerReference, SuccessPolicy
from restow.kube.objects import workloads as read
from restow.kube.objects.workloads import WorkloadSpec


class ReplicaSetSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
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
    min_ready_seconds: Int32 = 0
    template: PodTemplate = PodTemplate()  # type: ignore[assignment]  # whole, not what decisions read
    update_strategy: UpdateStrategy = UpdateStrategy()  # type: ignore[assignment]
    revision_history_limit: Int32 = 10
    volume_claim_templates: tuple[dict[str, Any], ...] | None = None
    service_name: str = ""


class StatefulSetStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    current_replicas: Int32 = 0
    updated_replicas: Int32 = 0
    current_revision: str = ""
    update_revision: str = ""
    observed_generation: Int64 = 0


class StatefulSet(Struct, frozen=True, omit_defaults=True):
    metadata: Metadata = Metadata()
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class DaemonSetSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    min_ready_seconds: Int32 = 0
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()
    update_strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: Int32 = 10


class DaemonSetStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    current_number_scheduled: Int32 = 0
    desired_number_scheduled: Int32 = 0
    number_misscheduled: Int32 = 0
    number_ready: Int32 = 0
    number_available: Int32 = 0
    number_unavailable: Int32 = 0
    updated_number_scheduled: Int32 = 0
    observed_generation: Int64 = 0


class DaemonSet(Struct, frozen=True, omit_defaults=True):
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


class RollingUpdateDeployment(Struct, frozen=True, rename="camel", omit_defaults=True):
    """``rollingUpdate`` of a Deployment: counts or percentages."""

    max_surge: Int32 | str = "25%"
    max_unavailable: Int32 | str = "25%"


class DeploymentStrategy(Struct, frozen=True, rename="camel", omit_defaults=True):
    """``strategy`` of a Deployment."""

    type: str = "RollingUpdate"
    rolling_update: RollingUpdateDeployment | None = None


class DeploymentSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    replicas: Int32 = 1
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()
    strategy: DeploymentStrategy = DeploymentStrategy()
    min_ready_seconds: Int32 = 0
    revision_history_limit: Int32 = 10
    paused: bool = False
    progress_deadline_seconds: Int32 = 600


class DeploymentCondition(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A condition of a Deployment."""

    type: str = ""
    status: str = ""
    reason: str = ""
    last_update_time: str | None = None
    last_transition_time: str | None = None


class DeploymentStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    replicas: Int32 = 0
    updated_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    unavailable_replicas: Int32 = 0
    observed_generation: Int64 = 0
    conditions: tuple[DeploymentCondition, ...] | None = None


class Deployment(Struct, frozen=True, omit_defaults=True):
    metadata: Metadata = Metadata()
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class JobSpec(read.JobSpec, frozen=True, rename="camel", omit_defaults=True):
    template: PodTemplate = PodTemplate()  # type: ignore[assignment]  # whole, not what decisions read
    selector: LabelSelector | None = None
    manual_selector: bool = False
    active_deadline_seconds: Int64 | None = None
    ttl_seconds_after_finished: Int32 | None = None
    max_failed_indexes: Int32 | None = None
    success_policy: SuccessPolicy | None = None


class JobStatus(read.JobStatus, frozen=True, rename="camel", omit_defaults=True):
    active: Int32 = 0
    ready: Int32 = 0
    terminating: Int32 = 0
    start_time: str | None = None
    completion_time: str | None = None


class Job(Struct, frozen=True, omit_defaults=True):
    metadata: Metadata = Metadata()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class JobTemplate(Struct, frozen=True, omit_defaults=True):
    """What the Jobs of a CronJob are made of."""

    metadata: Metadata = Metadata()
    spec: JobSpec = JobSpec()


class CronJobSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    schedule: str = ""
    time_zone: str | None = None
    starting_deadline_seconds: Int64 | None = None
    concurrency_policy: str = "Allow"
    suspend: bool = False
    job_template: JobTemplate = JobTemplate()
    successful_jobs_history_limit: Int32 = 3
    failed_jobs_history_limit: Int32 = 1


class CronJobStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    active: tuple[OwnerReference, ...] | None = None
    last_schedule_time: str | None = None
    last_successful_time: str | None = None


class CronJob(Struct, frozen=True, omit_defaults=True):
    metadata: Metadata = Metadata()
    spec: CronJobSpec = CronJobSpec()
    status: CronJobStatus = CronJobStatus()
