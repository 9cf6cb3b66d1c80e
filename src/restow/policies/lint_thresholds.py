"""Thresholds of the utilisation strategies that can never trigger, or that mean something else than they seem to.

A node is underutilised if it is at or below every low threshold, overutilised if it is above some target. Requests
never exceed 100 % of a node. Source: descheduler v0.36, pkg/framework/plugins/nodeutilization.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from restow.documents.findings import Issue
from restow.kube.excerpts import excerpt
from restow.kube.near_words import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_FULL = 100
_RESOURCES = ("cpu", "memory", "pods", "ephemeral-storage", "MetricResource")


def lint_low_thresholds(args: Any) -> Iterator[Issue]:
    """Yield what is odd about ``thresholds`` and ``targetThresholds`` of LowNodeUtilization."""
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


def lint_high_thresholds(args: Any) -> Iterator[Issue]:
    """Yield what is odd about ``thresholds`` of HighNodeUtilization."""
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
