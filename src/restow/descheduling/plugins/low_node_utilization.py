"""LowNodeUtilization: pods of overused nodes, while there are underused ones.

A node is underused if it may take new pods and every resource is at or below its threshold, overused if some resource
is above its target. Overused nodes give up pods, fullest first, until nothing of them is above its target - resources
without a target may not exceed the capacity - or until the underused ones have no room left below their own targets.
Source: Descheduler 0.36, pkg/framework/plugins/nodeutilization.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import field, structs

from restow.cluster.nodes import BASIC_RESOURCES
from restow.descheduling.framework import NodeClass, Strategy, StrategyError, Suggestions, View
from restow.descheduling.node_utilization.eviction import Transfer, evictable_in, room_on, transfer
from restow.descheduling.node_utilization.measured import measured
from restow.descheduling.node_utilization.queried import held_back, queried
from restow.descheduling.node_utilization.surveys import Survey
from restow.descheduling.node_utilization.thresholds import (
    FULL,
    Fullness,
    Headroom,
    around,
    criteria,
    is_above,
    lint_all_under,
    lint_number_of_nodes,
    lint_values,
    mean,
    node_classes,
    why_idle,
)
from restow.descheduling.node_utilization.usage import (
    METRIC_RESOURCE,
    Capacities,
    Percentages,
    Usage,
    percentage,
    percentages,
    requested,
)
from restow.documents.findings import Issue
from restow.documents.shapes import Int
from restow.kube.excerpts import did_you_mean, excerpt
from restow.policies.arguments import (
    EvictionLimits,
    Namespaces,
    PluginArgs,
    Thresholds,
    check_evictable_namespaces,
    check_thresholds,
)
from restow.policies.schema import FLATTENED, PluginSchema
from restow.policies.usage import MetricsUtilization
from restow.usage.measured import Amounts
from restow.usage.sources import KUBERNETES_METRICS, PROMETHEUS

#: What metrics.k8s.io measures, and the pod count, which needs no measuring.
_MEASURED = {"cpu", "memory", "pods"}


class LowNodeUtilizationArgs(PluginArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """``pluginConfig[].args`` of LowNodeUtilization."""

    use_deviation_thresholds: bool = False
    thresholds: Thresholds = field(default_factory=dict)
    target_thresholds: Thresholds = field(default_factory=dict)
    #: The strategy acts only if more nodes than this are underused.
    number_of_nodes: Int = 0
    metrics_utilization: MetricsUtilization | None = None
    evictable_namespaces: Namespaces | None = None
    eviction_limits: EvictionLimits | None = None


def _validate(args: LowNodeUtilizationArgs) -> list[str]:
    """Return upstream's validation texts, in upstream's order; upstream itself stops at the first."""
    levels = [f"thresholds config is not valid: {error}" for error in check_thresholds(args.thresholds)]
    levels += [f"targetThresholds config is not valid: {error}" for error in check_thresholds(args.target_thresholds)]
    return (
        check_evictable_namespaces(args.evictable_namespaces)
        + (levels or _compare_thresholds(args))
        + _check_metrics(args.metrics_utilization)
    )


def _compare_thresholds(args: LowNodeUtilizationArgs) -> list[str]:
    if args.thresholds.keys() != args.target_thresholds.keys():
        return ["thresholds and targetThresholds configured different resources"]
    if args.use_deviation_thresholds:
        return []
    return [
        f"thresholds' {resource} percentage is greater than targetThresholds'"
        for resource, percentage in sorted(args.thresholds.items())
        if percentage > args.target_thresholds[resource]
    ]


def _check_metrics(metrics: MetricsUtilization | None) -> list[str]:
    if metrics is None:
        return []
    if metrics.source == KUBERNETES_METRICS and metrics.metrics_server:
        return ['it is not allowed to set both "KubernetesMetrics" source and metricsServer']
    if metrics.source == KUBERNETES_METRICS and metrics.prometheus is not None:
        return ['prometheus configuration is not allowed to set when source is set to "KubernetesMetrics"']
    if metrics.source == PROMETHEUS and not (metrics.prometheus and metrics.prometheus.query):
        return ['prometheus query is required when metrics source is set to "Prometheus"']
    return []


def _construct(args: LowNodeUtilizationArgs) -> list[str]:
    """Upstream's errors if a source that answers queries is asked for anything but its one resource."""
    if args.metrics_utilization is None or not args.metrics_utilization.is_queried:
        return []
    sets = (("thresholds", args.thresholds), ("targetThresholds", args.target_thresholds))
    return [
        f'{name} are expected to specify a single instance of "{METRIC_RESOURCE}" resource, '
        f"got [{' '.join(sorted(thresholds))}] instead"
        for name, thresholds in sets
        if set(thresholds) != {METRIC_RESOURCE}
    ]


