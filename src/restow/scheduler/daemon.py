"""The scheduler of one cluster: it takes pending pods one after the other, decides, and binds each to its node.

Decisions are made one at a time, in the event loop; between two decisions, changes from the watches are applied.
Requests to the API server (binds, deletions, conditions) run concurrently. A pod stays in flight in the queue until its
request is answered, so every pod ends bound or queued, whatever changes in between.
Source: the scheduling and binding cycles of kube-scheduler, Kubernetes 1.36.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from random import Random, random
from typing import Any, Final

from restow.client.binding import BindingRefused, Bound, Elsewhere, ObjectRef, PodGone
from restow.client.leadership import Permit
from restow.client.transport import Api
from restow.cluster.pods import NO_POD, PENDING
from restow.cluster.snapshot import Key
from restow.live.cluster import LiveCluster
from restow.live.kinds import REQUIRED
from restow.scheduler.attempts import FailedAttempt, RunningAttempt, asks_for_room, ref_of, victims_of
from restow.scheduler.mirror import Mirror, MirrorChanges, PodChange
from restow.scheduler.observing import AttemptObserver, AttemptTimer, Result
from restow.scheduler.pod_requests import PodRequests
from restow.scheduler.queue_events import events_of, pod_events, waits
from restow.scheduler.settings import KINDS, SchedulerSettings, volume_patience
from restow.scheduler.usage import UsageWatch, usage_window
from restow.scheduler.volumes import Volumes
from restow.scheduling.framework.verdicts import rejecting_plugins
from restow.scheduling.loop.choosing import NodeChooser
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.plugins.default_preemption import NAME as PREEMPTION
from restow.scheduling.queueing.queued_pod import QueuedPod
from restow.scheduling.queueing.rules import QueueingRules
from restow.scheduling.queueing.scheduling_queue import SchedulingQueue
from restow.scheduling.volumes.reservations import Reservation

#: Seconds of deciding before other tasks run.
_SLICE: Final = 0.005
#: What protects pods from preemption.
_BUDGETS: Final = ("PodDisruptionBudget",)
#: For a pod that restow cannot place, such as one that would be bound without its devices.
_LEAVE: Final = "leave such pods to kube-scheduler"
#: The share of attempts in which each plugin is timed. Source: kube-scheduler 1.36.
_SAMPLED: Final = 0.1
#: Seconds without events after which a scheduler checks its watches.
_LOOK: Final = 10.0


class SchedulerDaemon:
    """Its queue and its view of the cluster; ``watching`` keeps the view, ``schedule`` decides and binds."""

    def __init__(self, api: Api, settings: SchedulerSettings, rules: QueueingRules, observer: AttemptObserver) -> None:
        self._settings = settings
        self._names = frozenset(profile.name for profile in settings.profiles)
        self._observer = observer
        self._wake = asyncio.Event()
        self.mirror = Mirror(settings.profiles)
        self.live = LiveCluster(api, KINDS, warn=observer.warn, touch=self._touch, done="scheduled")
        self.queue = SchedulingQueue(rules, _now(), settings.queue)
        self._choice = NodeChooser(Random(settings.seed))  # noqa: S311  breaks ties, keeps no secret
        self._requests = PodRequests(api, self.live, observer)
        self._volumes = Volumes(api, self.live)
        self._usage = UsageWatch(api, usage_window(settings.profiles), self.mirror.measure, observer.warn)
        #: Seconds that the pods of each profile wait for their volumes.
        self._patience = {profile.name: volume_patience(profile) for profile in settings.profiles}
        #: The profiles that preempt.
        self._preempting = frozenset(each.name for each in settings.profiles if each.runs(PREEMPTION, "postFilter"))
        #: Attempts that wait for volumes.
        self._aside = 0
        self._tasks: set[asyncio.Task[None]] = set()
        #: An exception of an attempt, which should never raise.
        self._fault: BaseException | None = None

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        """Follow the cluster while the block runs, with or without the permission to write."""
        await self.live.start()
        usage = asyncio.create_task(self._usage.follow()) if self._usage.window else None
        try:
            yield
        finally:
            if usage is not None:
                usage.cancel()
            await self.live.stop()

    async def schedule(self, permit: Permit) -> None:
        """Decide and bind until cancelled, from when the cluster is known; cancelling ends all attempts in progress.

        WatchEndedError if the watches have ended for good.
        """
        await self._all_kinds()
        self.mirror.begin(self.live)
        self._enqueue_all()
        try:
            while True:
                await self._turn(permit)
        finally:
            await self._end_all()

    async def _all_kinds(self) -> None:
        """Wait until all kinds that decisions depend on are listed, as kube-scheduler does."""
        while True:
            await self.live.wait_ready(float("inf"))
            if self.live.unknown(KINDS) is None:
                return
            await asyncio.sleep(_LOOK)

    async def _turn(self, permit: Permit) -> None:
        """Make decisions for a while, or wait until there is one to make."""
        self._wake.clear()
        if self._fault is not None:
            # How requests in flight ended is unknown; the next process finds out.
            raise self._fault
        end = _now() + _SLICE
        while not self._is_full and self._is_informed():
            self._catch_up()
            if self.mirror.is_behind:
                await asyncio.sleep(0)
                return
            queued = self.queue.pop(_now())
            if queued is None:
                break
            self._try(queued, permit)
            if _now() >= end:
                await asyncio.sleep(0)
                return
        await self._something()

    def _is_informed(self) -> bool:
        """Whether nodes and pods are known well enough to decide; WatchEndedError if their watches have ended."""
        return self.live.unknown(REQUIRED) is None

    @property
    def _is_full(self) -> bool:
        """Whether the maximum of attempts waits for the API server."""
        return len(self._tasks) - self._aside >= self._settings.in_flight

    async def _something(self) -> None:
        """Wait until there may be something to do."""
        idle = self._is_full or not self._is_informed()
        due = None if idle else self.queue.next_wakeup(_now())
        pause = _LOOK if due is None else min(max(due - _now(), _SLICE), _LOOK)
        try:
            async with asyncio.timeout(pause):
                await self._wake.wait()
        except TimeoutError:
            return

    def _touch(self, kind: str, keys: Iterable[Key]) -> None:
        self.mirror.touch(kind, keys)
        self._wake.set()

    def _enqueue_all(self) -> None:
        """Add all pending pods, the oldest first."""
        waiting = [pod for pod in self.mirror.pods() if waits(pod, self._names)]
        for pod in sorted(waiting, key=lambda each: (each.created, each.facts.namespace, each.facts.name)):
            self.queue.add(pod.facts, _now())

    def _catch_up(self) -> None:
        if self.mirror.is_behind:
            self._take(self.mirror.catch_up())

    def _take(self, changes: MirrorChanges) -> None:
        """Pass changes to the queue."""
        for change in changes.pods:
            self._follow(change)
        for event in events_of(changes):
            self.queue.on_event(event, _now())

    def _follow(self, change: PodChange) -> None:
        """Keep exactly the pending pods in the queue."""
        before, after = change.before, change.after
        if after is not None and waits(after, self._names):
            self.queue.update(after.facts, _now())
        elif before is not None and (after is None or not self.mirror.is_assumed(after.facts.uid)):
            self.queue.delete(before.facts.uid)
            self._requests.forget(before.facts.uid)

    def _try(self, queued: QueuedPod, permit: Permit) -> None:
        """Make one attempt: decide, and start what carries the decision out."""
        mirror, began = self.mirror, _now()
        pod = mirror.find((queued.pod.namespace, queued.pod.name), queued.key)
        if pod == NO_POD or int(mirror.state.node[pod]) != PENDING:
            self.queue.delete(queued.key)
            return
        if mirror.state.terminating[pod]:
            # It will never need a node.
            self.queue.delete(queued.key)
            return
        ref = ref_of(mirror.state, pod)
        timing = AttemptTimer(with_plugins=random() < _SAMPLED)  # noqa: S311  keeps no secret
        decision = self._decide(pod, timing)
        trial = RunningAttempt(queued=queued, pod=ref, began=began, decided=_now(), timing=timing)
        if isinstance(decision, FailedAttempt):
            self._reject(trial, decision, permit)
            return
        if decision.ranking is None:
            self._reject(trial, self._rejection(pod, decision, queued.pod.scheduler), permit)
            return
        node = self._choice.node(mirror.schedulers, decision)
        needs = mirror.schedulers.reservation(pod, node)
        mirror.assume(pod, node)
        self.queue.done(queued.key)
        self._start(self._bind(trial, mirror.state.cluster.nodes.names[node], needs, permit))

    def _decide(self, pod: int, timing: AttemptTimer) -> SchedulingDecision | FailedAttempt:
        """The decision for a pod; an exception in a plugin fails this attempt only."""
        try:
            return self.mirror.schedulers.decide(pod, timing)
        except Exception as fault:  # noqa: BLE001  whatever is wrong with one pod, the others are scheduled
            # The state may be in the middle of a dry run.
            self.mirror.restart()
            self._observer.warn(f"a decision failed: {type(fault).__name__}: {fault}")
            return FailedAttempt(message=f"running the plugins: {type(fault).__name__}: {fault}", is_error=True)

    def _rejection(self, pod: int, decision: SchedulingDecision, profile: str) -> FailedAttempt:
        """Why no node takes a pod; if it preempts pods of a node, that node is nominated for it from now on."""
        if decision.error:
            return FailedAttempt(message=decision.error, is_error=True)
        rejected_by = rejecting_plugins(decision.verdicts)
        if decision.unknown:
            return FailedAttempt(message=f"{decision.message}; {_LEAVE}", rejected_by=rejected_by)
        tried = profile in self._preempting and asks_for_room(decision)
        if decision.victims and self.live.unknown(_BUDGETS) is not None:
            # The disruption budgets are unknown.
            return FailedAttempt(message=decision.message, rejected_by=rejected_by, tried_preemption=tried)
        state, nominated = self.mirror.state, None
        outranked: list[ObjectRef] = []
        victims = victims_of(state, decision)
        if decision.nominated_node >= 0:
            nominated = state.cluster.nodes.names[decision.nominated_node]
            outranked = [ref_of(state, each) for each in self.mirror.nominate(pod, decision.nominated_node)]
        elif decision.preemption is not None and decision.preemption.keeps_nomination:
            pass
        elif self.mirror.drop_nomination(pod):
            nominated = ""
        return FailedAttempt(
            message=decision.message,
            rejected_by=rejected_by,
            tried_preemption=tried,
            nominated_node=nominated,
            victims=victims,
            outranked=outranked,
        )

    def _reject(self, trial: RunningAttempt, rejection: FailedAttempt, permit: Permit) -> None:
        self._start(self._put_back(trial, rejection, permit))

    async def _bind(self, trial: RunningAttempt, node: str, needs: Reservation | None, permit: Permit) -> None:
        """Bind a pod that is assumed to be on a node; if that fails, it is queued again, unless it no longer needs a node."""
        announced = None if needs is None else ""
        problem = "" if needs is None else await self._prepare(trial, node, needs, permit)
        outcome = BindingRefused(problem) if problem else await self._ask_to_bind(trial, node, permit)
        if isinstance(outcome, Bound):
            self.queue.delete(trial.queued.key)
            self._observer.attempted(trial.ended(_now(), Result.SCHEDULED, node=node))
            return
        self._give_back(trial)
        if isinstance(outcome, BindingRefused):
            rejection = FailedAttempt(message=outcome.message, is_error=True, nominated_node=announced)
            await self._put_back(trial, rejection, permit, node)
        else:
            # The program that bound it writes its status.
            self._requeue(trial, frozenset())
            self._observer.attempted(trial.ended(_now(), Result.ERROR, node=node, message=outcome.message))

    async def _ask_to_bind(
        self, trial: RunningAttempt, node: str, permit: Permit
    ) -> Bound | Elsewhere | PodGone | BindingRefused:
        began = _now()
        outcome = await self._requests.bind(trial.pod, node, permit)
        trial.timing.parts["Bind", "", "Success" if isinstance(outcome, Bound) else "Error"] = _now() - began
        return outcome

    def _give_back(self, trial: RunningAttempt) -> None:
        """Release the place that a pod was assumed to have, unless the API server shows the pod there."""
        for change in self.mirror.forget(trial.queued.key):
            for event in pod_events(change):
                self.queue.on_event(event, _now())

    async def _prepare(self, trial: RunningAttempt, node: str, needs: Reservation, permit: Permit) -> str:
        """Bind the volumes of a pod, which may take minutes and blocks no other pod; returns a problem, or ""."""
        self._aside += 1
        began, problem = _now(), "interrupted"
        try:
            await self._requests.announce(trial.pod, node, permit)
            patience = self._patience[trial.queued.pod.scheduler]
            problem = await self._volumes.prepare(trial.pod, node, needs, patience, permit)
        finally:
            self._aside -= 1
            trial.timing.parts["PreBind", "", "Error" if problem else "Success"] = _now() - began
        return problem

    async def _put_back(self, trial: RunningAttempt, rejection: FailedAttempt, permit: Permit, node: str = "") -> None:
        """Carry out the decision about a pod without a node, and queue it again."""
        problem = "nothing was done"
        try:
            problem = await self._requests.reject(trial, rejection, permit)
        finally:
            # No event in the cluster helps a pod whose victims were not deleted: it is tried again anyway.
            rejected_by = frozenset[str]() if problem else rejection.rejected_by
            self._requeue(trial, rejected_by)
        result = Result.ERROR if rejection.is_error or problem else Result.UNSCHEDULABLE
        ended = trial.ended(
            _now(),
            result,
            node=node,
            message=problem or rejection.message,
            rejected_by=rejected_by,
            tried_preemption=rejection.tried_preemption,
        )
        self._observer.attempted(ended)

    def _requeue(self, trial: RunningAttempt, rejected_by: frozenset[str]) -> None:
        """Queue a pod again, unless it is gone or has a node by now."""
        if self.mirror.waits(trial.key, trial.queued.key):
            self.queue.requeue(trial.queued.key, rejected_by, _now())
        else:
            self.queue.delete(trial.queued.key)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._wake.set()
        if not task.cancelled():
            self._fault = self._fault or task.exception()

    async def _end_all(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _now() -> float:
    return asyncio.get_running_loop().time()
