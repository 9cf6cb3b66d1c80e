"""Steering: replacements wait behind a scheduling gate, are nominated for their target, and are released.

A pod that may be scheduled at once is bound within milliseconds, before it could be nominated. So an admission policy
of the cluster, or restow's own webhook (``admission``), gives new pods of some controllers a gate
(``executing.admission``). The uids of these controllers are in a ConfigMap that restow writes just before it requests
an eviction, and clears as soon as no replacement is awaited any more. The gated replacement is nominated
(``client.binding``), and then its gate is removed: kube-scheduler tries the nominated node before any other,
and schedules as usual if the pod does not fit there.
Source: evaluateNominatedNode and NominatedNodeNameForExpectation, Kubernetes 1.36.

No pod waits indefinitely (``Releasing``): every replica of restow checks. The leader knows which replacements are awaited
and releases all others at once. The other replicas release what the leader should have released by then, because it may
be dead. Any client that may create pods may give them the gate, any number of them. So the number of concurrent requests
is limited, awaited pods come first, and a check ends in time for the next one.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from restow.client import objects
from restow.client.errors import Conflict, NotFound, NotPermitted
from restow.client.flow_control import for_each
from restow.client.objects import PatchKind
from restow.client.resources import CONFIG_MAPS, RESOURCES
from restow.client.transport import Api, Permit
from restow.cluster.pod_reading import STEERING_GATE
from restow.cluster.pod_values import PodNow
from restow.errors import ClientError
from restow.executing.reserving import Reserving
from restow.executing.surroundings import elapsed
from restow.executing.task import Task

#: Seconds that a request of steering may take: a pod waits for it.
REQUEST: Final = 3.0
#: Seconds after which a gated pod is released: one that is not awaited, one that is awaited, and one that the leader should
#: have released. With a pause and a request, each takes less than ten seconds.
UNAWAITED, AWAITED, LEFT_BEHIND = 0.5, 5.0, 6.0
#: Seconds between two looks at the gated pods.
PAUSE: Final = 0.5
_NO_GATE: Final = {"spec": {"schedulingGates": [{"$patch": "delete", "name": STEERING_GATE}]}}
#: It is installed beforehand.
CONFIG_MAP: Final = "restow-steering"


async def release(api: Api, pod: PodNow) -> None:
    """Remove the gate from a pod; ClientError if that fails, also if the pod is gone or was replaced by another."""
    change = {"metadata": {"uid": pod.uid}, **_NO_GATE}
    await objects.patch(api, RESOURCES["Pod"], pod.namespace, pod.name, change, kind=PatchKind.STRATEGIC)


def unthrottled(api: Api) -> Api:
    """A client without a rate limit, for requests that pods wait for; the rate of evictions limits them already."""
    return api.without_limit().within(REQUEST)


class Gated(Protocol):
    """The pods behind the gate, as they are now; ``live.cluster.LiveCluster`` is one."""

    def gated(self) -> list[PodNow]:
        """The pods that wait behind the gate of steering."""
        ...


class Awaits(Protocol):
    """Knows which replacements are awaited; ``steering.Steering`` is one."""

    def awaits(self, owner: str) -> bool:
        """Whether a replacement of a controller (a uid) is awaited."""
        ...


class GateMetrics(Protocol):
    """Metrics of gated pods; ``serving.figures.SteeringMetrics`` has them."""

    def gate_released(self) -> None:
        """Count a pod that was released without a nomination."""
        ...

    def gates_wait(self, seconds: float) -> None:
        """Set how long the pod has been waiting that waits longest."""
        ...


@dataclass(slots=True)
class Releasing:
    """Releases pods that wait behind the gate for too long."""

    api: Api
    cluster: Gated
    #: Logs a warning.
    warn: Callable[[str], None]
    counts: GateMetrics
    #: What this process awaits while it leads; None while it does not.
    steering: Awaits | None = None
    #: When each pod behind the gate was first seen, by uid.
    _seen: dict[str, float] = field(default_factory=dict, init=False)
    #: Why pods could not be released at the last check, by uid.
    _failed: dict[str, ClientError] = field(default_factory=dict, init=False)
    #: The reason that was reported last; empty while there is none.
    _reported: str = field(default="", init=False)

    async def run(self) -> None:
        """Check regularly, until cancelled."""
        while True:
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - the next check may succeed, and no one else checks
                self.warn(f"pods behind the gate {STEERING_GATE} could not be checked: {error or type(error).__name__}")
            await asyncio.sleep(PAUSE)

    async def look(self) -> None:
        """Release every pod that has waited for too long. Failures are reported only if they happen again the next time.

        The API server refuses the request if another program has just removed the gate, and our watch shows that only
        later.
        """
        now, gated = elapsed(), self.cluster.gated()
        self._seen = {pod.uid: self._seen.get(pod.uid, now) for pod in gated}
        self.counts.gates_wait(max((now - seen for seen in self._seen.values()), default=0.0))
        self._report([pod for pod in gated if pod.uid in self._failed])
        due = [pod for pod in gated if now - self._seen[pod.uid] >= self._patience(pod)]
        self._failed = await self._release_all(sorted(due, key=lambda pod: self._seen[pod.uid]), PAUSE)

    async def let_all_go(self) -> None:
        """Release every pod now."""
        await self.let_go(self.cluster.gated())

    async def let_go(self, pods: Iterable[PodNow]) -> None:
        """Release these pods now, even those that a plan still waits for."""
        pods = list(pods)
        failed = await self._release_all(pods, math.inf)
        if failed:
            self.warn(_waiting([pod for pod in pods if pod.uid in failed], failed))

    def _patience(self, pod: PodNow) -> float:
        if self.steering is None:
            return LEFT_BEHIND
        return AWAITED if self._is_awaited(pod) else UNAWAITED

    def _is_awaited(self, pod: PodNow) -> bool:
        return self.steering is not None and any(self.steering.awaits(owner.uid) for owner in pod.owners)

    def _report(self, pods: list[PodNow]) -> None:
        """Warn about pods that could not be released, once for each reason."""
        why = str(self._failed[pods[0].uid]) if pods else ""
        if why and why != self._reported:
            self.warn(_waiting(pods, self._failed))
        self._reported = why

    async def _release_all(self, pods: Iterable[PodNow], seconds: float) -> dict[str, ClientError]:
        """Release pods, awaited ones first, within ``seconds``; return why pods could not be released, by uid."""
        failed: dict[str, ClientError] = {}

        async def one(pod: PodNow) -> None:
            try:
                await release(self.api, pod)
            except (NotFound, Conflict):
                return
            except ClientError as error:
                failed[pod.uid] = error
            else:
                self.counts.gate_released()

        # Some at a time: one request that is not answered must not keep the others waiting.
        await for_each(sorted(pods, key=lambda pod: not self._is_awaited(pod)), one, seconds=seconds)
        return failed


def _waiting(pods: list[PodNow], failed: Mapping[str, ClientError]) -> str:
    """One sentence about pods that could not be released."""
    first = f"{pods[0].namespace}/{pods[0].name}"
    why = failed[pods[0].uid]
    if len(pods) == 1:
        return f"{first} waits behind the gate {STEERING_GATE}: {why}"
    return f"{len(pods):,} pods wait behind the gate {STEERING_GATE}, {first} among them: {why}"


class Steers(Protocol):
    """Brings replacements to their targets."""

    async def announce(self, task: Task) -> str | None:
        """Have the replacement of a task gated when it is created; return why if that fails."""
        ...

    async def reserve(self, task: Task) -> str | None:
        """Hold the place of the replacement until it is nominated or withdrawn; return why that fails."""
        ...

    async def nominate(self, task: Task, pod: PodNow) -> None:
        """Nominate a gated replacement for its task's target and release it. Failures are left to ``Releasing``."""
        ...

    async def withdraw(self, task: Task) -> None:
        """No replacement of a task is awaited any more."""
        ...


