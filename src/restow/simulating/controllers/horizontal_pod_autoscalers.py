"""HorizontalPodAutoscalers: every so often, as many pods of a workload as what they use asks for.

What is wanted, and how far the past limits it, says ``workloads.horizontal_scaling``; here it is found out which pods
count, and what they use. Metrics are what the scenario has said of usage; those of a pod count once it has been ready for
as long as they were collected over. An object that asks for metrics of other types is left alone. Source: the
podautoscaler controller, kube-controller-manager 1.36.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import structs

from restow.kube.duration import MINUTE
from restow.kube.manifests import Other, Pod
from restow.kube.quantity import NANO_PER_MILLI, parse_quantity
from restow.kube.timestamps import SECOND, parse_time
from restow.simulating.controllers.autoscaler_specs import (
    AutoscalerSpec,
    ResourceMetric,
    bounds_of,
    read_spec,
    tolerance_of,
)
from restow.simulating.indexes import Key, key_of
from restow.simulating.selecting import selector_of
from restow.simulating.simulation import VirtualCluster
from restow.workloads.horizontal_scaling import MeasuredPod, Past, PodGroup, UsageTarget, limited, replicas_by_usage

NAME: Final = "horizontal-pod-autoscaler"
KIND: Final = "HorizontalPodAutoscaler"
#: Over how long metrics are collected: the resolution of the metrics server.
_COLLECTED: Final = 15 * SECOND
#: Nothing older is asked for: the longest window, and the longest period of a policy.
_LONGEST: Final = 60 * MINUTE


@dataclass(slots=True, frozen=True)
class AutoscalerSettings:
    """The flags of kube-controller-manager; durations are nanoseconds."""

    sync_period: int = 15 * SECOND
    tolerance: float = 0.1
    downscale_stabilization: int = 5 * MINUTE
    cpu_initialization_period: int = 5 * MINUTE
    initial_readiness_delay: int = 30 * SECOND


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
    settings: AutoscalerSettings = AutoscalerSettings()
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
            self.simulation.store.update(structs.replace(found, spec=structs.replace(found.spec, replicas=wanted)))

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
