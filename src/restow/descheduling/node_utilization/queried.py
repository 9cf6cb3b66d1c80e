"""Usage from the result of a query: one figure for each node, 0 to 1, for the one resource ``MetricResource``.

As upstream reads it, the newest sample of every listed node counts, and one that is missing or out of range keeps the
strategy from working. With ``restow.usage`` in the policy a figure may be a percentile of a window, and a node without
enough fresh samples is unknown: it neither gives pods nor counts as able to take them. Only queries have a history, so only
here nodes can be held back that are not overused for long, or whose usage falls anyway. Source: Descheduler 0.36, the usage
clients of plugins/nodeutilization.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Literal

import numpy as np

from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.usage_samples import (
    NO_USAGE,
    Figure,
    NodeSamples,
    QueryResult,
    UsageQuery,
    falls_to,
    no_client,
)
from restow.descheduling.framework import StrategyError, View
from restow.descheduling.node_utilization.figures import figure_by, in_words, share_unseen
from restow.descheduling.node_utilization.usage import (
    METRIC_RESOURCE,
    Percentages,
    PodUsage,
    Usage,
    add_unseen,
    move_along,
    step,
)
from restow.descheduling.plan import MeasuredNode, MeasuredUsage
from restow.kube.duration import SECOND, format_duration
from restow.kube.excerpts import excerpt
from restow.kube.quantity import NANO_PER_UNIT
from restow.plain_text import some
from restow.policies.policy import Policy, UsageSettings
from restow.policies.usage import queries_of
from restow.usage.measured import Amounts, container_usage, pod_metrics


def result_of(view: View, query: UsageQuery) -> QueryResult:
    """The result of a query; StrategyError with upstream's text if it was not asked or has no usable result."""
    result = view.state.cluster.usage.get(query)
    if result is None:
        raise StrategyError(no_client(query.source))
    if result.problem:
        raise StrategyError(result.problem)
    return result


def queried(view: View, query: UsageQuery) -> Usage:
    """Usage from a query, cut to whole percents; StrategyError with upstream's text if it cannot be used."""
    result, settings = result_of(view, query), view.usage
    figures = figures_of(result, settings)
    if settings is None:
        _check_complete(view, figures)
    else:
        _note_unknown(view, figures)
    by_node = {
        node: {METRIC_RESOURCE: whole_percents(figures[name].value) * NANO_PER_UNIT}
        for node, name in _listed(view)
        if name in figures
    }
    add_unseen(view, by_node, partial(share_unseen, settings, figures, result.at))
    origins = {node: origin(query, figures[name], settings) for node, name in _listed(view) if name in figures}
    of_pod = None if settings is None or settings.per_pod is None else _shares_of(view, settings.per_pod, by_node)
    return Usage((METRIC_RESOURCE,), by_node, of_pod, origins)


@lru_cache(maxsize=8)
def figures_of(result: QueryResult, settings: UsageSettings | None) -> Mapping[str, Figure]:
    """The figures by node name; StrategyError for samples without a node and for figures outside 0 to 1."""
    figures: dict[str, Figure] = {}
    for series in result.samples:
        if not series.node:
            raise StrategyError(f"{NO_USAGE}: the collected metrics sample is missing 'instance' key")
        figure = _newest(series, result.at) if settings is None else figure_by(settings, series, result.at)
        if figure is None:
            continue
        _check_share(series.node, _newest_values(series) if settings is None else [figure.value])
        figures[series.node] = figure
    return figures


def origin(query: UsageQuery, figure: Figure, settings: UsageSettings | None) -> str:
    """Where a figure comes from and how old it is, for people."""
    return in_words(settings, f"{query.source} {excerpt(' '.join(query.text.split()))}", figure)


def whole_percents(share: float) -> int:
    """A share of 0 to 1, cut to whole percents as upstream does."""
    return int(share * 100)


def _check_share(node: str, values: Iterable[float]) -> None:
    for value in values:
        if not 0 <= value <= 1:
            raise StrategyError(
                f'{NO_USAGE}: the collected metrics sample for "{excerpt(node)}" has value '
                f"{_number(value)} outside of <0; 1> interval"
            )


def _newest_values(series: NodeSamples) -> list[float]:
    """The newest value of each series of a node: one, unless several series have the node's name."""
    newest: list[float] = series.values[series.times == series.times[-1]].tolist()
    return newest


def _newest(series: NodeSamples, at: float) -> Figure:
    return Figure(float(series.values[-1]), max(0.0, at - float(series.times[-1])), 1)


def _listed(view: View) -> Iterator[tuple[int, str]]:
    names = view.state.cluster.nodes.names
    return ((node, names[node]) for node in view.compared.tolist())


def _check_complete(view: View, figures: Mapping[str, Figure]) -> None:
    for _, name in _listed(view):
        if name not in figures:
            raise StrategyError(f"{NO_USAGE}: unable to find metric entry for {name}")


def _note_unknown(view: View, figures: Mapping[str, Figure]) -> None:
    unknown = [name for _, name in _listed(view) if name not in figures]
    if unknown:
        view.note(f"the usage of {some(unknown, 1)} is not known: too few samples, too old ones, or several series")


def _number(value: float) -> str:
    """A value as upstream prints it."""
    if not math.isfinite(value):
        return {"nan": "NaN", "inf": "+Inf"}.get(str(value), "-Inf")
    return np.format_float_positional(value, trim="-")


