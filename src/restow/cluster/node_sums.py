"""Pods whose requests together are more than int64 holds on one node: the largest are left out.

Each amount fits, but kube-scheduler's sums wrap around there, and a node with two pods of 8 EiB looks empty. No kubelet
takes such a pod; whoever names the node in the pod itself gets it there for a moment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from restow.cluster.amounts import LARGEST
from restow.cluster.pods import Pods


def beyond_sums(pods: Pods) -> dict[int, str]:
    """The pods to leave out, so that each sum over the pods of a node, or meant for it, fits; and the resource of each."""
    found: dict[int, str] = {}
    for resource, amounts in _large_amounts(pods):
        for together in _by_node(pods):
            total = sum(amounts[pod] for pod in together)
            for pod in sorted(together, key=lambda each: (-amounts[each], each)):
                if total <= LARGEST:
                    break
                total -= amounts[pod]
                found.setdefault(pod, resource)
    return found


def _large_amounts(pods: Pods) -> Iterator[tuple[str, list[int]]]:
    """Each resource of which all pods together could have too much, with the amount of each pod."""
    tables = pods.tables
    wanted = [_larger(each.requests, each.nonzero) for each in tables.resources]
    held = [_larger(*each) for each in tables.held]
    largest: dict[str, int] = {}
    for each in (*wanted, *held):
        for resource, amount in each.items():
            largest[resource] = max(amount, largest.get(resource, 0))
    for resource in sorted(name for name, amount in largest.items() if amount * len(pods) > LARGEST):
        of_spec, of_status = (_column(each, resource) for each in (wanted, held))
        amounts = of_spec[pods.resources]
        resized = pods.held >= 0
        amounts[resized] = np.maximum(amounts[resized], of_status[pods.held[resized]])
        amounts[pods.terminal] = 0
        yield resource, amounts.tolist()


def _larger(requests: Mapping[str, int], nonzero: Mapping[str, int]) -> dict[str, int]:
    return {name: max(requests.get(name, 0), nonzero.get(name, 0)) for name in {**requests, **nonzero}}


def _column(rows: list[dict[str, int]], resource: str) -> npt.NDArray[np.int64]:
    return np.array([row.get(resource, 0) for row in rows], dtype=np.int64)


def _by_node(pods: Pods) -> list[list[int]]:
    """The pods of each node, those that are nominated for it included."""
    on_node: defaultdict[int, list[int]] = defaultdict(list)
    for pod, (node, nominated) in enumerate(zip(pods.node.tolist(), pods.nominated.tolist(), strict=True)):
        for each in {node, nominated}:
            if each >= 0:
                on_node[each].append(pod)
    return list(on_node.values())
