"""Controllers, the templates that they make pods of, autoscalers, and Services that select pods.

A template has the fields of a pod, and of those only what decisions read. Its raw parts are copied out of their page
(``without_page``), so that a controller keeps no page alive.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from msgspec import Raw, Struct, field, structs

from restow.kube.objects.metadata import ABSENT, Condition, Int32, Int64, LabelSelector, ObjectMeta, WireQuantity
from restow.kube.objects.pods import PodAnnotations, PodSpec

T = TypeVar("T", bound=Struct)

#: Types of fields that keep no page alive.
_PLAIN: Final = frozenset((str, int, float, bool, dict))


class TemplateMeta(Struct, frozen=True, gc=False):
    """The metadata of a template."""

    labels: dict[str, str] | None = None
    annotations: PodAnnotations | None = None


class PodTemplate(Struct, frozen=True, gc=False):
    """``spec.template`` of a controller."""

    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class RevisedSpec(Struct, frozen=True, gc=False):
    """What a ControllerRevision keeps of a spec."""

    template: PodTemplate | None = None


class RevisionData(Struct, frozen=True, gc=False):
    """``data`` of a ControllerRevision."""

    spec: RevisedSpec = RevisedSpec()


class ControllerRevision(Struct, frozen=True, gc=False):
    """An apps/v1 ControllerRevision: a template that a StatefulSet or a DaemonSet has or had."""

    metadata: ObjectMeta = ObjectMeta()
    data: RevisionData = RevisionData()
    revision: Int64 = 0


class RollingUpdate(Struct, frozen=True, gc=False):
    """``rollingUpdate`` of a StatefulSet."""

    partition: Int32 | None = None


class UpdateStrategy(Struct, frozen=True, gc=False, rename="camel"):
    """``updateStrategy`` of a StatefulSet or a DaemonSet."""

    type: str = ""
    rolling_update: RollingUpdate | None = None


class WorkloadStatus(Struct, frozen=True, gc=False, rename="camel"):
    """The part of a controller's status that decisions read: the revisions of a StatefulSet, by name."""

    current_revision: str = field(default="")
    update_revision: str = field(default="")


def without_page(value: T) -> T:
    """A copy with raw parts that keep nothing else alive."""
    changed: dict[str, Any] = {}
    for name in value.__struct_fields__:
        found = getattr(value, name)
        # Most fields of a template are absent, and a call for each of them would cost more than all the others.
        if found is None or found is ABSENT or type(found) in _PLAIN:
            continue
        changed[name] = found.copy() if isinstance(found, Raw) else _copied(found)
    return structs.replace(value, **changed) if changed else value


def _copied(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_copied(each) for each in value])
    if isinstance(value, Raw):
        return value.copy()
    return without_page(value) if isinstance(value, Struct) else value


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
    metadata: ObjectMeta = ObjectMeta()
    spec: ReplicationControllerSpec = ReplicationControllerSpec()


class ServiceSpec(Struct, frozen=True, gc=False):
    """The selector of a Service."""

    selector: dict[str, str] | None = None


class Service(Struct, frozen=True, gc=False):
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
    failed: Int32 = 0
    succeeded: Int32 = 0
    uncounted_terminated_pods: UncountedPods | None = None
    conditions: tuple[Condition, ...] | None = None
    #: Of an indexed Job, as in ``0,2-5``.
    completed_indexes: str | None = None
    failed_indexes: str | None = None


class Job(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()


class TargetRef(Struct, frozen=True, gc=False):
    """``spec.targetRef``: the topmost controller of the pods, in the namespace of the VerticalPodAutoscaler."""

    kind: str = ""
    name: str = ""


class VerticalUpdatePolicy(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.updatePolicy``."""

    update_mode: str | None = None


class ContainerPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """One of ``spec.resourcePolicy.containerPolicies``; ``*`` is for all containers that have none of their own."""

    container_name: str = ""
    min_allowed: dict[str, WireQuantity] | None = None
    max_allowed: dict[str, WireQuantity] | None = None
    controlled_values: str | None = None


class VerticalResourcePolicy(Struct, frozen=True, gc=False, rename="camel"):
    """``spec.resourcePolicy``."""

    container_policies: tuple[ContainerPolicy, ...] | None = None


class VerticalSpec(Struct, frozen=True, gc=False, rename="camel"):
    target_ref: TargetRef | None = None
    update_policy: VerticalUpdatePolicy | None = None
    resource_policy: VerticalResourcePolicy | None = None


class ContainerRecommendation(Struct, frozen=True, gc=False, rename="camel"):
    """What is recommended for one container."""

    container_name: str = ""
    target: dict[str, WireQuantity] | None = None


class Recommendation(Struct, frozen=True, gc=False, rename="camel"):
    """``status.recommendation``."""

    container_recommendations: tuple[ContainerRecommendation, ...] | None = None


class VerticalStatus(Struct, frozen=True, gc=False):
    recommendation: Recommendation | None = None


class VerticalPodAutoscaler(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: VerticalSpec = VerticalSpec()
    status: VerticalStatus = VerticalStatus()
