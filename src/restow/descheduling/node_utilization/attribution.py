"""What each pod contributes to the usage of its node, if only the node's figure is known.

The figure is divided among the pods of the node in proportion to another resource: to what metrics say that they use, if
there are metrics of all of them, else to what they request. A pod with a share of 0 stays: its move would gain nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

import numpy as np

from restow.cluster.pods import NO_POD
from restow.cluster.usage import Amounts, container_usage, pod_metrics
from restow.descheduling.framework import View
from restow.descheduling.node_utilization.capacity import METRIC_RESOURCE, step
from restow.descheduling.node_utilization.usage import PodUsage


def shares_of(view: View, resource: Literal["cpu", "memory"], by_node: dict[int, Amounts]) -> PodUsage:
    """Return what each pod contributes to the figure of its node; the figures themselves are not changed.

    The figures of ``by_node`` are corrected by what has moved since they were: a replacement counts where it is.
    """
    told = {node: amounts[METRIC_RESOURCE] for node, amounts in by_node.items()}
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
        if node not in told or not total or not amounts.get(original):
            return None
        return {METRIC_RESOURCE: told[node] * amounts[original] // total}

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
