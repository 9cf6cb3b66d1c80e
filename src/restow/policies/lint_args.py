"""What is odd about the arguments of single plugins: settings that do nothing, or not what they seem to do.

Each rule sees decoded, valid arguments by the names of their struct's fields, and yields issues whose paths begin
inside ``args``. Source of the facts: descheduler v0.36, the plugins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from restow.documents.findings import Issue
from restow.kube.excerpts import excerpt
from restow.kube.labels import parse_selector
from restow.kube.near_words import did_you_mean
from restow.policies.lint_thresholds import lint_high_thresholds, lint_low_thresholds
from restow.policies.metrics import metrics_source
from restow.policies.policy import KUBERNETES_METRICS, PROMETHEUS
from restow.policies.schema import DEFAULT_EVICTOR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

#: Deprecated switch of DefaultEvictor: its field, its key, and what replaces it.
_DEPRECATED = (
    ("evict_local_storage_pods", "evictLocalStoragePods", "defaultDisabled: [PodsWithLocalStorage]"),
    ("evict_daemon_set_pods", "evictDaemonSetPods", "defaultDisabled: [DaemonSetPods]"),
    ("evict_system_critical_pods", "evictSystemCriticalPods", "defaultDisabled: [SystemCriticalPods]"),
    ("evict_failed_bare_pods", "evictFailedBarePods", "defaultDisabled: [FailedBarePods]"),
    ("ignore_pvc_pods", "ignorePvcPods", "extraEnabled: [PodsWithPVC]"),
    ("ignore_pods_without_pdb", "ignorePodsWithoutPDB", "extraEnabled: [PodsWithoutPDB]"),
)
_AFFINITY_TYPES = (
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
#: What metrics.k8s.io measures, and the pod count, which needs no measuring.
_MEASURED = {"cpu", "memory", "pods"}


def lint_args(plugin: str, args: Any) -> list[Issue]:
    """Return what is odd about a plugin's arguments; nothing for plugins that are not upstream's."""
    return list(_RULES[plugin](args)) if plugin in _RULES else []


def _default_evictor(args: Any) -> Iterator[Issue]:
    for field, key, replacement in _DEPRECATED:
        if getattr(args, field):
            yield Issue((key,), f"{key} is deprecated; write podProtections: {replacement}", "note")
    protections = args.pod_protections
    if args.priority_threshold and (
        args.evict_system_critical_pods or "SystemCriticalPods" in protections.default_disabled
    ):
        text = "priorityThreshold is ignored: it is part of the protection SystemCriticalPods, which is disabled"
        yield Issue(("priorityThreshold",), text, "warning")
    if protections.config and not (args.ignore_pvc_pods or "PodsWithPVC" in protections.extra_enabled):
        text = "config has no effect: PodsWithPVC is not in extraEnabled"
        yield Issue(("podProtections", "config"), text, "warning")
    if args.min_replicas == 1:
        yield Issue(("minReplicas",), "minReplicas: 1 checks nothing; it works from 2 on", "warning")
    if args.min_pod_age is not None and args.min_pod_age <= 0:
        yield Issue(("minPodAge",), "minPodAge protects nothing unless it is more than 0", "note")
    yield from _evictor_node_selector(args)


def _evictor_node_selector(args: Any) -> Iterator[Issue]:
    if args.node_selector and not args.node_fit:
        text = "nodeSelector only restricts where nodeFit looks, and nodeFit is off"
        yield Issue(("nodeSelector",), f"{text}; the policy's own nodeSelector chooses the nodes to work on", "warning")
    try:
        parse_selector(args.node_selector)
    except ValueError as error:
        yield Issue(("nodeSelector",), f"with nodeFit no pod is ever evicted: {error}", "warning")


def _low_node_utilization(args: Any) -> Iterator[Issue]:
    yield from lint_low_thresholds(args)
    yield from _number_of_nodes(args)
    if args.eviction_limits and args.eviction_limits.node == 0:
        yield Issue(("evictionLimits", "node"), "a limit of 0 allows no eviction at all", "warning")
    if args.metrics_utilization:
        yield from _metrics(args)


def _metrics(args: Any) -> Iterator[Issue]:
    metrics, path = args.metrics_utilization, ("metricsUtilization",)
    if metrics.metrics_server:
        yield Issue((*path, "metricsServer"), "metricsServer is deprecated; write source: KubernetesMetrics", "note")
        if metrics.source == PROMETHEUS:
            text = "source Prometheus is ignored: metricsServer is tested first and means KubernetesMetrics"
            yield Issue((*path, "source"), text, "warning")
    elif not metrics.source:
        yield Issue(path, "the strategy fails in every cycle: metrics source is empty", "warning")
    elif metrics.source not in {KUBERNETES_METRICS, PROMETHEUS}:
        hint = did_you_mean(metrics.source, (KUBERNETES_METRICS, PROMETHEUS))
        yield Issue(
            (*path, "source"), "the strategy fails in every cycle: unrecognized metrics source", "warning", hint
        )
    elif metrics.source == PROMETHEUS and not (args.eviction_limits and args.eviction_limits.node is not None):
        text = "with Prometheus one pod is evicted per node and cycle; set evictionLimits.node for more"
        yield Issue((*path, "source"), text, "note")
    if metrics_source(args) == KUBERNETES_METRICS:
        yield from _unmeasured(args)


def _unmeasured(args: Any) -> Iterator[Issue]:
    for resource in sorted(set(args.thresholds) - _MEASURED):
        text = (
            f'metrics.k8s.io does not measure it, and the strategy fails: unable to find "{excerpt(resource)}" resource'
        )
        yield Issue(("thresholds", resource), text, "warning")


def _high_node_utilization(args: Any) -> Iterator[Issue]:
    yield from lint_high_thresholds(args)
    yield from _number_of_nodes(args)


def _number_of_nodes(args: Any) -> Iterator[Issue]:
    if args.number_of_nodes < 0:
        yield Issue(("numberOfNodes",), "a negative number of nodes is the same as 0", "note")


def _pod_life_time(args: Any) -> Iterator[Issue]:
    if args.max_pod_life_time_seconds == 0:
        yield Issue(("maxPodLifeTimeSeconds",), "0 seconds: every pod is too old after one second", "note")
    if args.including_init_containers:
        yield from _needs("includingInitContainers", ("states", args.states), ("exitCodes", args.exit_codes))
    if args.including_ephemeral_containers:
        yield from _needs("includingEphemeralContainers", ("states", args.states))


def _remove_failed_pods(args: Any) -> Iterator[Issue]:
    if args.including_init_containers:
        yield from _needs("includingInitContainers", ("reasons", args.reasons), ("exitCodes", args.exit_codes))


def _needs(key: str, *criteria: tuple[str, Sequence[Any]]) -> Iterator[Issue]:
    if not any(values for _, values in criteria):
        names = " or ".join(name for name, _ in criteria)
        yield Issue((key,), f"{key} has no effect without {names}", "note")


def _node_affinity(args: Any) -> Iterator[Issue]:
    for index, kind in enumerate(args.node_affinity_type):
        if kind not in _AFFINITY_TYPES:
            text = f'"{excerpt(kind)}" is skipped in every cycle: invalid nodeAffinityType'
            yield Issue(("nodeAffinityType", index), text, "warning", did_you_mean(kind, _AFFINITY_TYPES))


def _node_taints(args: Any) -> Iterator[Issue]:
    if args.included_taints == ():
        text = "an empty includedTaints includes no taint: the strategy does nothing; leave the key out for all taints"
        yield Issue(("includedTaints",), text, "warning")


_RULES: dict[str, Callable[[Any], Iterator[Issue]]] = {
    DEFAULT_EVICTOR: _default_evictor,
    "LowNodeUtilization": _low_node_utilization,
    "HighNodeUtilization": _high_node_utilization,
    "PodLifeTime": _pod_life_time,
    "RemoveFailedPods": _remove_failed_pods,
    "RemovePodsViolatingNodeAffinity": _node_affinity,
    "RemovePodsViolatingNodeTaints": _node_taints,
}
