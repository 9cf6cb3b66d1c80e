"""Observations: the changes of a run that expectations are judged by.

A run reports changes only, so that a moment costs what changes in it. ``ObservedCluster`` is the cluster that they add
up to; it is the one thing here that changes, and returns which pods and nodes a change touches.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from restow.simulating.scenarios.expectations import NodeState, PodState
from restow.simulating.scenarios.references import Reference

#: Namespace and name of a pod, and of a disruption budget.
PodKey = tuple[str, str]
BudgetKey = tuple[str, str]


@dataclass(slots=True, frozen=True)
class ObservedPod:
    """A pod as expectations see it."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    #: Where it is bound; empty while it waits for a node.
    node: str
    #: Everything that it can be counted as.
    states: frozenset[PodState]
    #: Its controller, that one's controller, and so on.
    controllers: tuple[Reference, ...] = ()
    #: By resource, in the units of ``kube.requests``.
    requests: Mapping[str, int] = field(default_factory=dict)

    @property
    def key(self) -> PodKey:
        """What identifies it at any one time."""
        return self.namespace, self.name


@dataclass(slots=True, frozen=True)
class ObservedNode:
    """A node as expectations see it; ``used`` and ``empty`` follow from the pods."""

    name: str
    labels: Mapping[str, str]
    states: frozenset[NodeState]
    #: By resource, in the units of ``kube.requests``.
    allocatable: Mapping[str, int] = field(default_factory=dict)


@dataclass(slots=True, frozen=True)
class ObservedEviction:
    """A pod that was evicted, as it was then, and who did it: an actor, and the strategy that wanted it."""

    pod: ObservedPod
    by: tuple[str, ...]
    #: The name of the replacement that came before; empty if it comes afterwards.
    replacement: str = ""


@dataclass(slots=True, frozen=True)
class ObservedScaling:
    """A workload or a group of nodes that an autoscaler has given another size."""

    target: Reference
    by: str
    #: How many pods or nodes it had to have before.
    size: int
    #: The nodes that come or go.
    nodes: tuple[str, ...] = ()


def workload_of(pod: ObservedPod) -> Reference | None:
    """Return what people know a pod by: the controller of its controllers; None of a pod that has none."""
    return pod.controllers[-1] if pod.controllers else None


@dataclass(slots=True, frozen=True)
class Observation:
    """What has changed at a moment, all of it at once; None is gone."""

    #: Nanoseconds since the start of the run.
    time: int = 0
    pods: Mapping[PodKey, ObservedPod | None] = field(default_factory=dict)
    nodes: Mapping[str, ObservedNode | None] = field(default_factory=dict)
    evictions: list[ObservedEviction] = field(default_factory=list)
    #: The replicas of workloads from now on; 0 for one that is gone.
    desired: dict[Reference, int] = field(default_factory=dict)
    #: Whether disruption budgets let no pod go from now on, by namespace and name.
    blocked_budgets: dict[BudgetKey, bool] = field(default_factory=dict)
    #: Pods that were deleted to make room for others, or because of a taint.
    displaced: list[ObservedEviction] = field(default_factory=list)
    scalings: list[ObservedScaling] = field(default_factory=list)
    #: Whether the scenario has had something happen since the last one.
    is_disturbed: bool = False


@dataclass(slots=True, frozen=True)
class Touched:
    """The pods and nodes of which something may count otherwise than before."""

    pods: Iterable[PodKey]
    nodes: Iterable[str]


@dataclass(slots=True)
class ObservedCluster:
    """The cluster as it was last seen."""

    pods: dict[PodKey, ObservedPod] = field(default_factory=dict)
    nodes: dict[str, ObservedNode] = field(default_factory=dict)
    #: What the pods of each node that are not over request together.
    requested: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    #: How many pods there are on each node because of which it is in use.
    users: Counter[str] = field(default_factory=Counter)
    _on: defaultdict[str, dict[PodKey, None]] = field(default_factory=lambda: defaultdict(dict))

    def take(self, observation: Observation) -> Touched:
        """Become what an observation says."""
        pods, nodes = dict.fromkeys(observation.pods), dict.fromkeys(observation.nodes)
        for key, new in observation.pods.items():
            old = self.pods.pop(key, None)
            if old is not None:
                self._account(old, -1)
                self._on[old.node].pop(key)
            if new is not None:
                self.pods[key] = new
                self._account(new, 1)
                self._on[new.node][key] = None
            nodes |= {each.node: None for each in (old, new) if each is not None}
        for name, node in observation.nodes.items():
            pods |= self._on[name]
            self.nodes.pop(name, None)
            if node is not None:
                self.nodes[name] = node
        return Touched(pods, nodes)

    def _account(self, pod: ObservedPod, times: int) -> None:
        """Add or take away what a pod takes of its node."""
        if "succeeded" in pod.states or "failed" in pod.states:
            return
        requested = self.requested[pod.node]
        for resource, amount in pod.requests.items():
            requested[resource] += times * amount
        if not any(each.kind == "DaemonSet" for each in pod.controllers):
            self.users[pod.node] += times