# The figure is divided among the pods of the node in proportion to another resource: to what metrics say that they
# use, if there are metrics of all of them, else to what they request. A pod with a share of 0 stays: its move would
# gain nothing.
def _shares_of(view: View, resource: Literal["cpu", "memory"], by_node: dict[int, Amounts]) -> PodUsage:
    """Return what each pod contributes to the figure of its node; the figures themselves are not changed.

    The figures of ``by_node`` are corrected by later moves: a replacement counts on its new node.
    """
    reported = {node: amounts[METRIC_RESOURCE] for node, amounts in by_node.items()}
    pods = view.pods
    residents: dict[int, list[int]] = {}
    for pod in np.flatnonzero(pods.read() & ~pods.terminal & (pods.node >= 0)).tolist():
        residents.setdefault(int(pods.node[pod]), []).append(pod)

    @cache
    def amounts_on(node: int) -> Mapping[int, int]:
        return _amounts(view, resource, residents.get(node, []))

    def of_pod(pod: int) -> Mapping[str, int] | None:
        original = pods.original(pod)
        node = int(pods.node[original])
        amounts = amounts_on(node)
        total = sum(amounts.values())
        if node not in reported or not total or not amounts.get(original):
            return None
        return {METRIC_RESOURCE: reported[node] * amounts[original] // total}

    move_along(view, by_node, of_pod)
    return of_pod


def _amounts(view: View, resource: str, pods: list[int]) -> dict[int, int]:
    """What each pod of one node uses or requests, in nano-units."""
    measured = {pod: _measured(view, resource, pod) for pod in pods}
    known = {pod: amount for pod, amount in measured.items() if amount is not None}
    if len(known) == len(pods):
        return known
    resources = view.pods.tables.resources
    return {pod: resources[view.pods.resources[pod]].requests.get(resource, 0) * step(resource) for pod in pods}


def _measured(view: View, resource: str, pod: int) -> int | None:
    metrics = pod_metrics(view.state.cluster, pod) if view.collects_metrics else None
    if metrics is None:
        return None
    return sum(container_usage(each).get(resource, 0) for each in metrics.containers or ())


def measured_usage(cluster: ClusterSnapshot, policy: Policy) -> tuple[MeasuredUsage, ...]:
    """The answers to a policy's queries that the cluster holds, in the policy's order."""
    answered = ((query, cluster.usage.get(query)) for query in queries_of(policy))
    return tuple(
        _measured_usage(query, result, policy.restow.usage, cluster) for query, result in answered if result is not None
    )


def _measured_usage(
    query: UsageQuery, result: QueryResult, settings: UsageSettings | None, cluster: ClusterSnapshot
) -> MeasuredUsage:
    percentile = settings.percentile if settings is not None else None
    nodes = tuple(_nodes(result, settings, cluster)) if not result.problem else ()
    return MeasuredUsage(
        source=query.source, query=query.text, percentile=percentile, problem=result.problem, nodes=nodes
    )


def _nodes(result: QueryResult, settings: UsageSettings | None, cluster: ClusterSnapshot) -> Iterator[MeasuredNode]:
    try:
        figures = figures_of(result, settings)
    except StrategyError:
        # It is among the problems of the plan already.
        return
    for name in cluster.nodes.names:
        if name in figures:
            figure = figures[name]
            yield MeasuredNode(name, round(figure.value, 4), round(figure.age, 1), figure.samples)


#: Finds the overused ones among some nodes, by their percentages.
Overused = Callable[[Mapping[str, Percentages]], Iterable[str]]


# Both guards need more than one figure of a node: earlier figures, which are compared with the same thresholds, and the
# trend come from the samples of a query. Requests and metrics.k8s.io have no history, so neither guard applies to them.
def held_back(view: View, query: UsageQuery, over: Sequence[int], target: float, overused: Overused) -> list[int]:
    """The overused nodes that give up pods; the view notes why the others do not."""
    settings = view.usage
    if settings is None:
        return list(over)
    result = result_of(view, query)
    names = {view.state.cluster.nodes.names[node]: node for node in over}
    lasting = _lasting(result, settings, names, overused)
    _note(view, names.keys() - lasting, _too_short(result, settings))
    falling = _falling(result, settings, lasting, target)
    _note(view, falling, f"falling: it will be at its target within {format_duration(settings.trend_guard)}")
    return [node for name, node in names.items() if name in lasting and name not in falling]


def _lasting(result: QueryResult, settings: UsageSettings, names: Iterable[str], overused: Overused) -> set[str]:
    """The nodes that are overused now and were in as many of the last cycles as the policy requires."""
    times = dict.fromkeys(names, 1)
    for earlier in result.earlier[: settings.cycles_in_all - 1]:
        for name in times.keys() & set(_overused_then(earlier, settings, overused)):
            times[name] += 1
    return {name for name, count in times.items() if count >= settings.cycles}


def _overused_then(earlier: QueryResult, settings: UsageSettings, overused: Overused) -> Iterable[str]:
    try:
        figures = figures_of(earlier, settings)
    except StrategyError:
        return ()
    return overused({name: {METRIC_RESOURCE: float(whole_percents(each.value))} for name, each in figures.items()})


def _too_short(result: QueryResult, settings: UsageSettings) -> str:
    known = min(len(result.earlier) + 1, settings.cycles_in_all)
    return f"overused in fewer than {settings.cycles} of the last {settings.cycles_in_all} cycles ({known} known)"


def _falling(result: QueryResult, settings: UsageSettings, names: set[str], target: float) -> set[str]:
    """The nodes whose usage will soon be at the target if it continues to fall."""
    if not settings.trend_guard:
        return set()
    falling = set()
    for series in result.samples:
        end = falls_to(series, result.at, settings.trend_guard / SECOND) if series.node in names else None
        if end is not None and end * 100 <= target:
            falling.add(series.node)
    return falling


def _note(view: View, names: Iterable[str], why: str) -> None:
    held = sorted(names)
    if held:
        view.note(f"{some(held, 1)} keep{'s' if len(held) == 1 else ''} all pods: {why}")