def _lint(args: LowNodeUtilizationArgs) -> Iterator[Issue]:
    """Yield arguments that can never trigger, or that mean something else than they seem to."""
    yield from _lint_thresholds(args)
    yield from lint_number_of_nodes(args.number_of_nodes)
    if args.eviction_limits and args.eviction_limits.node == 0:
        yield Issue(("evictionLimits", "node"), "a limit of 0 allows no eviction at all", "warning")
    if args.metrics_utilization:
        yield from _lint_metrics(args, args.metrics_utilization)


def _lint_thresholds(args: LowNodeUtilizationArgs) -> Iterator[Issue]:
    yield from lint_values("thresholds", args.thresholds)
    yield from lint_values("targetThresholds", args.target_thresholds)
    if all(value >= FULL for value in args.target_thresholds.values()):
        text = "targetThresholds of 100: no node is ever above them, so nothing is ever evicted"
        yield Issue(("targetThresholds",), text, "warning")
    else:
        yield from _full_targets(args.target_thresholds)
    if args.use_deviation_thresholds:
        yield from _lint_deviations(args.thresholds)
    else:
        yield from _lint_levels(args.thresholds, args.target_thresholds)


def _lint_levels(thresholds: Mapping[str, float], targets: Mapping[str, float]) -> Iterator[Issue]:
    yield from lint_all_under(thresholds)
    for resource, value in thresholds.items():
        if value == 0:
            text = f"thresholds.{resource} 0: only a node that uses none is ever underutilised"
            yield Issue(("thresholds", resource), text, "warning")
        elif value == targets[resource]:
            text = f"thresholds.{resource} equals targetThresholds.{resource}: no node is just right, pods may go back"
            yield Issue(("thresholds", resource), text, "note")


def _lint_deviations(thresholds: Mapping[str, float]) -> Iterator[Issue]:
    for resource, value in thresholds.items():
        if value >= FULL:
            text = f"thresholds.{resource} 100 below the mean: only a node that uses none is ever underutilised"
            yield Issue(("thresholds", resource), text, "warning")


def _full_targets(targets: Mapping[str, float]) -> Iterator[Issue]:
    for resource, value in targets.items():
        if value >= FULL:
            text = f"targetThresholds.{resource} 100: {resource} never makes a node overutilised"
            yield Issue(("targetThresholds", resource), text, "note")


def _lint_metrics(args: LowNodeUtilizationArgs, metrics: MetricsUtilization) -> Iterator[Issue]:
    path = ("metricsUtilization",)
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


def _unmeasured(args: LowNodeUtilizationArgs) -> Iterator[Issue]:
    for resource in sorted(set(args.thresholds) - _MEASURED):
        text = (
            f'metrics.k8s.io does not measure it, and the strategy fails: unable to find "{excerpt(resource)}" resource'
        )
        yield Issue(("thresholds", resource), text, "warning")


SCHEMA = PluginSchema(
    name="LowNodeUtilization",
    extension_points=("balance",),
    args=LowNodeUtilizationArgs,
    validate=_validate,
    construct=_construct,
    lint=_lint,
    conflicts={"HighNodeUtilization": "one empties full nodes, the other fills them"},
    renamed={
        "namespaces": "write evictableNamespaces: {exclude: [...]}",
        "nodeResourceUtilizationThresholds": FLATTENED,
    },
)


def suggest(view: View, args: LowNodeUtilizationArgs) -> Suggestions:
    """Pods of overused nodes; StrategyError if usage is not known."""
    yield from level(view, args, _usage(view, args))


def _usage(view: View, args: LowNodeUtilizationArgs) -> Usage:
    metrics = args.metrics_utilization
    if metrics is None:
        return requested(view, _tracked(args))
    if metrics.provider == KUBERNETES_METRICS:
        return measured(view, _tracked(args))
    if metrics.usage_query is not None:
        return queried(view, metrics.usage_query)
    problem = "unrecognized metrics source" if metrics.source else "metrics source is empty"
    raise StrategyError(f"error initializing usage client: {problem}")


def _tracked(args: LowNodeUtilizationArgs) -> tuple[str, ...]:
    """The resources with a threshold and, unless a query stands for all of them, the basic ones."""
    metrics = args.metrics_utilization
    basic = () if metrics and metrics.is_queried else BASIC_RESOURCES
    return tuple(dict.fromkeys((*sorted(args.thresholds), *basic)))


