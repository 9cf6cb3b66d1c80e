"""The record of a run, built from its observations: what reports are made of, as expectations are of tallies.

It holds where evicted pods landed, for how long workloads had too few pods and budgets let none go, for how long pods
waited for a node, loops, and numbers at even intervals.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from restow.kube.timestamps import SECOND
from restow.simulating.scenarios.expectations import Measure, NodeCount, PodCount, Spread
from restow.simulating.scenarios.landings import LandingTracker, TrackedEviction
from restow.simulating.scenarios.loops import EvictionLoop, LoopDetector
from restow.simulating.scenarios.observations import (
    BudgetKey,
    Observation,
    ObservedCluster,
    ObservedPod,
    PodKey,
    workload_of,
)
from restow.simulating.scenarios.references import Reference
from restow.simulating.scenarios.tallies import Tally, tally_of

_Key = TypeVar("_Key")


@dataclass(slots=True, frozen=True)
class Downtime:
    """How long a workload had too few pods, or a budget let none go: in all and at most at a time, in nanoseconds."""

    total: int
    longest: int


@dataclass(slots=True)
class _Spans:
    """The spans of time in which a workload has too few pods, or a budget lets none go."""

    since: int | None = None
    total: int = 0
    longest: int = 0

    def begin(self, time: int) -> None:
        if self.since is None:
            self.since = time

    def end(self, time: int) -> None:
        if self.since is not None:
            self.total += time - self.since
            self.longest = max(self.longest, time - self.since)
            self.since = None


def _downtimes(histories: Mapping[_Key, _Spans], end: int) -> dict[_Key, Downtime]:
    """Those that had any until the end of a run, at ``end``."""
    for spans in histories.values():
        spans.end(end)
    return {key: Downtime(spans.total, spans.longest) for key, spans in histories.items() if spans.total}


@dataclass(slots=True)
class _WorkloadHistory(_Spans):
    """One workload as the run goes, and when it had fewer ready pods than it wants."""

    desired: int = 0
    ready: int = 0
    #: Whether it has had all the ready pods that it wants now.
    was_whole: bool = False

    def want(self, desired: int, time: int) -> None:
        if desired > self.desired:
            self.end(time)
            self.was_whole = False
        self.desired = desired

    def proceed(self, time: int) -> None:
        if self.ready >= self.desired:
            self.end(time)
            self.was_whole = True
        elif self.was_whole:
            self.begin(time)


@dataclass(slots=True)
class DisruptionTracker:
    """Follows all workloads of a run: for how long they had fewer ready pods than they want.

    What is counted is disruption, not growth: the time begins when a workload that had all its pods loses one, and ends
    when it has all of them again, or wants more than before.
    """

    _histories: defaultdict[Reference, _WorkloadHistory] = field(default_factory=lambda: defaultdict(_WorkloadHistory))

    def take(self, observation: Observation, known: Mapping[PodKey, ObservedPod]) -> None:
        """Apply an observation, given the pods as they were before."""
        touched: dict[Reference, None] = {}
        for reference, desired in observation.desired.items():
            self._histories[reference].want(desired, observation.time)
            touched[reference] = None
        for key, new in observation.pods.items():
            for pod, change in ((known.get(key), -1), (new, 1)):
                workload = None if pod is None else workload_of(pod)
                if pod is not None and workload is not None and "ready" in pod.states:
                    self._histories[workload].ready += change
                    touched[workload] = None
        for reference in touched:
            self._histories[reference].proceed(observation.time)

    def finish(self, end: int) -> dict[Reference, Downtime]:
        """Return the workloads that had too few pods at some time of a run that ended at ``end``."""
        return _downtimes(self._histories, end)


@dataclass(slots=True)
class BlockedBudgetTracker:
    """Follows all disruption budgets of a run: for how long they let no pod go, so that draining a node has to wait."""

    _histories: defaultdict[BudgetKey, _Spans] = field(default_factory=lambda: defaultdict(_Spans))

    def take(self, time: int, budgets: Mapping[BudgetKey, bool]) -> None:
        """Record which budgets allow no disruption from a time on, and which do (or are gone)."""
        for key, is_blocked in budgets.items():
            spans = self._histories[key]
            (spans.begin if is_blocked else spans.end)(time)

    def finish(self, end: int) -> dict[BudgetKey, Downtime]:
        """Return the budgets that allowed no disruption at some time of a run that ended at ``end``."""
        return _downtimes(self._histories, end)


#: The first interval of samples, and the most samples of a number.
_FIRST_DISTANCE: Final = 10 * SECOND
_MOST: Final = 120


@dataclass(slots=True, frozen=True)
class Samples:
    """By name, the numbers at 0, ``every``, twice that and so on, in nanoseconds since the start of the run."""

    every: int
    numbers: Mapping[str, tuple[float, ...]]
    #: Those of the end, which may be between two of the others.
    last: Mapping[str, float]


@dataclass(slots=True)
class Sampler:
    """Reads tallies as a run goes, at even intervals, and seldom enough to plot a run of any length.

    It begins with a number every ten seconds. When there are too many, every other one is dropped and the interval
    doubles, so the length of a run need not be known beforehand.
    """

    tallies: Mapping[str, Tally]
    _every: int = _FIRST_DISTANCE
    _rows: list[tuple[float, ...]] = field(default_factory=list)

    def pass_to(self, time: int) -> None:
        """Read the tallies for all moments before ``time`` that have not been read: nothing has changed until then."""
        while len(self._rows) * self._every < time:
            self._rows.append(tuple(each.number for each in self.tallies.values()))
            if len(self._rows) > _MOST:
                self._rows = self._rows[::2]
                self._every *= 2

    def finish(self, end: int) -> Samples:
        """Return the numbers of a run that ended at ``end``, that moment included."""
        self.pass_to(end + 1)
        numbers = dict(zip(self.tallies, zip(*self._rows, strict=True), strict=True))
        return Samples(self._every, numbers, {name: each.number for name, each in self.tallies.items()})


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
class WorkloadCourse:
    """How many pods of a workload came after the start, and how many there are on each node at the end."""

    came: int
    placed: Mapping[str, int]


@dataclass(slots=True)
class WorkloadTracker:
    """Follows which pods come, and where they are, by workload."""

    _came: Counter[Reference] = field(default_factory=Counter)

    def take(self, observation: Observation, known: Mapping[PodKey, ObservedPod]) -> None:
        """Count the pods that are new; what is there from the start is not."""
        if observation.time:
            self._came.update(_named(pod) for key, pod in observation.pods.items() if pod and key not in known)

    def finish(self, pods: Iterable[ObservedPod]) -> dict[Reference, WorkloadCourse]:
        """Return the workloads that have pods, or had new ones."""
        placed: defaultdict[Reference, Counter[str]] = defaultdict(Counter)
        for each in pods:
            if each.node and "any" in each.states:
                placed[_named(each)][each.node] += 1
        return {name: WorkloadCourse(self._came[name], placed[name]) for name in self._came.keys() | placed.keys()}


def _named(pod: ObservedPod) -> Reference:
    """What people know a pod by: its workload, or itself."""
    return workload_of(pod) or Reference("Pod", *pod.key)


@dataclass(slots=True, frozen=True)
class RunRecord:
    """A run that is over; times are nanoseconds since its start."""

    evictions: tuple[TrackedEviction, ...]
    loops: tuple[EvictionLoop, ...]
    #: Those that had too few ready pods at some time.
    disruptions: Mapping[Reference, Downtime]
    #: The disruption budgets that let no pod go at some time.
    blocked_budgets: Mapping[BudgetKey, Downtime]
    samples: Samples
    waiting: PendingTime
    #: When a pod or a node changed last.
    changed: int
    #: At the end.
    size: ClusterSize
    workloads: Mapping[Reference, WorkloadCourse]


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
    _workloads: WorkloadTracker = field(default_factory=WorkloadTracker)
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
        self._workloads.take(observation, self._view.pods)
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
            workloads=self._workloads.finish(self._view.pods.values()),
        )


def _is_change(observation: Observation, view: ObservedCluster) -> bool:
    """Whether anything is otherwise than before for people."""
    for key, pod in observation.pods.items():
        old = view.pods.get(key)
        if (old is None) != (pod is None) or (old and pod and (old.node, old.states) != (pod.node, pod.states)):
            return True
    return any(view.nodes.get(name) != node for name, node in observation.nodes.items()) or bool(observation.evictions)
