"""NodeResourcesFit: enough of every requested resource filters; how much is left (or used) scores.

Filtering compares requests with allocatable minus what is requested already; a request that the whole node could never
serve is unresolvable. Scoring counts a container that requests no CPU or memory as 100m and 200Mi, so that such pods
are not free. Source: Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import CPU, MEMORY, PODS
from restow.scheduling.context import Context
from restow.scheduling.framework import PASSES, PROCEED, Judgement, Outcome, PreFiltered, Scores
from restow.scheduling.nonzero_usage import NonzeroUsage
from restow.scheduling.per_node import PerNode
from restow.scheduling.resource_scoring import ScoringStrategy, least_allocated

NAME = "NodeResourcesFit"

Amounts = npt.NDArray[np.int64]

_TOO_MANY_PODS = "Too many pods"
_BASIC = ("cpu", "memory", "ephemeral-storage")


class NodeResourcesFit:
    """Filter and score."""

    name = NAME
    local = True

    def __init__(
        self,
        context: Context,
        *,
        strategy: ScoringStrategy = least_allocated,
        weights: Mapping[str, int] | None = None,
        ignored_resources: Sequence[str] = (),
        ignored_groups: Sequence[str] = (),
    ) -> None:
        self._state = context.state
        self._nodes = context.state.cluster.nodes
        self._strategy = strategy
        self._weights = dict(weights or {"cpu": 1, "memory": 1})
        self._ignored = frozenset(ignored_resources)
        self._ignored_groups = frozenset(ignored_groups)
        self._usage = NonzeroUsage(context.state)
        self._scores = PerNode(context.state, self._compute)

    def prefilter(self, _pod: int) -> PreFiltered:
        """Every pod takes at least a pod slot."""
        return PROCEED

    def judge(self, pod: int, nodes: IntArray) -> Judgement:
        """Reject nodes that lack something; all that is lacking is told."""
        return self.judge_usage(pod, nodes, self._state.running[nodes], self._state.requested[:, nodes])

    def judge_usage(self, pod: int, nodes: IntArray, running: Amounts, requested: Amounts) -> Judgement:
        """The same for nodes that run so many pods, int64[node], with such requests, int64[resource, node]."""
        lacking = [(_TOO_MANY_PODS, running + 1 > self._nodes.allocatable[PODS, nodes])]
        hopeless = np.zeros(len(nodes), dtype=bool)
        for row in self.filtered_rows(pod):
            request = self._state.requests_of(pod)[row]
            allocatable = self._nodes.allocatable[row, nodes]
            lacking.append((f"Insufficient {self._nodes.resources[row]}", request > allocatable - requested[row]))
            hopeless |= request > allocatable
        return _judgement(lacking, hopeless)

    def score(self, pod: int, nodes: IntArray) -> Scores:
        """The strategy's score of the node as it would be with the pod."""
        scores: Scores = self._scores.of(int(self._state.cluster.pods.resources[pod]))[nodes]
        return scores

    def filtered_rows(self, pod: int) -> list[int]:
        """The rows of the resources that a pod requests and that the scheduler knows, in upstream's order."""
        pods = self._state.cluster.pods
        requests = pods.tables.resources[pods.resources[pod]].requests
        named = [name for name, amount in requests.items() if amount > 0 and self._filters(name)]
        ordered = sorted(named, key=lambda name: (_BASIC.index(name) if name in _BASIC else len(_BASIC), name))
        return [self._nodes.resources.index(name) for name in ordered]

    def _filters(self, name: str) -> bool:
        if name in _BASIC:
            return True
        if not is_scalar(name) or name in self._ignored:
            return False
        return not (is_extended(name) and name.partition("/")[0] in self._ignored_groups)

    def _compute(self, resources: int, nodes: IntArray) -> Scores:
        container = self._state.cluster.pods.tables.resources[resources]
        used, capacity, weights = [], [], []
        for name, weight in self._weights.items():
            row = self._nodes.resource(name)
            if row is None or (name not in _BASIC and container.requests.get(name, 0) == 0):
                continue
            requested = self._usage.requested() if row in (CPU, MEMORY) else self._state.requested
            used.append(requested[row, nodes] + container.scored.get(name, 0))
            capacity.append(self._nodes.allocatable[row, nodes])
            weights.append(weight)
        if not weights:
            return np.zeros(len(nodes), dtype=np.int64)
        return self._strategy(np.array(used), np.array(capacity), np.array(weights, dtype=np.int64)[:, None])


@cache
def is_extended(name: str) -> bool:
    """Whether a resource is an extended one: with a domain that is not Kubernetes' own."""
    return "/" in name and not name.partition("/")[0].endswith("kubernetes.io") and not name.startswith("requests.")


@cache
def is_scalar(name: str) -> bool:
    """Whether the scheduler keeps account of a resource beside CPU, memory and ephemeral storage.

    Extended resources, huge pages, attachable volumes and native resources with a prefix; others are dropped.
    """
    return is_extended(name) or name.startswith(("hugepages-", "attachable-volumes-")) or "kubernetes.io/" in name


def _judgement(lacking: Sequence[tuple[str, BoolArray]], hopeless: BoolArray) -> Judgement:
    """One category for each combination of failing resources."""
    fails = np.stack([mask for _, mask in lacking])
    category = np.full(fails.shape[1], PASSES)
    rejected = np.flatnonzero(fails.any(axis=0))
    if len(rejected) == 0:
        return Judgement(category, ())
    rows = np.vstack([fails[:, rejected], hopeless[rejected]])
    patterns, index = np.unique(rows, axis=1, return_inverse=True)
    category[rejected] = index.ravel()
    return Judgement(category, [_outcome(lacking, patterns[:, column]) for column in range(patterns.shape[1])])


def _outcome(lacking: Sequence[tuple[str, BoolArray]], pattern: npt.NDArray[np.bool_]) -> Outcome:
    reasons = tuple(reason for (reason, _), fails in zip(lacking, pattern[:-1], strict=True) if fails)
    return Outcome(reasons, unresolvable=bool(pattern[-1]))
