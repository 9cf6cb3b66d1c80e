"""The numbers of statements, kept up to date as a cluster changes.

A tally remembers which pods or nodes it counts, and checks only those that a change touches: a run of 20,000 pods
reports a change many times a second.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import Final, Protocol

from restow.simulating.scenarios.expectations import EvictionCount, LoopCount, Measure, NodeCount, PodCount, Spread
from restow.simulating.scenarios.loops import LoopDetector
from restow.simulating.scenarios.observations import (
    Observation,
    ObservedCluster,
    ObservedNode,
    ObservedPod,
    PodKey,
    Touched,
)
from restow.simulating.scenarios.references import Reference

#: Shares of nodes are whole parts of this many, so that sums of them stay exact.
_PARTS: Final = 10**9


class Tally(Protocol):
    """The number of one statement."""

    def refresh(self, view: ObservedCluster, touched: Touched, observation: Observation) -> None:
        """Take a change into account, which the view has taken already."""

    @property
    def number(self) -> float:
        """The number as it is now."""

    def objects(self) -> list[str]:
        """Return what is counted: nodes by name, or the fullest first; pods as NAMESPACE/NAME."""


def tally_of(measure: Measure) -> Tally:
    """Return the tally of a measure, of an empty cluster."""
    match measure:
        case PodCount():
            return _Pods(measure)
        case NodeCount():
            return _Nodes(measure)
        case EvictionCount():
            return _Evictions(measure)
        case LoopCount():
            return _Loops(measure)
        case Spread():
            return _Spread(measure)


def _named(key: PodKey) -> str:
    return "/".join(key)


def _belongs(measure: PodCount | EvictionCount, pod: ObservedPod) -> bool:
    """Whether a statement is about a pod, on any node and in any state."""
    if measure.namespace not in (None, pod.namespace) or not measure.labels.matches(pod.labels):
        return False
    return measure.of in (None, Reference("Pod", *pod.key), *pod.controllers)


def _chosen(measure: PodCount, node: ObservedNode | None) -> bool:
    """Whether pods on a node count (None: pods that are nowhere, or on a node that is gone)."""
    if measure.on is None:
        return True
    return node is not None and measure.on.chooses(node.name, node.labels)


@dataclass(slots=True)
class _Domains:
    """How many of some pods each domain of nodes has; the skew is known without looking at every domain."""

    key: str
    #: The domain of each node that has one.
    of_node: dict[str, str] = field(default_factory=dict)
    _nodes: Counter[str] = field(default_factory=Counter)
    _pods: dict[str, int] = field(default_factory=dict)
    #: How many domains have each number of pods.
    _levels: Counter[int] = field(default_factory=Counter)

    def place(self, node: str, domain: str | None) -> None:
        """Move a node to a domain, or to none."""
        old = self.of_node.pop(node, None)
        if domain is not None:
            self.of_node[node] = domain
            self._nodes[domain] += 1
        if old is not None:
            self._nodes[old] -= 1

    def settle(self) -> None:
        """Forget domains without nodes, and take in new ones; once all nodes are placed."""
        for domain in [each for each in self._nodes if (self._nodes[each] > 0) != (each in self._pods)]:
            if domain in self._pods:
                self._level(self._pods.pop(domain), -1)
            else:
                self._pods[domain] = 0
                self._level(0, 1)
        self._nodes = +self._nodes

    def count(self, domain: str | None, pods: int) -> None:
        """Add pods to a domain, or take them away; to one that is gone it makes no difference."""
        if domain is not None and domain in self._pods:
            self._level(self._pods[domain], -1)
            self._pods[domain] += pods
            self._level(self._pods[domain], 1)

    def skew(self) -> int:
        """How many more pods are in the fullest domain than in the emptiest."""
        return max(self._levels, default=0) - min(self._levels, default=0)

    def _level(self, pods: int, domains: int) -> None:
        self._levels[pods] += domains
        if not self._levels[pods]:
            del self._levels[pods]


@dataclass(slots=True)
class _Pods:
    measure: PodCount
    #: The pods that count, each with its domain.
    counted: dict[PodKey, str | None] = field(default_factory=dict)
    domains: _Domains = field(init=False)

    def __post_init__(self) -> None:
        self.domains = _Domains(self.measure.skew_across or "")

    def refresh(self, view: ObservedCluster, touched: Touched, observation: Observation) -> None:
        if self.measure.skew_across is not None and observation.nodes:
            for name in observation.nodes:
                self.domains.place(name, self._domain(view.nodes.get(name)))
            self.domains.settle()
        for key in touched.pods:
            if key in self.counted:
                self.domains.count(self.counted.pop(key), -1)
            pod = view.pods.get(key)
            if pod is not None and self._counts(pod, view.nodes.get(pod.node)):
                self.counted[key] = self.domains.of_node.get(pod.node)
                self.domains.count(self.counted[key], 1)

    def _counts(self, pod: ObservedPod, node: ObservedNode | None) -> bool:
        return self.measure.state in pod.states and _belongs(self.measure, pod) and _chosen(self.measure, node)

    def _domain(self, node: ObservedNode | None) -> str | None:
        return node.labels.get(self.domains.key) if node is not None and _chosen(self.measure, node) else None

    @property
    def number(self) -> float:
        return len(self.counted) if self.measure.skew_across is None else self.domains.skew()

    def objects(self) -> list[str]:
        return sorted(map(_named, self.counted))


@dataclass(slots=True)
class _Nodes:
    measure: NodeCount
    counted: dict[str, None] = field(default_factory=dict)

    def refresh(self, view: ObservedCluster, touched: Touched, _observation: Observation) -> None:
        for name in touched.nodes:
            self.counted.pop(name, None)
            node = view.nodes.get(name)
            if node is not None and self._counts(node, used=view.users[name] > 0):
                self.counted[name] = None

    def _counts(self, node: ObservedNode, *, used: bool) -> bool:
        states = node.states | {"used" if used else "empty"}
        return self.measure.state in states and self.measure.labels.matches(node.labels)

    @property
    def number(self) -> float:
        return len(self.counted)

    def objects(self) -> list[str]:
        return sorted(self.counted)


@dataclass(slots=True)
class _Evictions:
    measure: EvictionCount
    counted: list[PodKey] = field(default_factory=list)

    def refresh(self, _view: ObservedCluster, _touched: Touched, observation: Observation) -> None:
        wanted = self.measure.by
        self.counted += [
            each.pod.key
            for each in observation.evictions
            if (wanted is None or wanted in each.by) and _belongs(self.measure, each.pod)
        ]

    @property
    def number(self) -> float:
        return len(self.counted)

    def objects(self) -> list[str]:
        return [*map(_named, self.counted)]


@dataclass(slots=True)
class _Loops:
    measure: LoopCount
    loops: LoopDetector = field(default_factory=LoopDetector)

    def refresh(self, _view: ObservedCluster, _touched: Touched, observation: Observation) -> None:
        self.loops.take(observation)

    @property
    def number(self) -> float:
        return len(self.objects())

    def objects(self) -> list[str]:
        wanted = self.measure
        return [
            str(each)
            for each in self.loops.looped
            if wanted.of in (None, each) and wanted.namespace in (None, each.namespace)
        ]


@dataclass(slots=True)
class _Spread:
    measure: Spread
    #: What pods request of each node, in parts of ``_PARTS``.
    shares: dict[str, int] = field(default_factory=dict)
    total: int = 0
    squares: int = 0

    def refresh(self, view: ObservedCluster, touched: Touched, _observation: Observation) -> None:
        for name in touched.nodes:
            old = self.shares.pop(name, None)
            if old is not None:
                self.total, self.squares = self.total - old, self.squares - old * old
            new = self._share(view.nodes.get(name), view.requested[name])
            if new is not None:
                self.shares[name] = new
                self.total, self.squares = self.total + new, self.squares + new * new

    def _share(self, node: ObservedNode | None, requested: Counter[str]) -> int | None:
        if node is None or not self.measure.labels.matches(node.labels):
            return None
        room = node.allocatable.get(self.measure.resource, 0)
        return requested[self.measure.resource] * _PARTS // room if room > 0 else None

    @property
    def number(self) -> float:
        nodes = len(self.shares)
        if not nodes:
            return 0.0
        return math.sqrt(nodes * self.squares - self.total * self.total) / nodes / _PARTS

    def objects(self) -> list[str]:
        return sorted(self.shares, key=lambda name: (-self.shares[name], name))
