"""HorizontalPodAutoscalers: every so often, as many pods of a workload as what they use asks for.

What is wanted, and how far the past limits it, says ``workloads.autoscaling``; here ``autoscaling/v2`` is read
as far as it is simulated, and it is found out which pods count, and what they use. Metrics are what the scenario has
said of usage; those of a pod count once it has been ready for as long as they were collected over. An object that asks
for metrics of other types is left alone. Source: the podautoscaler controller, kube-controller-manager 1.36.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct, structs

from restow.documents.shapes import Duration
from restow.kube.decoding import path_first
from restow.kube.duration import MINUTE
from restow.kube.manifests import Other, Pod
from restow.kube.objects import Int32, WireQuantity
from restow.kube.quantity import NANO_PER_MILLI, NANO_PER_UNIT, parse_quantity
from restow.kube.timestamps import SECOND, parse_time
from restow.simulating.api_server.changes import with_spec
from restow.simulating.api_server.indexes import Key, key_of, selector_of
from restow.simulating.controllers.owned_pods import WITH_REPLICAS
from restow.simulating.virtual_cluster import VirtualCluster
from restow.workloads.autoscaling import (
    DOWN,
    UP,
    Bounds,
    MeasuredPod,
    Past,
    PodGroup,
    ScalingPolicy,
    ScalingRules,
    Tolerance,
    UsageTarget,
    limited,
    replicas_by_usage,
)

API_VERSION: Final = "autoscaling/v2"


class ScaleTarget(Struct, frozen=True, rename="camel"):
    """The workload that is scaled."""

    kind: str
    name: str


class MetricTarget(Struct, frozen=True, rename="camel"):
    """The average usage of pods to aim at."""

    average_utilization: Int32 | None = None
    average_value: WireQuantity | None = None


class ResourceMetric(Struct, frozen=True, rename="camel"):
    """A resource, and how much of it pods should use."""

    name: str
    target: MetricTarget


class Metric(Struct, frozen=True, rename="camel"):
    """One metric; of a type other than Resource nothing is read."""

    type: str
    resource: ResourceMetric | None = None


class WrittenPolicy(Struct, frozen=True, rename="camel"):
    """One scaling policy."""

    type: Literal["Pods", "Percent"]
    value: Int32
    period_seconds: Int32


class WrittenRules(Struct, frozen=True, rename="camel"):
    """The rules of one direction; what is not said is as by default."""

    stabilization_window_seconds: Int32 | None = None
    select_policy: Literal["Max", "Min", "Disabled"] | None = None
    policies: tuple[WrittenPolicy, ...] | None = None
    tolerance: WireQuantity | None = None


class Behavior(Struct, frozen=True, rename="camel"):
    """The rules of both directions."""

    scale_up: WrittenRules = WrittenRules()
    scale_down: WrittenRules = WrittenRules()


_CPU: Final = Metric("Resource", ResourceMetric("cpu", MetricTarget(80)))


class AutoscalerSpec(Struct, frozen=True, rename="camel"):
    """Spec of a HorizontalPodAutoscaler."""

    scale_target_ref: ScaleTarget
    max_replicas: Int32
    min_replicas: Int32 = 1
    metrics: tuple[Metric, ...] = (_CPU,)
    behavior: Behavior | None = None

    @property
    def resources(self) -> tuple[ResourceMetric, ...]:
        """The metrics, all of which are of resources."""
        return tuple(each.resource for each in self.metrics if each.resource is not None)


class _Written(Struct, frozen=True):
    spec: AutoscalerSpec


def check_spec(autoscaler: Other) -> str:
    """What is wrong with a HorizontalPodAutoscaler, or cannot be simulated; empty where nothing is."""
    if autoscaler.content.get("apiVersion") != API_VERSION:
        return f"apiVersion {autoscaler.content.get('apiVersion')} is not simulated; write {API_VERSION}"
    try:
        spec = _converted(autoscaler)
    except msgspec.ValidationError as error:
        return path_first(error)
    if spec.scale_target_ref.kind not in WITH_REPLICAS:
        return f"spec.scaleTargetRef.kind: {spec.scale_target_ref.kind} is not simulated; write one of {', '.join(WITH_REPLICAS)}"
    if not 1 <= spec.min_replicas <= spec.max_replicas:
        return "spec.minReplicas must be from 1 to maxReplicas"
    for index, metric in enumerate(spec.metrics):
        if problem := _check_metric(metric):
            return f"spec.metrics[{index}]{problem}"
    return ""


def _check_metric(metric: Metric) -> str:
    if metric.type != "Resource" or metric.resource is None:
        return f".type: {metric.type} is not simulated; write Resource"
    target = metric.resource.target
    if target.average_value is None and target.average_utilization is None:
        return ".resource.target needs averageUtilization or averageValue"
    try:
        amount = (
            target.average_utilization if target.average_value is None else parse_quantity(target.average_value).nano
        )
    except ValueError as error:
        return f".resource.target.averageValue: {error}"
    return "" if amount and amount > 0 else ".resource.target must be more than 0"


def read_spec(autoscaler: Other) -> AutoscalerSpec | None:
    """The spec of a HorizontalPodAutoscaler; None of one that cannot be simulated."""
    return None if check_spec(autoscaler) else _converted(autoscaler)


def _converted(autoscaler: Other) -> AutoscalerSpec:
    return msgspec.convert(autoscaler.content, _Written).spec


def bounds_of(spec: AutoscalerSpec, window: int) -> Bounds:
    """How far and how fast it goes; ``window`` is for how long it waits before it scales down, unless it says so itself."""
    down = structs.replace(DOWN, window=window)
    if spec.behavior is None:
        return Bounds(spec.min_replicas, spec.max_replicas, UP, down)
    up, down = _rules(spec.behavior.scale_up, UP), _rules(spec.behavior.scale_down, down)
    return Bounds(spec.min_replicas, spec.max_replicas, up, down, ruled=True)


def tolerance_of(spec: AutoscalerSpec, default: float) -> Tolerance:
    """What changes nothing in each direction."""
    if spec.behavior is None:
        return Tolerance(default, default)
    tolerances = (spec.behavior.scale_down.tolerance, spec.behavior.scale_up.tolerance)
    return Tolerance(*(default if each is None else parse_quantity(each).nano / NANO_PER_UNIT for each in tolerances))


def _rules(written: WrittenRules, default: ScalingRules) -> ScalingRules:
    seconds, policies = written.stabilization_window_seconds, written.policies
    return ScalingRules(
        default.window if seconds is None else seconds * SECOND,
        default.policies
        if policies is None
        else tuple(ScalingPolicy(each.type, each.value, each.period_seconds * SECOND) for each in policies),
        written.select_policy or default.select,
    )


NAME: Final = "horizontal-pod-autoscaler"
KIND: Final = "HorizontalPodAutoscaler"
#: Over how long metrics are collected: the resolution of the metrics server.
_COLLECTED: Final = 15 * SECOND
#: Nothing older is asked for: the longest window, and the longest period of a policy.
_LONGEST: Final = 60 * MINUTE


class AutoscalerSettings(Struct, frozen=True, rename="camel"):
    """The flags of kube-controller-manager, as a scenario writes them; durations are nanoseconds."""

    sync_period: Duration = 15 * SECOND
    tolerance: float = 0.1
    downscale_stabilization: Duration = 5 * MINUTE
    cpu_initialization_period: Duration = 5 * MINUTE
    initial_readiness_delay: Duration = 30 * SECOND


@dataclass(slots=True, frozen=True)
class Scaled:
    """A workload whose number of pods was changed."""

    kind: str
    key: Key
    old: int
    new: int


@dataclass(slots=True)
class HorizontalPodAutoscalers:
    """The controller in the simulation."""

    simulation: VirtualCluster
    settings: AutoscalerSettings
    #: Called before a workload is scaled.
    listeners: list[Callable[[Scaled], None]] = field(default_factory=list)
    _past: defaultdict[str, Past] = field(default_factory=lambda: defaultdict(Past))

    def start(self) -> None:
        """Sync all objects after each period."""
        self.simulation.clock.every(self.settings.sync_period, self._look)

    def _look(self) -> None:
        read = [(each, spec) for each in self.simulation.store.list(KIND) if (spec := read_spec(each)) is not None]
        several = Counter((each.metadata.namespace, spec.scale_target_ref) for each, spec in read)
        for each, spec in read:
            self._sync(each, spec, is_alone=several[each.metadata.namespace, spec.scale_target_ref] == 1)

    def _sync(self, autoscaler: Other, spec: AutoscalerSpec, *, is_alone: bool) -> None:
        kind, key = spec.scale_target_ref.kind, (autoscaler.metadata.namespace, spec.scale_target_ref.name)
        found = self.simulation.store.get(kind, *key)
        if found is None or found.metadata.is_terminating:
            return
        wanted = self._wanted(autoscaler, spec, found, is_alone=is_alone)
        if wanted != found.spec.replicas:
            self._past[autoscaler.metadata.uid].changes.append(
                (self.simulation.clock.now, wanted - found.spec.replicas)
            )
            for listener in self.listeners:
                listener(Scaled(kind, key, found.spec.replicas, wanted))
            self.simulation.store.update(with_spec(found, replicas=wanted))

    def _wanted(self, autoscaler: Other, spec: AutoscalerSpec, found: Any, *, is_alone: bool) -> int:
        """The replicas of a workload; if several autoscalers target it, none asks for metrics."""
        current, now = int(found.spec.replicas), self.simulation.clock.now
        bounds = bounds_of(spec, self.settings.downscale_stabilization)
        past = self._past[autoscaler.metadata.uid]
        past.forget_before(now - _LONGEST)
        past.recommendations = past.recommendations or [(now, current)]
        if current == 0:
            return 0
        if not bounds.least <= current <= bounds.most:
            return min(max(current, bounds.least), bounds.most)
        asked = [self._asked(each, spec, found, current) for each in spec.resources if is_alone]
        known = [each for each in asked if each is not None]
        if not known or (len(known) < len(asked) and max(known) < current):
            return current
        return limited(current, max(known), bounds, past, now)

    def _asked(self, metric: ResourceMetric, spec: AutoscalerSpec, found: Any, current: int) -> int | None:
        """How many pods a metric asks for; None if unknown."""
        store = self.simulation.store
        pods = store.list("Pod", found.metadata.namespace, selector_of(found))
        requested = [_requested(pod, metric.name) for pod in pods]
        if metric.target.average_utilization is not None and None in requested:
            return None
        measured = [self._measured(pod, metric.name, amount or 0) for pod, amount in zip(pods, requested, strict=True)]
        return replicas_by_usage(current, measured, _target(metric), tolerance_of(spec, self.settings.tolerance))

    def _measured(self, pod: Pod, resource: str, requested: int) -> MeasuredPod:
        used = self._used(pod, resource)
        return MeasuredPod(self._group(pod, resource, has_metrics=used is not None), used or 0, requested)

    def _used(self, pod: Pod, resource: str) -> int | None:
        """Thousandths of what a pod uses; None of one without metrics."""
        found: Other | None = self.simulation.store.get("PodMetrics", *key_of(pod))
        used = [each["usage"] for each in found.content["containers"]] if found is not None else []
        if not used or not all(resource in each for each in used):
            return None
        return sum(_milli(each[resource]) for each in used)

    def _group(self, pod: Pod, resource: str, *, has_metrics: bool) -> PodGroup:
        if pod.metadata.is_terminating or pod.status.phase == "Failed":
            return "ignored"
        if pod.status.phase == "Pending":
            return "unready"
        if not has_metrics:
            return "missing"
        return "unready" if resource == "cpu" and self._is_starting(pod) else "ready"

    def _is_starting(self, pod: Pod) -> bool:
        """Whether what a pod uses of a CPU says nothing yet: it is not ready, or has not been for long."""
        ready = next((each for each in pod.status.conditions or () if each.type == "Ready"), None)
        if ready is None or pod.status.start_time is None:
            return True
        started, changed = parse_time(pod.status.start_time), parse_time(ready.last_transition_time or "")
        if started + self.settings.cpu_initialization_period > self.simulation.clock.now:
            return ready.status == "False" or self.simulation.clock.now < changed + _COLLECTED
        return ready.status == "False" and started + self.settings.initial_readiness_delay > changed


def _target(metric: ResourceMetric) -> UsageTarget:
    if metric.target.average_value is not None:
        return UsageTarget(average=_milli(metric.target.average_value))
    return UsageTarget(metric.target.average_utilization)


def _requested(pod: Pod, resource: str) -> int | None:
    """Thousandths of what the containers of a pod request, sidecars included; None where one of them says nothing."""
    sidecars = [each for each in pod.spec.get("initContainers") or () if each.get("restartPolicy") == "Always"]
    containers: Sequence[dict[str, Any]] = [*(pod.spec.get("containers") or ()), *sidecars]
    amounts = [((each.get("resources") or {}).get("requests") or {}).get(resource) for each in containers]
    return None if None in amounts else sum(map(_milli, amounts))


def _milli(amount: Any) -> int:
    return -(-parse_quantity(amount).nano // NANO_PER_MILLI)
