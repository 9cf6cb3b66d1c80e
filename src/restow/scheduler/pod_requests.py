"""What a scheduler requests from the API server for one pod: its binding, deletions of victims, conditions.

A binding whose response is lost may have taken effect. It is requested again, which is safe, and the pod is read until
the outcome is known; until then the pod keeps its place in the state, so that no other pod gets it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from restow.client.back_off import BackOff
from restow.client.binding import BindingRefused, BindingUnanswered, Bound, Elsewhere, ObjectRef, Outcome, PodGone, bind
from restow.client.errors import Conflict, NotFound, NotPermitted
from restow.client.leadership import Permit
from restow.client.objects import find
from restow.client.pod_status import Said, StatusChange, preempt, scheduler_error, unschedulable, write_status
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.errors import ClientError
from restow.live.cluster import LiveCluster
from restow.scheduler.attempts import FailedAttempt, RunningAttempt
from restow.scheduler.observing import AttemptObserver

#: The pause between two reads of a pod whose binding is uncertain.
_PATIENCE: Final = BackOff(first=1.0, cap=10.0, jitter=0.2)


@dataclass(slots=True)
class PodRequests:
    """Makes the requests of one scheduler."""

    api: Api
    live: LiveCluster
    observer: AttemptObserver
    #: The last condition written for each pod, by uid.
    _conditions: dict[str, Said] = field(default_factory=dict)

    async def bind(self, pod: ObjectRef, node: str, permit: Permit) -> Bound | Elsewhere | PodGone | BindingRefused:
        """Bind a pod to a node, and return when the outcome is known."""
        tries = 0
        while True:
            if not await self._is_there(node):
                return BindingRefused(f'node "{node}" is gone')
            outcome = await self._ask(pod, node, permit)
            if not isinstance(outcome, BindingUnanswered):
                self._conditions.pop(pod.uid, None)
                return outcome
            tries += 1
            await asyncio.sleep(_PATIENCE.wait(tries))
            seen = self._seen(pod, node)
            if seen is not None:
                return seen

    async def announce(self, pod: ObjectRef, node: str, permit: Permit) -> None:
        """Write to a pod's status (``nominatedNodeName``) where it will be bound, for autoscalers; a failure does not matter.

        Source: NominatedNodeNameForExpectation, Kubernetes 1.35.
        """
        await self._write(pod, StatusChange(nominated_node=node), permit)

    async def reject(self, trial: RunningAttempt, rejection: FailedAttempt, permit: Permit) -> str:
        """Delete the victims, and write to the pod's status why it waits; returns what went wrong with the victims, or ""."""
        problem = await self._preempt(trial, rejection, permit) if rejection.victims else ""
        for each in rejection.outranked:
            await self._write(each, StatusChange(nominated_node=""), permit)
        say = scheduler_error if rejection.is_error else unschedulable
        condition, known = say(rejection.message), self._conditions.get(trial.pod.uid)
        change = StatusChange(condition=condition, known=known, nominated_node=rejection.nominated_node)
        if await self._write(trial.pod, change, permit):
            self._conditions[trial.pod.uid] = condition
        return problem

    def forget(self, uid: str) -> None:
        """Forget a pod that is gone or has a node."""
        self._conditions.pop(uid, None)

    async def _is_there(self, node: str) -> bool:
        """Whether a node exists, for the API server binds pods to any name; it is asked if the watch may be behind."""
        if self.live.store.node(node) is None:
            return False
        if self.live.is_interrupted("Node"):
            try:
                await find(self.api, RESOURCES["Node"], "", node)
            except NotFound:
                return False
            except ClientError:
                # Nor will it bind the pod.
                return True
        return True

    async def _ask(self, pod: ObjectRef, node: str, permit: Permit) -> Outcome:
        try:
            return await bind(self.api, pod, node, permit=permit)
        except NotPermitted as error:
            return BindingRefused(str(error))
        except ClientError as error:
            return BindingRefused(str(error))

    def _seen(self, pod: ObjectRef, node: str) -> Bound | Elsewhere | PodGone | None:
        """What the watch shows of a pod; None if nothing new."""
        seen = self.live.pod(pod.namespace, pod.name)
        if seen is None or seen.uid != pod.uid:
            return PodGone("the pod is gone")
        if seen.node is None:
            return None
        return Bound() if seen.node == node else Elsewhere(seen.node, f'the pod is bound to node "{seen.node}"')

    async def _preempt(self, trial: RunningAttempt, rejection: FailedAttempt, permit: Permit) -> str:
        profile, now = trial.queued.pod.scheduler, self.api.server_time.now()
        self.observer.preempted(trial.pod, profile, rejection.nominated_node or "", rejection.victims)
        for victim in rejection.victims:
            try:
                await preempt(self.api, victim, profile, now, permit=permit)
            except ClientError as error:
                return f"preempting {victim.namespace}/{victim.name}: {error}"
        return ""

    async def _write(self, pod: ObjectRef, change: StatusChange, permit: Permit) -> bool:
        """Write a pod's status; whether it says so now."""
        try:
            await write_status(self.api, pod, change, self.api.server_time.now(), permit=permit)
        except (NotFound, Conflict, NotPermitted):
            return False
        except ClientError as error:
            self.observer.warn(f"the status of pod {pod.namespace}/{pod.name} was not written: {error}")
            return False
        return True
