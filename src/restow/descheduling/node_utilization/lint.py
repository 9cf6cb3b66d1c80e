"""Arguments of the utilisation strategies that can never trigger, or that mean something else than they seem to.

A node is underutilised if it is at or below every low threshold, overutilised if it is above some target. Requests
never exceed 100 % of a node. Source: descheduler v0.36, pkg/framework/plugins/nodeutilization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from restow.documents.findings import Issue
from restow.kube.excerpts import did_you_mean, excerpt
from restow.policies.policy import KUBERNETES_METRICS, PROMETHEUS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FULL = 100
#: What metrics.k8s.io measures, and the pod count, which needs no measuring.
_MEASURED = {"cpu", "memory", "pods"}
_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage", "MetricResource")


def lint_low_node_utilization(args: Any) -> Iterator[Issue]:
    """Yield what is odd about arguments of LowNodeUtilization."""
    yield from _low_thresholds(args)
    yield from _number_of_nodes(args)
    if args.eviction_limits and args.eviction_limits.node == 0:
        yield Issue(("evictionLimits", "node"), "a limit of 0 allows no eviction at all", "warning")
    if args.metrics_utilization:
        yield from _metrics(args)


def lint_high_node_utilization(args: Any) -> Iterator[Issue]:
    """Yield what is odd about arguments of HighNodeUtilization."""
    yield from _high_thresholds(args)
    yield from _number_of_nodes(args)


def _low_thresholds(args: Any) -> Iterator[Issue]:
    yield from _lint_values("thresholds", args.thresholds)
    yield from _lint_values("targetThresholds", args.target_thresholds)
    if all(value >= _FULL for value in args.target_thresholds.values()):
        text = "targetThresholds of 100: no node is ever above them, so nothing is ever evicted"
        yield Issue(("targetThresholds",), text, "warning")
    else:
        yield from _full_targets(args.target_thresholds)
    if args.use_deviation_thresholds:
        yield from _lint_deviations(args.thresholds)
    else:
        yield from _lint_levels(args.thresholds, args.target_thresholds)


def _high_thresholds(args: Any) -> Iterator[Issue]:
    yield from _lint_values("thresholds", args.thresholds)
    yield from _every_node_is_under(args.thresholds)
    for resource, value in args.thresholds.items():
        if value == 0:
            text = f"thresholds.{resource} 0: only a node that uses none is underutilised, and has no pod to move"
            yield Issue(("thresholds", resource), text, "warning")


def _lint_levels(thresholds: Mapping[str, float], targets: Mapping[str, float]) -> Iterator[Issue]:
    yield from _every_node_is_under(thresholds)
    for resource, value in thresholds.items():
        if value == 0:
            text = f"thresholds.{resource} 0: only a node that uses none is ever underutilised"
            yield Issue(("thresholds", resource), text, "warning")
        elif value == targets[resource]:
            text = f"thresholds.{resource} equals targetThresholds.{resource}: no node is just right, pods may go back"
            yield Issue(("thresholds", resource), text, "note")


def _lint_deviations(thresholds: Mapping[str, float]) -> Iterator[Issue]:
    for resource, value in thresholds.items():
        if value >= _FULL:
            text = f"thresholds.{resource} 100 below the mean: only a node that uses none is ever underutilised"
            yield Issue(("thresholds", resource), text, "warning")


def _every_node_is_under(thresholds: Mapping[str, float]) -> Iterator[Issue]:
    if all(value >= _FULL for value in thresholds.values()):
        text = "thresholds of 100: every node is underutilised, and then nothing is evicted"
        yield Issue(("thresholds",), text, "warning")


def _full_targets(targets: Mapping[str, float]) -> Iterator[Issue]:
    for resource, value in targets.items():
        if value >= _FULL:
            text = f"targetThresholds.{resource} 100: {resource} never makes a node overutilised"
            yield Issue(("targetThresholds", resource), text, "note")


def _lint_values(key: str, thresholds: Mapping[str, float]) -> Iterator[Issue]:
    for resource, value in thresholds.items():
        if 0 < value <= 1:
            text = f"{key}.{resource} {value:g} is {value:g} %, not {value * 100:g} %: thresholds are percentages"
            yield Issue((key, resource), text, "warning")
        if resource not in _RESOURCES and "/" not in resource and not resource.startswith("hugepages-"):
            text = f'"{excerpt(resource)}" is no resource that Kubernetes knows'
            yield Issue((key, resource), text, "warning", did_you_mean(resource, _RESOURCES))


def _number_of_nodes(args: Any) -> Iterator[Issue]:
    if args.number_of_nodes < 0:
        yield Issue(("numberOfNodes",), "a negative number of nodes is the same as 0", "note")


def _metrics(args: Any) -> Iterator[Issue]:
    metrics, path = args.metrics_utilization, ("metricsUtilization",)
    if metrics.metrics_server:
        yield Issue((*path, "metricsServer"), "metricsServer is deprecated; write source: KubernetesMetrics", "note")
        if metrics.is_queried:
            text = f"source {metrics.source} is ignored: metricsServer is tested first and means KubernetesMetrics"
            yield Issue((*path, "source"), text, "warning")
    elif not metrics.source:
        yield Issue(path, "the strategy fails in every cycle: metrics source is empty", "warning")
    elif not metrics.is_queried and metrics.source != KUBERNETES_METRICS:
        hint = did_you_mean(metrics.source, (KUBERNETES_METRICS, PROMETHEUS))
        yield Issue(
            (*path, "source"), "the strategy fails in every cycle: unrecognized metrics source", "warning", hint
        )
    elif metrics.is_queried and not (args.eviction_limits and args.eviction_limits.node is not None):
        text = f"with {metrics.source} one pod is evicted per node and cycle; set evictionLimits.node for more"
        yield Issue((*path, "source"), text, "note")
    if metrics.provider == KUBERNETES_METRICS:
        yield from _unmeasured(args)


def _unmeasured(args: Any) -> Iterator[Issue]:
    for resource in sorted(set(args.thresholds) - _MEASURED):
        text = (
            f'metrics.k8s.io does not measure it, and the strategy fails: unable to find "{excerpt(resource)}" resource'
        )
        yield Issue(("thresholds", resource), text, "warning")