@dataclass(slots=True)
class Steering:
    """Steers through an API server; a ``Steers``."""

    api: Api
    permit: Permit
    #: Where the ConfigMap is.
    namespace: str
    #: Logs a warning.
    warn: Callable[[str], None]
    #: The tasks whose replacements are awaited, by the uid of their controller, with the pods that go.
    _awaited: dict[str, dict[int, str]] = field(default_factory=dict, init=False)
    #: When replacements were last given up before they were nominated, by namespace.
    _given_up: dict[str, float] = field(default_factory=dict, init=False)
    #: The controllers whose entries in the ConfigMap are not up to date.
    _changed: set[str] = field(default_factory=set, init=False)
    #: The next request, which writes all changes up to then; there is one at a time.
    _next: asyncio.Task[ClientError | None] | None = field(default=None, init=False)
    _writing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    #: Holds places.
    _reserving: Reserving = field(init=False)

    def __post_init__(self) -> None:
        self._reserving = Reserving(self.api, self.permit, self.namespace, self.warn)

    def awaits(self, owner: str) -> bool:
        """Whether a replacement of a controller (a uid) is awaited."""
        return owner in self._awaited

    async def announce(self, task: Task) -> str | None:
        """Write the controller into the ConfigMap; return why if that fails, and then nothing is gated."""
        self._awaited.setdefault(task.gated_by, {})[task.number] = str(task.move.pod)
        problem = await self._bring(task.gated_by)
        if problem is None:
            return None
        await self.withdraw(task)
        return f"its replacement cannot be gated: {problem}"

    async def reserve(self, task: Task) -> str | None:
        """Have a placeholder scheduled to the target."""
        return await self._reserving.hold(task)

    async def nominate(self, task: Task, pod: PodNow) -> None:
        """Write the nomination, which holds the place from then on, then remove the gate."""
        try:
            await self._write_nomination(pod, task.move.target)
            await self._reserving.give_up(task)
            await release(self.api, pod)
        except (NotFound, Conflict):
            return
        except ClientError as error:
            self.warn(f"{pod.namespace}/{pod.name} was not steered to {task.move.target}: {error}")
        await self._take_out(task)

    async def withdraw(self, task: Task) -> None:
        """No replacement of the task is awaited any more. A late one may still be gated for a moment."""
        self._given_up[task.move.pod.namespace] = elapsed()
        await self._reserving.give_up(task)
        await self._take_out(task)

    def given_up(self, within: float) -> list[str]:
        """The namespaces in which replacements were withdrawn within the last ``within`` seconds."""
        now = elapsed()
        return sorted(namespace for namespace, then in self._given_up.items() if now - then <= within)

    async def _take_out(self, task: Task) -> None:
        """Remove the controller from the ConfigMap unless another replacement of it is awaited."""
        assert task.owner is not None
        tasks = self._awaited.get(task.gated_by, {})
        if tasks.pop(task.number, None) is None or tasks:
            return
        del self._awaited[task.gated_by]
        problem = await self._bring(task.gated_by)
        # Without the ConfigMap nothing is gated. Without permission it is cleared at the end, which needs none.
        if problem is not None and not isinstance(problem, NotFound | NotPermitted):
            self.warn(
                f"new pods of {task.owner.kind}/{task.owner.name} are still gated; restow releases them: {problem}"
            )

    async def clear(self) -> None:
        """Remove every controller from the ConfigMap, also what other processes or failed requests left; ClientError."""
        self._awaited.clear()
        async with self._writing:
            self._changed.clear()
            await clear(self.api, self.namespace)

    async def repair(self) -> None:
        """Retry what failed before; it stays pending if it fails again."""
        if self._changed:
            await self._catch_up()
        await self.free_places()

    async def free_places(self) -> None:
        """Give back the places that could not be given back before, as far as that is possible now."""
        await self._reserving.repair()

    async def clean(self) -> None:
        """Free the places that another process has left held. Failures are warnings."""
        await self._reserving.clean()

    async def _bring(self, owner: str) -> ClientError | None:
        """Write a controller's entry. Entries that change while a request is under way are written together by the next."""
        self._changed.add(owner)
        return await self._catch_up()

    async def _catch_up(self) -> ClientError | None:
        if self._next is None:
            self._next = asyncio.create_task(self._write(), name="write steering")
        return await asyncio.shield(self._next)

    async def _write(self) -> ClientError | None:
        async with self._writing:
            self._next, changed = None, self._changed
            self._changed = set()
            entries = {owner: next(iter(self._awaited.get(owner, {}).values()), None) for owner in changed}
            try:
                await self._patch_entries(entries)
            except NotFound as error:
                return error
            except ClientError as error:
                self._changed |= changed
                return error
            return None

    async def _patch_entries(self, entries: dict[str, str | None]) -> None:
        await objects.patch(
            self.api,
            CONFIG_MAPS,
            self.namespace,
            CONFIG_MAP,
            {"data": entries},
            kind=PatchKind.MERGE,
            permit=self.permit,
        )

    async def _write_nomination(self, pod: PodNow, node: str | None) -> None:
        await objects.patch(
            self.api,
            RESOURCES["Pod"],
            pod.namespace,
            pod.name,
            {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node}},
            kind=PatchKind.MERGE,
            subresource="status",
            permit=self.permit,
        )


class NoSteering:
    """Steers nothing; a ``Steers``."""

    async def announce(self, _task: Task) -> str | None:
        """Nothing can be gated."""
        return "replacements are not steered on this cluster any more"

    async def reserve(self, _task: Task) -> str | None:
        """Nothing can be held."""
        return "no places are held on this cluster"

    async def nominate(self, _task: Task, _pod: PodNow) -> None:
        """Nothing is gated."""

    async def withdraw(self, _task: Task) -> None:
        """Nothing was announced."""


async def clear(api: Api, namespace: str) -> None:
    """Have no new pod gated from now on; ClientError if that fails."""
    await objects.patch(api, CONFIG_MAPS, namespace, CONFIG_MAP, {"data": None}, kind=PatchKind.MERGE)
