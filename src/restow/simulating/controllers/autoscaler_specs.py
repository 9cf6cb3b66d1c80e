"""HorizontalPodAutoscalers as they are written: what the simulation reads of ``autoscaling/v2``, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from typing import Final, Literal

import msgspec
from msgspec import Struct

from restow.kube.manifests import Other
from restow.kube.objects import Int32, WireQuantity
from restow.kube.objects.unreadable import path_first
from restow.kube.quantity import NANO_PER_UNIT, parse_quantity
from restow.kube.timestamps import SECOND
from restow.workloads.horizontal_scaling import DOWN, UP, Bounds, ScalingPolicy, ScalingRules, Tolerance

API_VERSION: Final = "autoscaling/v2"
_TARGETS: Final = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")


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
    if spec.scale_target_ref.kind not in _TARGETS:
        return f"spec.scaleTargetRef.kind: {spec.scale_target_ref.kind} is not simulated; write one of {', '.join(_TARGETS)}"
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
    down = replace(DOWN, window=window)
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
