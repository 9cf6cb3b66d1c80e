"""The pods that room is made for: those that wait for a node, and what a pod would request that is not there yet.

A pod that is not there tolerates what the API server would have it tolerate: taints with the key of an extended resource
that it requests. Source: Kubernetes 1.36, admission plugin ExtendedResourceToleration.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from restow.cluster.amounts import parse_amounts
from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import PODS
from restow.descheduling.framework import StrategyError, View
from restow.descheduling.node_fit import OpenNodes
from restow.descheduling.rebalancing.rules import classes
from restow.kube.excerpts import excerpt
from restow.kube.objects import Toleration

#: What stands for all waiting pods.
ALL: Final = "all"
#: The row of a pod that is not there.
NOT_THERE: Final = -1


@dataclass(frozen=True, slots=True)
class WantedPod:
    """One pod that is to have a place."""

    #: For people.
    name: str
    #: Its row, or NOT_THERE.
    pod: int
    #: What it requests, int64[resource of the cluster]; one of the resource pods.
    request: IntArray
    #: On which compared nodes it may be, bool[compared].
    allowed: BoolArray


def is_request(text: str) -> bool:
    """Whether a text says what a pod would request, and is no name: ``4 nvidia.com/gpu, 16 cpu``."""
    return " " in text.strip()


def requested(text: str) -> dict[str, int]:
    """Return the amount of each resource; ValueError for a text that is no request."""
    amounts: dict[str, int] = {}
    for part in text.split(","):
        quantity, _, resource = part.strip().partition(" ")
        if not resource.strip():
            raise ValueError(
                f'"{excerpt(part.strip())}" is no request; write a quantity and a resource: 4 nvidia.com/gpu'
            )
        amounts |= parse_amounts({resource.strip(): quantity})
    return amounts


def wanted_pods(view: View, texts: Sequence[str]) -> tuple[WantedPod, ...]:
    """The pods that are named as namespace/name, all, or by a request; those that wait come first, by falling priority.

    Raises StrategyError for a pod that does not wait, and for a resource that no node has.
    """
    names = [text for text in texts if not is_request(text)]
    pods = _waiting(view, names) if names else np.zeros(0, np.int64)
    return (
        *(_of_pod(view, pod) for pod in pods.tolist()),
        *(_of_request(view, text) for text in texts if is_request(text)),
    )


def _waiting(view: View, names: Sequence[str]) -> IntArray:
    pods = view.pods.where(view.state.exists & (view.state.node < 0) & ~view.pods.terminal)
    if ALL not in names:
        known = {view.pods.full_name(pod): pod for pod in pods.tolist()}
        unknown = [name for name in names if name not in known]
        if unknown:
            raise StrategyError(f"pods: no pod {unknown[0]} waits for a node")
        pods = np.array([known[name] for name in names], dtype=np.int64)
    by_priority: IntArray = pods[np.argsort(-view.pods.priority[pods], kind="stable")]
    return by_priority


def _of_pod(view: View, pod: int) -> WantedPod:
    request = view.state.request_vectors()[view.pods.resources[pod]].astype(np.int64)
    request[PODS] = 1
    return WantedPod(view.pods.full_name(pod), pod, request, classes(view, np.array([pod]), view.compared)[1][0])


def _of_request(view: View, text: str) -> WantedPod:
    amounts, nodes = requested(text), view.state.cluster.nodes
    request = np.zeros(len(nodes.resources), np.int64)
    for resource, amount in ({"pods": 1} | amounts).items():
        row = nodes.resource(resource)
        if row is None:
            raise StrategyError(f"pods: no node has {resource}")
        request[row] = amount
    open_nodes = OpenNodes(nodes).tolerated(_tolerations(amounts)) & ~nodes.unschedulable & ~view.closed
    return WantedPod(f"a pod with {text}", NOT_THERE, request, open_nodes[view.compared])


def _tolerations(amounts: Mapping[str, int]) -> tuple[Toleration, ...]:
    return tuple(Toleration(key=name, operator="Exists") for name in amounts if "/" in name)