def level(view: View, args: LowNodeUtilizationArgs, usage: Usage) -> Suggestions:
    """Suggest pods of nodes that are overused by this usage, which is lowered as they leave."""
    due = view.due_nodes()
    if due is not None and not args.use_deviation_thresholds and not _any_above(view, args, usage, due):
        return
    survey = Survey.of(view, usage)
    low, high = limits(args, (each.load for each in survey.figures.values()))
    under, over = survey.extremes(low, high)
    over = _giving(view, args, over, high)
    idle = why_idle(len(under), len(survey.figures), args.number_of_nodes, criteria(low))
    if idle is None and not over:
        idle = f"All nodes are under target utilization, nothing to do here (target: {criteria(high)})"
    if idle is not None:
        view.note(idle)
        return
    ceilings = survey.ceilings(survey.figures, high)
    fullness = Fullness(usage, survey.capacities, args.thresholds, len(view.is_listed))

    task = Transfer(
        usage=usage,
        sources=survey.fullest_first(over),
        destinations=under,
        room=room_on(under, usage, ceilings),
        why=lambda node: _excess(survey, ceilings[node], high, node),
        movable=evictable_in(view, args.evictable_namespaces),
        takes=Headroom(usage, ceilings, len(view.is_listed)).takes,
        worse=fullness.fuller,
        cost=fullness.emptiest_with,
        limit=_limit(args, usage),
    )
    yield from transfer(view, task)


def _any_above(view: View, args: LowNodeUtilizationArgs, usage: Usage, nodes: Iterable[int]) -> bool:
    """Whether one of some nodes is overused, by thresholds that do not depend on the others."""
    among = {node: usage.by_node[node] for node in nodes if node in usage.by_node}
    held = view.once(Capacities).of(among)
    return any(is_above(percentages(used, held[node]), args.target_thresholds) for node, used in among.items())


def sort_nodes(view: View, args: LowNodeUtilizationArgs) -> Mapping[int, NodeClass]:
    """Overused nodes give pods to underused ones; StrategyError if usage is not known."""
    survey = Survey.of(view, _usage(view, args))
    low, high = limits(args, (each.load for each in survey.figures.values()))
    under, over = survey.extremes(low, high)
    giving = set(_giving(view, args, over, high))
    classes = node_classes(survey.loads(), under=under, over=over, low=low, high=high)
    origins = survey.usage.origins
    return {
        node: structs.replace(each, gives=node in giving, origin=origins.get(node, ""))
        for node, each in classes.items()
    }


def _giving(view: View, args: LowNodeUtilizationArgs, over: list[int], high: Percentages) -> list[int]:
    """The overused nodes that give up pods."""
    query = args.metrics_utilization.usage_query if args.metrics_utilization else None
    if query is None:
        return over

    def overused(loads: Mapping[str, Percentages]) -> list[str]:
        bound = limits(args, loads.values())[1]
        return [name for name, load in loads.items() if is_above(load, bound)]

    return held_back(view, query, over, high.get(METRIC_RESOURCE, 100.0), overused)


def _limit(args: LowNodeUtilizationArgs, usage: Usage) -> int | None:
    """How many pods may leave a node: only one if pods' usage is unknown, since the need for more cannot be judged."""
    if args.eviction_limits is not None and args.eviction_limits.node is not None:
        return args.eviction_limits.node
    return 1 if usage.of_pod is None else None


def limits(args: LowNodeUtilizationArgs, loads: Iterable[Percentages]) -> tuple[Percentages, Percentages]:
    """Return up to which percentages a node is underused, and above which it is overused, given the loads of all nodes."""
    if not args.use_deviation_thresholds:
        return args.thresholds, args.target_thresholds
    chosen = ({name: load[name] for name in args.thresholds if name in load} for load in loads)
    return around(mean(chosen), args.thresholds, args.target_thresholds)


def _excess(survey: Survey, ceiling: Amounts, targets: Percentages, node: int) -> str | None:
    """The first resource that is above its ceiling, for people; None if none is."""
    used = survey.usage.by_node[node]
    for name in survey.usage.names:
        if used[name] > ceiling[name]:
            load = percentage(name, used[name], survey.capacities[node])
            if not load:
                return f"{survey.nodes.names[node]} has no {name} but pods that need it"
            figure = f"{survey.nodes.names[node]} at {name} {load:.0f} %"
            measured = f" ({survey.usage.origins[node]})" if node in survey.usage.origins and name != "pods" else ""
            return f"{figure}{measured}, target {targets.get(name, 100.0):.0f} %"
    return None


STRATEGY = Strategy(SCHEMA, suggest, sort_nodes, by_parts=True)
