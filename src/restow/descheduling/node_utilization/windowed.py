"""Usage as ``restow.usage`` reads it: each node and each pod counts with its percentile of a window.

A node without enough fresh samples is unknown. A pod counts with the percentile of the samples that were watched of it,
else with its metrics object; where that is only an estimate, with its share of what its node counts with.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.usage_samples import NO_USAGE, Figure
from restow.descheduling.framework import StrategyError, View
from restow.descheduling.node_utilization.figures import figure_by, in_words, of_window, share_unseen, why_none
from restow.descheduling.node_utilization.newest import (
    listed,
    newest_of_pod,
    of_one_node,
    of_one_pod,
    share_of_mean_unseen,
)
from restow.descheduling.node_utilization.node_histories import NodeHistories
from restow.descheduling.node_utilization.usage import PodUsage, Usage, add_unseen, move_along
from restow.kube.duration import SECOND
from restow.plain_text import some
from restow.policies.policy import UsageSettings
from restow.usage.measured import (
    COLLECTED,
    NANO,
    OF_PODS,
    Amount,
    Amounts,
    EstimatedMetrics,
    age_text,
    key_of,
    pod_usage,
    recent_usage,
)
from restow.usage.stored import pod_shares


class _Node(Struct, frozen=True):
    """What a node counts with; its figure has the fewest samples and the greatest age of its resources."""

    name: str
    source: str
    #: In nano-units; a resource that was never measured counts as 0.
    amounts: Amounts
    figure: Figure


def windowed(view: View, settings: UsageSettings, names: tuple[str, ...]) -> Usage:
    """What the samples come to; StrategyError if those of no node come to anything."""
    known = _known(view, settings, [each for each in COLLECTED if each in names] or COLLECTED)
    by_node = {node: of_one_node(view, node, each.amounts, names) for node, each in known.items()}
    of_pod = _pods(view, settings, known, names)
    move_along(view, by_node, of_pod)
    figures = {each.name: each.figure for each in known.values()}
    of_samples = partial(share_unseen, settings, figures, view.now / SECOND)
    add_unseen(view, by_node, partial(share_of_mean_unseen, view) if settings.percentile is None else of_samples)
    origins = {node: in_words(settings, each.source, each.figure) for node, each in known.items()}
    return Usage(names, by_node, of_pod, origins, _summary(settings, known))


def _known(view: View, settings: UsageSettings, resources: Sequence[str]) -> dict[int, _Node]:
    """The nodes with a figure of each resource. The view notes why others have none; StrategyError if all are others."""
    histories, now = NodeHistories.of(view.state.cluster, view.now / SECOND), view.now / SECOND
    known: dict[int, _Node] = {}
    unknown: defaultdict[str, list[str]] = defaultdict(list)
    for node in view.compared.tolist():
        name = view.state.cluster.nodes.names[node]
        samples = histories.samples(name, resources)
        figures = {resource: figure_by(settings, each, now) for resource, each in samples.items()}
        lacking = next((samples[resource] for resource, each in figures.items() if each is None), None)
        if lacking is not None or not figures:
            unknown[why_none(settings, lacking, now)].append(name)
        else:
            known[node] = _node(name, histories.source(name), figures)
    _note(view, [f"the usage of {some(nodes, 1)} is not known: {why}" for why, nodes in unknown.items()], known)
    return known


def _note(view: View, texts: Sequence[str], known: Mapping[int, _Node]) -> None:
    if texts and not known:
        raise StrategyError(f"{NO_USAGE}: {'; '.join(texts)}")
    for text in texts:
        view.note(text)


def _node(name: str, source: str, figures: Mapping[str, Figure | None]) -> _Node:
    of_resource = {resource: each for resource, each in figures.items() if each is not None}
    amounts = dict.fromkeys(COLLECTED, 0) | {name: _nano(name, each.value) for name, each in of_resource.items()}
    oldest, fewest = max(each.age for each in of_resource.values()), min(each.samples for each in of_resource.values())
    return _Node(name, source, amounts, Figure(0.0, oldest, fewest))


def _nano(resource: str, value: float) -> int:
    """Milli-CPUs or whole bytes as nano-units."""
    return round(value * NANO[resource]) if resource == "cpu" else round(value) * NANO[resource]


def _summary(settings: UsageSettings, known: Mapping[int, _Node]) -> str:
    """What all figures are, who measured, and how old the oldest of the newest samples is."""
    text = of_window(settings, listed(each.source for each in known.values()))
    if not known:
        return text
    age = age_text(max(each.figure.age for each in known.values()))
    if settings.percentile is None:
        return f"{text}, at most {age}"
    return f"{text}, {min(each.figure.samples for each in known.values())} samples or more, the newest at most {age}"


def _pods(view: View, settings: UsageSettings, known: Mapping[int, _Node], names: tuple[str, ...]) -> PodUsage:
    """What each pod counts with."""
    cluster = view.state.cluster
    if any(isinstance(each, EstimatedMetrics) for each in cluster.kind("PodMetrics").values()):
        return _estimated(cluster, known, names)
    recent = recent_usage(cluster, OF_PODS)
    if recent is None or settings.percentile is None:
        return partial(newest_of_pod, cluster, names)
    values = recent.percentiles(settings.percentile, settings.window / SECOND, view.now / SECOND)
    return _watched(cluster, {name: at for at, name in enumerate(recent.names)}, values, names)


def _estimated(cluster: ClusterSnapshot, known: Mapping[int, _Node], names: tuple[str, ...]) -> PodUsage:
    """The share of each pod of what its node counts with."""
    used = {each.name: {name: amount // NANO[name] for name, amount in each.amounts.items()} for each in known.values()}
    shares = pod_shares(cluster, used)

    def of_pod(pod: int) -> Mapping[str, int] | None:
        metrics = shares.get(key_of(cluster, pod))
        return None if metrics is None else of_one_pod(pod_usage(metrics), names)

    return of_pod


def _watched(cluster: ClusterSnapshot, index: Mapping[str, int], values: Amount, names: tuple[str, ...]) -> PodUsage:
    """The percentile of each pod, float[resource, column], by its name; its metrics object without a sample."""

    def of_pod(pod: int) -> Mapping[str, int] | None:
        column = index.get(cluster.pods.full_name(pod), -1)
        if column < 0 or np.isnan(values[:, column]).any():
            return newest_of_pod(cluster, names, pod)
        used = {name: _nano(name, float(values[row, column])) for row, name in enumerate(COLLECTED)}
        return of_one_pod(used, names)

    return of_pod
