"""The record of a run, built from its observations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from restow.simulating.scenarios.budgets import BlockedBudget, BlockedBudgetTracker, BudgetKey
from restow.simulating.scenarios.disruptions import DisruptionTracker, WorkloadDisruption
from restow.simulating.scenarios.expectations import Measure, NodeCount, PodCount, Spread
from restow.simulating.scenarios.landings import LandingTracker, TrackedEviction
from restow.simulating.scenarios.loops import EvictionLoop, LoopDetector
from restow.simulating.scenarios.observations import Observation, ObservedCluster, PodKey
from restow.simulating.scenarios.references import Reference
from restow.simulating.scenarios.sampling import Sampler, Samples
from restow.simulating.scenarios.tallies import tally_of

#: What is sampled, by name.
PENDING: Final = "pending"
NODES_IN_USE: Final = "nodesInUse"
CPU_SPREAD: Final = "cpuSpread"
MEMORY_SPREAD: Final = "memorySpread"
_MEASURES: Final[dict[str, Measure]] = {
    PENDING: PodCount("pending"),
    NODES_IN_USE: NodeCount("used"),
    CPU_SPREAD: Spread("cpu"),
    MEMORY_SPREAD: Spread("memory"),
}


@dataclass(slots=True, frozen=True)
class PendingTime:
    """How many pods were without a node at most, and how long one of them, and all together, were; nanoseconds."""

    most: int
    longest: int
    total: int


@dataclass(slots=True, frozen=True)
class ClusterSize:
    """How many nodes and pods there are."""

    nodes: int
    pods: int


@dataclass(slots=True, frozen=True)
class RunRecord:
    """A run that is over; times are nanoseconds since its start."""

    evictions: tuple[TrackedEviction, ...]
    loops: tuple[EvictionLoop, ...]
    #: Those that had too few ready pods at some time.
    disruptions: Mapping[Reference, WorkloadDisruption]
    #: The disruption budgets that let no pod go at some time.
    blocked_budgets: Mapping[BudgetKey, BlockedBudget]
    samples: Samples
    waiting: PendingTime
    #: When a pod or a node changed last.
    changed: int
    #: At the end.
    size: ClusterSize


@dataclass(slots=True)
class RunRecorder:
    """Takes in a run, an observation at a time."""

    #: When a pod or a node changed last.
    changed: int = 0
    _view: ObservedCluster = field(default_factory=ObservedCluster)
    _sampler: Sampler = field(
        default_factory=lambda: Sampler({name: tally_of(each) for name, each in _MEASURES.items()})
    )
    _disruptions: DisruptionTracker = field(default_factory=DisruptionTracker)
    _blocked_budgets: BlockedBudgetTracker = field(default_factory=BlockedBudgetTracker)
    _landings: LandingTracker = field(default_factory=LandingTracker)
    _loops: LoopDetector = field(default_factory=LoopDetector)
    #: Since when pods have been without a node.
    _pending: dict[PodKey, int] = field(default_factory=dict)
    _most_pending: int = 0
    _longest_pending: int = 0
    _total_pending: int = 0

    def observe(self, observation: Observation) -> None:
        """Apply the changes of a moment."""
        self._sampler.pass_to(observation.time)
        if _is_change(observation, self._view):
            self.changed = observation.time
        self._disruptions.take(observation, self._view.pods)
        self._blocked_budgets.take(observation.time, observation.blocked_budgets)
        self._landings.take(observation, self._view.pods)
        self._loops.take(observation)
        self._wait(observation)
        touched = self._view.take(observation)
        for tally in self._sampler.tallies.values():
            tally.refresh(self._view, touched, observation)

    def _wait(self, observation: Observation) -> None:
        for key, pod in observation.pods.items():
            if pod is not None and "pending" in pod.states:
                self._pending.setdefault(key, observation.time)
            elif key in self._pending:
                self._waited(observation.time - self._pending.pop(key))
        self._most_pending = max(self._most_pending, len(self._pending))

    def _waited(self, duration: int) -> None:
        self._longest_pending = max(self._longest_pending, duration)
        self._total_pending += duration

    def finish(self, end: int) -> RunRecord:
        """Return the record of a run that ended at ``end``."""
        for since in self._pending.values():
            self._waited(end - since)
        return RunRecord(
            evictions=self._landings.finish(),
            loops=self._loops.finish(),
            disruptions=self._disruptions.finish(end),
            blocked_budgets=self._blocked_budgets.finish(end),
            samples=self._sampler.finish(end),
            waiting=PendingTime(self._most_pending, self._longest_pending, self._total_pending),
            changed=self.changed,
            size=ClusterSize(len(self._view.nodes), len(self._view.pods)),
        )


def _is_change(observation: Observation, view: ObservedCluster) -> bool:
    """Whether anything is otherwise than before for people."""
    for key, pod in observation.pods.items():
        old = view.pods.get(key)
        if (old is None) != (pod is None) or (old and pod and (old.node, old.states) != (pod.node, pod.states)):
            return True
    return any(view.nodes.get(name) != node for name, node in observation.nodes.items()) or bool(observation.evictions)
