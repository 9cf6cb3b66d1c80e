"""Eviction limits of one cycle, counted per node, per namespace and in total.

The policy sets them as ``maxNoOfPodsToEvictPerNode``, ``maxNoOfPodsToEvictPerNamespace`` and
``maxNoOfPodsToEvictTotal``. A limit of 0 refuses everything; an absent one nothing. The total is checked first, then
the node, then the namespace. Source: Descheduler 0.36, evictions.PodEvictor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from restow.cluster.state import ClusterState
from restow.descheduling.framework import Verdict
from restow.descheduling.placement import PluginRef
from restow.policies.codes import RefusalCode
from restow.policies.policy import Policy

#: Verdict, stable code and upstream's text of a refusal.
LimitRefusal = tuple[Verdict, RefusalCode, str]

TOTAL: LimitRefusal = (
    Verdict.TOTAL_LIMIT,
    RefusalCode.MAX_TOTAL,
    "maximum number of evicted pods per a descheduling cycle reached",
)
NODE: LimitRefusal = (Verdict.NODE_LIMIT, RefusalCode.MAX_PER_NODE, "maximum number of evicted pods per node reached")
NAMESPACE: LimitRefusal = (
    Verdict.REFUSED,
    RefusalCode.MAX_PER_NAMESPACE,
    "maximum number of evicted pods per namespace reached",
)


class PriorEviction(NamedTuple):
    """An eviction that the same cycle has already made, by names. It counts in the limits of the next decision."""

    namespace: str
    node: str
    profile: str
    plugin: str


class LimitUse(NamedTuple):
    """One limit that an eviction counts in: its code, what is used of it, and how much there is."""

    code: str
    used: int
    limit: int


@dataclass(slots=True)
class Limits:
    """The limits of a policy and what a cycle has used of them."""

    per_node: int | None = None
    per_namespace: int | None = None
    total: int | None = None
    _on_node: Counter[int] = field(default_factory=Counter)
    _in_namespace: Counter[int] = field(default_factory=Counter)
    _by_ref: Counter[tuple[int, int]] = field(default_factory=Counter)
    _all: int = 0

    @staticmethod
    def of(policy: Policy) -> Limits:
        """The limits of a policy, unused."""
        return Limits(
            per_node=policy.max_no_of_pods_to_evict_per_node,
            per_namespace=policy.max_no_of_pods_to_evict_per_namespace,
            total=policy.max_no_of_pods_to_evict_total,
        )

    def refusal(self, state: ClusterState, pod: int) -> LimitRefusal | None:
        """Which limit one more eviction would break."""
        if self.total is not None and self._all >= self.total:
            return TOTAL
        if self.per_node is not None:
            node = int(state.node[pod])
            if node >= 0 and self._on_node[node] >= self.per_node:
                return NODE
        if self.per_namespace is not None:
            namespace = int(state.cluster.pods.namespace[pod])
            if self._in_namespace[namespace] >= self.per_namespace:
                return NAMESPACE
        return None

    def uses(self, state: ClusterState, pod: int) -> list[LimitUse]:
        """The limits in which the eviction of a pod would count, in the order in which they are checked."""
        node, namespace = int(state.node[pod]), int(state.cluster.pods.namespace[pod])
        counts = (
            (RefusalCode.MAX_TOTAL, self._all, self.total),
            (RefusalCode.MAX_PER_NODE, self._on_node[node], self.per_node),
            (RefusalCode.MAX_PER_NAMESPACE, self._in_namespace[namespace], self.per_namespace),
        )
        return [LimitUse(code, used, limit) for code, used, limit in counts if limit is not None]

    def copy(self) -> Limits:
        """A copy that counts further evictions separately."""
        return replace(
            self,
            _on_node=self._on_node.copy(),
            _in_namespace=self._in_namespace.copy(),
            _by_ref=self._by_ref.copy(),
        )

    def spend(self, prior_evictions: Iterable[PriorEviction], state: ClusterState, refs: Sequence[PluginRef]) -> None:
        """Count prior evictions; ``refs`` are the strategies in order. Nodes that no longer exist are not counted."""
        nodes = {name: number for number, name in enumerate(state.cluster.nodes.names)}
        namespaces = {name: number for number, name in enumerate(state.cluster.pods.tables.namespaces)}
        for each in prior_evictions:
            self._all += 1
            self._in_namespace[namespaces.get(each.namespace, -1)] += 1
            if (node := nodes.get(each.node)) is not None:
                self._on_node[node] += 1
                self._by_ref[refs.index(PluginRef(each.profile, each.plugin)), node] += 1

    def moved(self, ref: int, node: int) -> int:
        """How many pods of a node the n-th strategy has evicted."""
        return self._by_ref[ref, node]

    def count(self, state: ClusterState, pod: int, node: int, ref: int) -> None:
        """Count the eviction of a pod from a node by the n-th strategy."""
        self._all += 1
        self._by_ref[ref, node] += 1
        if self.per_node is not None:
            self._on_node[node] += 1
        if self.per_namespace is not None:
            self._in_namespace[int(state.cluster.pods.namespace[pod])] += 1
