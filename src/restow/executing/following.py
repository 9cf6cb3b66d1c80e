"""Follows an eviction until its replacement exists, has a node and is ready, or a deadline passes.

The state is checked a few times a second, not after every change of the cluster: with hundreds of evictions under way, every
change would cause hundreds of checks. The first checks come sooner, because the next proven move waits for this landing.

kube-scheduler chooses among equal nodes at random, so a replacement may land on another node than the one that the plan
assumes. If the plan has a place on that node for an interchangeable pod, the two have only changed places: no node gets
fuller than the plan makes it, and once all moves are made the cluster is the one that was proven. If no such place is
left (``FreePlaces``), the later moves assume a cluster that does not exist.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from restow.cluster.pod_values import Phase, PodNow
from restow.descheduling.vetoes import closed_now
from restow.executing.history import Awaited, EvictionHistory
from restow.executing.revalidation import is_there, surplus
from restow.executing.steering import Steers
from restow.executing.surroundings import ClusterView, ExecutionSettings, elapsed
from restow.executing.task import (
    Cleared,
    Landed,
    LandingMatch,
    Missing,
    Outcome,
    Settled,
    Task,
    Unready,
    Unverified,
    match_of,
)
from restow.kube.duration import SECOND, format_duration
from restow.workloads import controllers
from restow.workloads.replacements import ReplacementPolicy

#: Seconds until the second look, how much longer each pause is than the one before, and the longest.
_FIRST_PAUSE, _LONGER, _PAUSE = 0.02, 1.2, 0.25
#: Candidates named in a sentence.
_TOLD = 3

#: Namespace and uid of a controller.
_Owner = tuple[str, str]


class FreePlaces:
    """The places of one plan that no replacement has taken yet."""

    def __init__(self, tasks: Iterable[Task]) -> None:
        #: How many, by kind of pod and node.
        self._free: Counter[tuple[Hashable, str]] = Counter(
            (task.interchangeable, task.move.target)
            for task in tasks
            if task.interchangeable is not None and task.move.target is not None
        )

    def take(self, task: Task, node: str) -> bool:
        """Whether the plan holds if the replacement of a task is on a node; if so, its place there is taken."""
        move = task.move
        if task.interchangeable is None:
            return move.target in (None, node)
        place = task.interchangeable, node
        if not self._free[place] or (node == move.source and node != move.target) or node in move.in_vain:
            return False
        self._free[place] -= 1
        return True


class Following:
    """Follows the replacements of one plan and records the results in the memory."""

    def __init__(
        self,
        view: ClusterView,
        memory: EvictionHistory,
        settings: ExecutionSettings,
        steering: Steers,
        places: FreePlaces,
    ) -> None:
        self._view = view
        self._memory = memory
        self._settings = settings
        self._steering = steering
        self._places = places
        self._replacements = ReplacementTracker()
        self._stopped: str | None = None
        #: The interruptions before each eviction that is followed, by the task's number.
        self._interruptions: dict[int, int] = {}
        #: Whether every proven move so far has done what the proofs of later ones assume.
        self._on_track = True

    def stop(self, why: str) -> None:
        """Stop waiting, for this reason."""
        self._stopped = why

    def expect(self, task: Task) -> None:
        """Prepare for the replacement of a pod that is about to be evicted."""
        if task.owner is not None:
            self._replacements.expect(task, self._view.pods_of(*_owner(task)))
            self._interruptions[task.number] = self._view.interruptions

    def expect_any(self, task: Task) -> None:
        """Prepare for the replacement of a pod whose task has got a new controller: all pods of that are replacements."""
        self._replacements.expect(task, ())

    def stray(self, task: Task) -> None:
        """Note that a move has not done what the proofs of later moves assume, or not yet."""
        self._on_track = self._on_track and not task.is_proven

    def forget(self, task: Task) -> None:
        """Forget a task that has ended."""
        self._replacements.finish(task)
        self._interruptions.pop(task.number, None)

    async def follow(self, task: Task) -> AsyncIterator[Outcome]:
        """Yield the landing, if there is one, and then the ending."""
        # A replacement that comes after the old pod can only come once that has ended.
        waits = 2 if task.replacement_policy is ReplacementPolicy.AFTERWARDS else 1
        deadline = elapsed() + waits * self._settings.ready
        pod: PodNow | None = None
        steered: str | None = None
        landed: Landed | None = None
        pause = _FIRST_PAUSE
        while True:
            pod = self._now(task, pod)
            # A nomination behind another program's gate would hold a place that the pod may not need for long.
            if task.is_steered and pod is not None and pod.uid != steered and not pod.waits_for_others:
                steered = pod.uid
                await self._steer(task, pod)
            if landed is None and pod is not None and pod.node is not None:
                landed = self._landed(task, pod.name, pod.node)
                yield landed
            ending = self._ending(task, pod, landed, deadline)
            if ending is not None:
                yield ending
                return
            await asyncio.sleep(pause)
            pause = min(_PAUSE, pause * _LONGER)

    async def _steer(self, task: Task, pod: PodNow) -> None:
        """Nominate a replacement that waits behind its gate. Called once for each, because our view may lag behind.

        A replacement that came without a gate, or whose target no longer takes pods or is about to be removed, is withdrawn
        and so released; and so is one that ``Releasing`` has released because others did not take their gates off in time.
        """
        target = task.move.target
        assert target is not None
        is_open = closed_now(self._settings.vetoes, self._view.node_row(target)) is None
        if pod.is_gated and is_open and self._view.takes_pods(target):
            await self._steering.nominate(task, pod)
        else:
            await self._steering.withdraw(task)

    def _now(self, task: Task, pod: PodNow | None) -> PodNow | None:
        """The current state of the replacement; if it is gone, the next one."""
        if pod is not None:
            same = self._view.pod(pod.namespace, pod.name)
            if same is not None and same.uid == pod.uid and not same.is_terminating:
                return same
        if task.restarts:
            # The StatefulSet may have created another one by now; the name stays the same.
            found = self._view.pod(task.move.pod.namespace, task.move.pod.name)
            return None if found is None or found.uid == task.move.pod.uid or found.is_terminating else found
        return self._replacements.find(task, self._view.pods_of(*_owner(task)))

    def _landed(self, task: Task, pod: str, node: str) -> Landed:
        # What cut us off may have cut the scheduler off too: then it places pods late, on another cluster than the proof's.
        is_seen = self._view.interruptions == self._interruptions[task.number]
        has_place = self._places.take(task, node)
        match = match_of(task, node, has_place=has_place, on_track=self._on_track and is_seen)
        if match is LandingMatch.ELSEWHERE:
            foretold = ", ".join(task.move.candidates[:_TOLD])
            more = ", ..." if len(task.move.candidates) > _TOLD else ""
            self._memory.note_failed_prediction(
                task, elapsed(), f"{pod} landed on {node}, but the plan predicted {foretold}{more}"
            )
        elif match is LandingMatch.IN_VAIN:
            self._memory.note_failed_prediction(
                task, elapsed(), f"{pod} landed on {node}, where {task.move.plugin} gains nothing"
            )
        elif match is LandingMatch.BACK:
            self._memory.note_failed_prediction(task, elapsed(), f"{pod} landed on {node} again")
        if not has_place:
            self.stray(task)
        return Landed(task, pod, node, match, invalidates_plan=task.is_proven and not has_place)

    def _ending(self, task: Task, pod: PodNow | None, landed: Landed | None, deadline: float) -> Outcome | None:
        if pod is not None and is_there(pod):
            self._confirm(task, pod, landed)
            return Settled(task)
        if self._stopped is not None:
            return Unverified(task, self._stopped)
        if pod is not None and pod.phase == Phase.FAILED:
            return self._unready(task, pod, "has failed")
        if pod is None and not task.move.is_replaced_first and surplus(task, self._view) is not None:
            self.stray(task)
            return Cleared(task, invalidates_plan=task.is_proven)
        return self._overdue(task, pod) if elapsed() >= deadline else None

    def _overdue(self, task: Task, pod: PodNow | None) -> Outcome:
        within = f"within {format_duration(int(self._settings.ready * SECOND))}"
        if pod is not None:
            return self._unready(task, pod, f"was not {'ready' if pod.node else 'scheduled'} {within}")
        return self._missing(task, within)

    def _missing(self, task: Task, within: str) -> Outcome:
        """The ending if no replacement was seen. It is not a failure while the pods of the cluster are not known."""
        if (why := self._view.unknown(("Pod",))) is not None:
            return Unverified(task, why)
        message = f"no replacement of {task.move.pod} was created {within}"
        self._memory.note_failed_prediction(task, elapsed(), message)
        return Missing(task, message)

    def _confirm(self, task: Task, pod: PodNow, landed: Landed | None) -> None:
        if landed is not None and landed.match is LandingMatch.PREDICTED:
            self._memory.confirm(task)
        elif landed is not None and landed.match is LandingMatch.UNPREDICTED:
            self._memory.note(task, pod.uid, elapsed())

    def _unready(self, task: Task, pod: PodNow, what: str) -> Unready:
        self._memory.wait_for(task, Awaited(pod.namespace, pod.name, pod.uid))
        return Unready(task, f"{pod.name}, the replacement of {task.move.pod}, {what}")


# A replacement is a pod of the same controller that was not there when the eviction was requested. That of a StatefulSet
# has the same name. If several evictions of one controller are under way, each new pod is the replacement of one pod.
@dataclass(slots=True)
class ReplacementTracker:
    """The replacements of all evictions under way."""

    #: By the controller: the pods that were there before, and those that were found to be replacements.
    _known: dict[_Owner, set[str]] = field(default_factory=dict)
    _expecting: dict[_Owner, set[int]] = field(default_factory=dict)

    def expect(self, task: Task, pods: Sequence[PodNow]) -> None:
        """Note the controller's pods before an eviction is requested. Calling it twice does no harm."""
        owner = _owner(task)
        expecting = self._expecting.setdefault(owner, set())
        if not expecting:
            self._known[owner] = {pod.uid for pod in pods}
        expecting.add(task.number)

    def find(self, task: Task, pods: Sequence[PodNow]) -> PodNow | None:
        """The replacement of a task, which belongs to this task from then on; None if it has not come."""
        assert task.owner is not None
        known = self._known[_owner(task)]
        for pod in pods:
            is_ours = task.owner.kind != controllers.STATEFUL_SET or pod.name == task.move.pod.name
            if is_ours and pod.uid not in known and not pod.is_terminating:
                known.add(pod.uid)
                return pod
        return None

    def finish(self, task: Task) -> None:
        """Forget a task whose replacement is not awaited any more."""
        owner = None if task.owner is None else _owner(task)
        if owner in self._expecting:
            expecting = self._expecting[owner]
            expecting.discard(task.number)
            if not expecting:
                del self._expecting[owner], self._known[owner]


def _owner(task: Task) -> _Owner:
    """Namespace and uid of the controller of a task that has one."""
    assert task.owner is not None
    return task.move.pod.namespace, task.owner.uid
