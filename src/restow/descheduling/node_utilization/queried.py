"""Usage from the result of a query: one figure for each node, 0 to 1, for the one resource ``MetricResource``.

As upstream reads it, the newest sample of every listed node counts, and one that is missing or out of range keeps the
strategy from working. With ``restow.usage`` in the policy a figure may be a percentile of a window, and a node without
enough fresh samples is unknown: it neither gives pods nor counts as able to take them. Source: Descheduler 0.36, the
usage clients of plugins/nodeutilization.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Literal

import numpy as np

from restow.cluster.pods import NO_POD
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.usage import Amounts, age_text, container_usage, pod_metrics
from restow.cluster.usage_changes import UsageChange
from restow.cluster.usage_samples import NO_USAGE, Figure, NodeSamples, QueryResult, UsageQuery, figure_of, no_client
from restow.descheduling.framework import StrategyError, View
from restow.descheduling.node_utilization.capacity import METRIC_RESOURCE, add_unseen, step
from restow.descheduling.node_utilization.usage import PodUsage, Usage
from restow.descheduling.plan import MeasuredNode, MeasuredUsage
from restow.kube.duration import SECOND, format_duration
from restow.kube.excerpts import excerpt
from restow.kube.quantity import NANO_PER_UNIT
from restow.plain_text import some
from restow.policies.policy import Policy, UsageSettings
from restow.policies.usage_section import queries_of


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
    add_unseen(view, by_node, partial(_share_unseen, figures, result.at, settings))
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
        figure = _newest(series, result.at) if settings is None else _figure(series, result.at, settings)
        if figure is None:
            continue
        _check_share(series.node, _newest_values(series) if settings is None else [figure.value])
        figures[series.node] = figure
    return figures


def origin(query: UsageQuery, figure: Figure, settings: UsageSettings | None) -> str:
    """Where a figure comes from and how old it is, for people."""
    asked = f"{query.source} {excerpt(' '.join(query.text.split()))}"
    if settings is None or settings.percentile is None:
        return f"{asked}, {age_text(figure.age)}"
    window = format_duration(settings.window)
    return f"p{settings.percentile:g} over {window} of {asked}, {figure.samples} samples, the newest {age_text(figure.age)}"


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


def _figure(series: NodeSamples, at: float, settings: UsageSettings) -> Figure | None:
    """The figure of a node; None if its samples are too few, too old, or from several series."""
    if (series.times[1:] == series.times[:-1]).any():
        return None
    window = settings.window if settings.percentile is not None or settings.min_samples > 1 else settings.max_age
    figure = figure_of(series, at, percentile=settings.percentile, window=window / SECOND)
    if figure is None or figure.samples < settings.min_samples or figure.age > settings.max_age / SECOND:
        return None
    return figure


def _share_unseen(
    figures: Mapping[str, Figure], at: float, settings: UsageSettings | None, change: UsageChange
) -> float:
    """A figure includes a change once there is a later sample; a percentile, once there are enough later samples."""
    since = at - change.at / SECOND
    if settings is None or settings.percentile is None:
        return float(since <= figures[change.node].age)
    share = settings.percentile / 100
    return float(since < settings.window / SECOND * (1 - share if change.is_arrival else share))


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

    _move_along(view, by_node, of_pod)
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


def _move_along(view: View, by_node: Mapping[int, Amounts], of_pod: PodUsage) -> None:
    state, pods = view.state, view.pods
    for replacement in pods.where(state.exists & (pods.replaces != NO_POD) & (state.node >= 0)).tolist():
        used = of_pod(replacement)
        if used is None:
            continue
        for node, sign in ((int(pods.node[pods.original(replacement)]), -1), (int(state.node[replacement]), 1)):
            if node in by_node:
                by_node[node][METRIC_RESOURCE] += sign * used[METRIC_RESOURCE]


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
