"""Loops: workloads that return to an earlier state, and are moved or scaled again, time after time.

Each time an actor moves or scales a workload, its state just before is compared with earlier such states. The third
time in the same state it has gone round twice, and that is a loop. A state is where pods of which revision stand and
how many the workload wants; names and times of pods do not count.

States are the same in two ways: on the same nodes; or on nodes that look alike, with the same other pods, where the
moved pods came after the first time, so that moving them gained nothing.

An event from outside starts the comparison afresh: an event of the scenario forgets all earlier states; a pod that
comes or goes by itself (one of a Job, or of no controller) forgets those of workloads that were moved from or to its
node.

Placements are kept as sums of digests, one of each pod, so a change costs what changes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from restow.simulating.scenarios.events import DRAIN
from restow.simulating.scenarios.observations import (
    Observation,
    ObservedEviction,
    ObservedNode,
    ObservedPod,
    PodKey,
    workload_of,
)
from restow.simulating.scenarios.references import Reference

#: Rounds after which a loop is reported.
_ROUNDS: Final = 2
#: Actors that evict on request or by time, no matter where a pod is.
_ORDERED: Final = frozenset((DRAIN, "PodLifeTime"))
#: Whose pods come and go by themselves.
_PASSING: Final = frozenset(("Job", "CronJob"))
#: A pod's workload, its revision, and its node.
_Place = tuple[Reference | None, str, str]
_HOSTNAME: Final = "kubernetes.io/hostname"


@dataclass(slots=True, frozen=True)
class LoopedWorkload:
    """A workload that goes round."""

    workload: Reference
    #: How many of its pods were moved meanwhile, and how often it was scaled.
    moved: int
    scaled: int
    #: Those that pods left, and those that replacements came to; by name.
    nodes: tuple[str, ...]


@dataclass(slots=True, frozen=True)
class EvictionLoop:
    """Workloads that go round together, because they meet on nodes; times are nanoseconds since the start of the run."""

    #: When the state that came back was first acted on, and when it was last.
    since: int
    until: int
    #: How often it came back between.
    rounds: int
    #: Who drives it: strategies, ``preemption``, ``taint-eviction``, ``node-pressure`` and autoscalers, by name.
    by: tuple[str, ...]
    workloads: tuple[LoopedWorkload, ...]

    @property
    def period(self) -> int:
        """How long it takes to go round, on average."""
        return (self.until - self.since) // self.rounds


@dataclass(slots=True, frozen=True)
class _Step:
    """What was done to a workload at a moment."""

    time: int
    by: frozenset[str]
    moved: int = 0
    scaled: int = 0


@dataclass(slots=True)
class _WorkloadHistory:
    """A workload, and everything that was done to it since something came from outside."""

    #: How many of its pods are on each node.
    pods: Counter[str] = field(default_factory=Counter)
    placement: int = 0
    desired: int = 0
    steps: list[_Step] = field(default_factory=list)
    #: The steps, by their numbers, that were taken in each state.
    visits: defaultdict[Hashable, list[int]] = field(default_factory=lambda: defaultdict(list))
    #: What pods left or came to since the first step.
    nodes: set[str] = field(default_factory=set)
    #: The pods that came since and are there.
    came: set[PodKey] = field(default_factory=set)
    #: Whether a state has recurred often enough.
    is_loop: bool = False

    def act(self, states: Iterable[Hashable], step: _Step, nodes: Iterable[str]) -> None:
        for state in states:
            self.visits[state].append(len(self.steps))
            self.is_loop |= len(self.visits[state]) > _ROUNDS
        self.steps.append(step)
        self.nodes.update(filter(None, nodes))

    def forget(self) -> None:
        self.steps, self.visits, self.nodes, self.came, self.is_loop = [], defaultdict(list), set(), set(), False

    def loop(self, workload: Reference) -> EvictionLoop:
        """The loop that it is, by the state that came back most often."""
        visits = max(self.visits.values(), key=len)
        steps = self.steps[visits[0] : visits[-1]]
        moved, scaled = sum(each.moved for each in steps), sum(each.scaled for each in steps)
        return EvictionLoop(
            since=steps[0].time,
            until=self.steps[visits[-1]].time,
            rounds=len(visits) - 1,
            by=tuple(sorted(frozenset[str]().union(*(each.by for each in steps)))),
            workloads=(LoopedWorkload(workload, moved, scaled, tuple(sorted(self.nodes))),),
        )


@dataclass(slots=True)
class LoopDetector:
    """Follows a run; made before its first moment."""

    #: Each workload that was found to be in a loop, as often as it was in another one.
    looped: list[Reference] = field(default_factory=list)
    _histories: defaultdict[Reference, _WorkloadHistory] = field(default_factory=lambda: defaultdict(_WorkloadHistory))
    _places: dict[PodKey, _Place] = field(default_factory=dict)
    #: What each node looks like except for its name, and what is on it.
    _looks: dict[str, str] = field(default_factory=dict)
    _contents: Counter[str] = field(default_factory=Counter)
    #: Workloads that were moved or scaled, and whose states are not forgotten.
    _acted: dict[Reference, _WorkloadHistory] = field(default_factory=dict)
    #: Those that something from outside has ended.
    _ended: list[EvictionLoop] = field(default_factory=list)

    def take(self, observation: Observation) -> None:
        """Apply an observation."""
        if observation.is_disturbed:
            self._forget(list(self._acted))
        self._act(observation)
        for workload, desired in observation.desired.items():
            self._histories[workload].desired = desired
        for name, node in observation.nodes.items():
            self._looks[name] = "" if node is None else _look(node)
        for key, pod in observation.pods.items():
            self._change(key, pod)

    def finish(self) -> tuple[EvictionLoop, ...]:
        """Return the loops, those that began first first."""
        going = [history.loop(workload) for workload, history in self._acted.items() if history.is_loop]
        return tuple(
            sorted(_joined([*self._ended, *going]), key=lambda each: (each.since, str(each.workloads[0].workload)))
        )

    def _act(self, observation: Observation) -> None:
        """Enter what was done at a moment, with the states before."""
        moved: defaultdict[Reference, list[ObservedEviction]] = defaultdict(list)
        for eviction in (*observation.evictions, *observation.displaced):
            workload = workload_of(eviction.pod)
            if workload is None or workload.kind in _PASSING or eviction.by[0] in _ORDERED:
                continue
            if "any" in eviction.pod.states:
                moved[workload].append(eviction)
        for workload, evictions in moved.items():
            history = self._histories[workload]
            step = _Step(observation.time, frozenset(each.by[0] for each in evictions), moved=len(evictions))
            states = [("names", history.placement, history.desired)]
            if not history.steps or any(each.pod.key in history.came for each in evictions):
                states.append(("looks", self._likeness(history), history.desired))
            self._enter(workload, states, step, [each.pod.node for each in evictions])
        for each in observation.scalings:
            step = _Step(observation.time, frozenset((each.by,)), scaled=1)
            self._enter(each.target, [(each.by, each.size)], step, each.nodes)

    def _likeness(self, history: _WorkloadHistory) -> int:
        """What the nodes that a workload is on look like, with all that is on them."""
        return sum(
            _digest(self._looks.get(node, node), str(self._contents[node]))
            for node, pods in history.pods.items()
            if pods
        )

    def _enter(self, workload: Reference, states: Iterable[Hashable], step: _Step, nodes: Iterable[str]) -> None:
        history = self._acted[workload] = self._histories[workload]
        was_loop = history.is_loop
        history.act(states, step, nodes)
        if history.is_loop and not was_loop:
            self.looped.append(workload)

    def _change(self, key: PodKey, pod: ObservedPod | None) -> None:
        """A pod came, went or was bound."""
        before, after = self._places.pop(key, None), _place(pod)
        if after is not None:
            self._places[key] = after
        if before == after:
            return
        if before is not None:
            self._count(key, before, -1)
        if after is not None:
            self._count(key, after, 1)

    def _count(self, key: PodKey, place: _Place, times: int) -> None:
        workload, kind, node = place
        self._contents[node] += times * _digest(kind, "")
        if workload is None or workload.kind in _PASSING:
            self._forget([each for each, history in self._acted.items() if node in history.nodes])
            return
        history = self._histories[workload]
        history.placement += times * _digest(kind, node)
        history.pods[node] += times
        history.came.discard(key)
        if times > 0 and history.steps and node:
            history.nodes.add(node)
            history.came.add(key)

    def _forget(self, workloads: Iterable[Reference]) -> None:
        for workload in workloads:
            history = self._acted.pop(workload)
            if history.is_loop:
                self._ended.append(history.loop(workload))
            history.forget()


def _place(pod: ObservedPod | None) -> _Place | None:
    """What matters of a pod; None for one that is gone, going or over."""
    if pod is None or "any" not in pod.states:
        return None
    return workload_of(pod), str(pod.controllers[0]) if pod.controllers else pod.name, pod.node


def _look(node: ObservedNode) -> str:
    labels = sorted((key, value) for key, value in node.labels.items() if key != _HOSTNAME)
    return str((labels, sorted(node.states), sorted(node.allocatable.items())))


@lru_cache(maxsize=1 << 16)
def _digest(what: str, where: str) -> int:
    return int.from_bytes(blake2b(f"{what}\0{where}".encode(), digest_size=16).digest())


def _joined(loops: Iterable[EvictionLoop]) -> Iterator[EvictionLoop]:
    """Yield loops, those of one time that meet on nodes as one."""
    groups: list[tuple[set[str], list[EvictionLoop]]] = []
    for loop in sorted(loops, key=lambda each: each.since):
        nodes = {node for each in loop.workloads for node in each.nodes}
        joined = [loop]
        for group in [each for each in groups if _meet(each, nodes, loop.since)]:
            groups.remove(group)
            nodes, joined = nodes | group[0], group[1] + joined
        groups.append((nodes, joined))
    yield from (_together(each) for _, each in groups)


def _meet(group: tuple[set[str], Sequence[EvictionLoop]], nodes: set[str], since: int) -> bool:
    return not group[0].isdisjoint(nodes) and any(each.until >= since for each in group[1])


def _together(group: Sequence[EvictionLoop]) -> EvictionLoop:
    """One loop of several; its times are those of the one that went round most often."""
    longest = max(group, key=lambda each: (each.rounds, -each.since))
    workloads = sorted((each for loop in group for each in loop.workloads), key=lambda each: str(each.workload))
    by = tuple(sorted({name for loop in group for name in loop.by}))
    return EvictionLoop(longest.since, longest.until, longest.rounds, by, tuple(workloads))
