"""The scheduler of one cluster: it takes pending pods one after the other, decides, and binds each to its node.

``scheduling.cycle`` decides, one pod at a time, in the event loop; between two decisions, changes from the watches are
applied. Requests to the API server (binds, deletions, conditions) run concurrently, and the cycle is told how they ended.
Source: the binding cycle of kube-scheduler, Kubernetes 1.36.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random, random
from typing import Any, Final

from msgspec import structs

from restow import garbage
from restow.client.binding import BindingRefused, Bound, Elsewhere, PodGone
from restow.client.transport import Api, Permit
from restow.cluster.snapshot import Key
from restow.live.cluster import LiveCluster
from restow.live.reading import REQUIRED
from restow.scheduler.attempts import AttemptObserver, AttemptTimer, Result, RunningAttempt
from restow.scheduler.pod_requests import PodRequests, Volumes
from restow.scheduler.settings import SchedulerSettings, kinds_read, volume_patience
from restow.scheduler.usage import UsageWatch, usage_window
from restow.scheduling.cycle.actions import Bind, Hold, MarkGroup, MarkUnschedulable
from restow.scheduling.cycle.cycle import ClusterChanges, SchedulingCycle
from restow.scheduling.cycle.mirror import Mirror
from restow.scheduling.queueing.queued_pods import QueuedPod
from restow.scheduling.volumes.storage import Reservation

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

    def __init__(self, api: Api, settings: SchedulerSettings, observer: AttemptObserver) -> None:
        self._settings = settings
        self._observer = observer
        self._wake = asyncio.Event()
        self.mirror = Mirror(settings.profiles)
        #: What decisions depend on.
        self.kinds = kinds_read(settings.profiles)
        self.live = LiveCluster(api, self.kinds, warn=observer.warn, done="scheduled")
        self.live.listeners.append(self._touch)
        chance = Random(settings.seed)  # noqa: S311  breaks ties, keeps no secret
        self._cycle = SchedulingCycle(self.mirror, settings.profiles, chance, _now(), settings.queue)
        self.queue = self._cycle.queue
        self._requests = PodRequests(api, self.live, observer)
        self._volumes = Volumes(api, self.live)
        self._usage = UsageWatch(api, usage_window(settings.profiles), self.mirror.measure, observer.warn)
        #: Seconds that the pods of each profile wait for their volumes.
        self._patience = {profile.name: volume_patience(profile) for profile in settings.profiles}
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
        self._cycle.begin(_now())
        try:
            while True:
                await self._turn(permit)
        finally:
            await self._end_all()

    async def _all_kinds(self) -> None:
        """Wait until all kinds that decisions depend on are listed, as kube-scheduler does."""
        while True:
            await self.live.wait_ready(float("inf"))
            if self.live.unknown(self.kinds) is None:
                # Most of what was listed stays.
                garbage.settle()
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

    def _catch_up(self) -> None:
        """Apply changes from the watches."""
        if self.mirror.is_behind:
            for uid in self._cycle.follow(self.mirror.catch_up(), _now()):
                self._requests.forget(uid)

    def _try(self, queued: QueuedPod, permit: Permit) -> None:
        """Make one attempt: decide about a pod or its group, and start what carries the decisions out."""
        began, timing = _now(), AttemptTimer(with_plugins=random() < _SAMPLED)  # noqa: S311  keeps no secret
        for action in self._decide(queued, timing):
            if isinstance(action, MarkGroup):
                self._start(self._requests.mark_group(action, permit))
                continue
            trial = RunningAttempt(queued=action.queued, began=began, decided=_now(), timing=timing)
            # What the decision about a group took counts once.
            timing = AttemptTimer(with_plugins=False)
            if isinstance(action, Bind):
                self._start(self._bind(trial, action.node, action.volumes, permit))
            else:
                self._start(self._put_back(trial, action, permit))

    def _decide(self, queued: QueuedPod, timing: AttemptTimer) -> Sequence[Bind | MarkUnschedulable | MarkGroup]:
        """The decisions for a pod and its group; an exception in a plugin fails this attempt only."""
        knows_budgets = self.live.unknown(_BUDGETS) is None
        tried = self._cycle.tried_with(queued, _now())
        try:
            actions = self._cycle.attempt(tried, timing, knows_budgets=knows_budgets)
        except Exception as fault:  # noqa: BLE001  whatever is wrong with one pod, the others are scheduled
            # The state may be in the middle of a dry run.
            self.mirror.restart()
            self._observer.warn(f"a decision failed: {type(fault).__name__}: {fault}")
            message = f"running the plugins: {type(fault).__name__}: {fault}"
            return [MarkUnschedulable(queued=each, message=message, is_error=True) for each in tried]
        # It is of no minor in which a pod would wait on its node.
        known = (each for each in actions if not isinstance(each, Hold))
        return [self._as_told(each) if isinstance(each, MarkUnschedulable) else each for each in known]

    def _as_told(self, action: MarkUnschedulable) -> MarkUnschedulable:
        """What the pod is told, and those of its victims that are still to be deleted."""
        victims = [each for each in action.victims if not self.mirror.is_terminating(each)]
        message = f"{action.message}; {_LEAVE}" if action.is_unknown else action.message
        return structs.replace(action, message=message, victims=victims)

    async def _bind(self, trial: RunningAttempt, node: str, needs: Reservation | None, permit: Permit) -> None:
        """Bind a pod that is assumed to be on a node; if that fails, it is queued again, unless it no longer needs a node."""
        announced = None if needs is None else ""
        problem = "" if needs is None else await self._prepare(trial, node, needs, permit)
        outcome = BindingRefused(problem) if problem else await self._ask_to_bind(trial, node, permit)
        if isinstance(outcome, Bound):
            self.queue.delete(trial.queued.key)
            self._observer.attempted(replace(trial.ended(_now(), Result.SCHEDULED), node=node))
            return
        # It has its place no longer, unless the API server shows it there.
        self._cycle.notify(ClusterChanges(pods=self.mirror.forget(trial.queued.key)), _now())
        if isinstance(outcome, BindingRefused):
            rejection = MarkUnschedulable(
                queued=trial.queued, message=outcome.message, is_error=True, nominated_node=announced
            )
            await self._put_back(trial, rejection, permit, node)
        else:
            # The program that bound it writes its status.
            self._cycle.requeue(trial.queued, frozenset(), _now())
            ended = trial.ended(_now(), Result.ERROR)
            self._observer.attempted(replace(ended, node=node, message=outcome.message))

    async def _ask_to_bind(
        self, trial: RunningAttempt, node: str, permit: Permit
    ) -> Bound | Elsewhere | PodGone | BindingRefused:
        began = _now()
        outcome = await self._requests.bind(trial.pod, node, permit)
        trial.timing.parts["Bind", "", "Success" if isinstance(outcome, Bound) else "Error"] = _now() - began
        return outcome

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

    async def _put_back(
        self, trial: RunningAttempt, rejection: MarkUnschedulable, permit: Permit, node: str = ""
    ) -> None:
        """Carry out the decision about a pod without a node, and queue it again."""
        problem = "nothing was done"
        try:
            problem = await self._requests.reject(trial, rejection, permit)
        finally:
            # No event in the cluster helps a pod whose victims were not deleted: it is tried again anyway.
            self._cycle.requeue(trial.queued, frozenset() if problem else rejection.rejected_by, _now())
        result = Result.ERROR if rejection.is_error or problem else Result.UNSCHEDULABLE
        ended = replace(
            trial.ended(_now(), result),
            node=node,
            message=problem or rejection.message,
            tried_preemption=rejection.tried_preemption,
        )
        self._observer.attempted(ended)

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
