"""Controllers that create pods, Jobs among them, and Services that select pods."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import Condition, Int32, LabelSelector, ObjectMeta
from restow.kube.objects.templates import PodTemplate, UpdateStrategy, WorkloadStatus


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
    #: Of a StatefulSet or a DaemonSet.
    update_strategy: UpdateStrategy | None = None
    #: Of a Deployment.
    paused: bool | None = None
    template: PodTemplate | None = None


class Workload(Struct, frozen=True, gc=False):
    """A ReplicaSet, Deployment, StatefulSet, DaemonSet or CronJob."""

    metadata: ObjectMeta = ObjectMeta()
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()


class ReplicationControllerSpec(Struct, frozen=True, gc=False):
    """Spec of a ReplicationController: its selector is a plain map of labels."""

    replicas: Int32 | None = None
    selector: dict[str, str] | None = None
    template: PodTemplate | None = None


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


class ExitCodes(Struct, frozen=True, gc=False):
    """``onExitCodes`` of a rule: how containers have to end for it."""

    operator: str = ""
    values: tuple[Int32, ...] | None = None


class PodConditionPattern(Struct, frozen=True, gc=False):
    """One entry of ``onPodConditions`` of a rule."""

    type: str = ""
    status: str = "True"


class PodFailureRule(Struct, frozen=True, gc=False, rename="camel"):
    """A rule of ``podFailurePolicy``: what happens to a failed pod that meets its conditions."""

    action: str = ""
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[PodConditionPattern, ...] | None = None


class PodFailurePolicy(Struct, frozen=True, gc=False):
    """The first rule that a failed pod meets decides; one that meets none counts."""

    rules: tuple[PodFailureRule, ...] | None = None


class SuccessRule(Struct, frozen=True, gc=False, rename="camel"):
    """Which indexes, and how many of them, make a Job a success; without indexes, any."""

    succeeded_indexes: str | None = None
    succeeded_count: Int32 | None = None


class SuccessPolicy(Struct, frozen=True, gc=False):
    """An indexed Job has succeeded as soon as one of the rules is met."""

    rules: tuple[SuccessRule, ...] | None = None


class JobSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Spec of a Job."""

    completions: Int32 | None = None
    parallelism: Int32 | None = None
    completion_mode: str | None = None
    suspend: bool | None = None
    backoff_limit: Int32 | None = None
    backoff_limit_per_index: Int32 | None = None
    pod_replacement_policy: str | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    template: PodTemplate | None = None


class UncountedPods(Struct, frozen=True, gc=False):
    """Pods that have ended and are in no count of the status yet, by uid."""

    succeeded: tuple[str, ...] | None = None
    failed: tuple[str, ...] | None = None


class JobStatus(Struct, frozen=True, gc=False, rename="camel"):
    """Status of a Job."""

    failed: Int32 = 0
    succeeded: Int32 = 0
    uncounted_terminated_pods: UncountedPods | None = None
    conditions: tuple[Condition, ...] | None = None
    #: Of an indexed Job, as in ``0,2-5``.
    completed_indexes: str | None = None
    failed_indexes: str | None = None


class Job(Struct, frozen=True, gc=False):
    """A batch/v1 Job."""

    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()
