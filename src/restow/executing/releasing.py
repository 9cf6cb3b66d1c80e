"""Releases pods that have waited behind steering's gate (``spec.schedulingGates``) for too long.

Every replica of restow checks, not only the leader. The leader knows which replacements are awaited and releases all
others at once. The other replicas release what the leader should have released by then, because it may be dead.

Any client that may create pods may give them the gate, any number of them. So the number of concurrent requests is
limited, awaited pods come first, and a check ends in time for the next one.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from restow.client import objects
from restow.client.errors import Conflict, NotFound
from restow.client.objects import PatchKind
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.cluster.pod_reading import STEERING_GATE
from restow.cluster.pods_now import PodNow
from restow.errors import ClientError
from restow.executing.settings import elapsed

#: Seconds that a request of steering may take: a pod waits for it.
REQUEST: Final = 3.0
#: Seconds after which a gated pod is released: one that is not awaited, one that is awaited, and one that the leader should
#: have released. With a pause and a request, each takes less than ten seconds.
UNAWAITED, AWAITED, LEFT_BEHIND = 0.5, 5.0, 6.0
#: Seconds between two looks at the gated pods.
PAUSE: Final = 0.5
#: Requests at a time.
AT_A_TIME: Final = 16
_NO_GATE: Final = {"spec": {"schedulingGates": [{"$patch": "delete", "name": STEERING_GATE}]}}


async def release(api: Api, pod: PodNow) -> None:
    """Remove the gate from a pod; ClientError if that fails, also if the pod is gone or was replaced by another."""
    change = {"metadata": {"uid": pod.uid}, **_NO_GATE}
    await objects.patch(api, RESOURCES["Pod"], pod.namespace, pod.name, change, kind=PatchKind.STRATEGIC)


async def for_each(pods: Iterable[PodNow], act: Callable[[PodNow], Awaitable[None]], seconds: float) -> None:
    """Do something with each pod, in order, some at a time; after ``seconds`` no more is begun."""
    waiting, ends = iter(pods), elapsed() + seconds

    async def one_after_another() -> None:
        for pod in waiting:
            await act(pod)
            if elapsed() >= ends:
                return

    await asyncio.gather(*(one_after_another() for _ in range(AT_A_TIME)))


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
    """Metrics of gated pods; ``serving.steering_metrics.SteeringMetrics`` has them."""

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
        await for_each(sorted(pods, key=lambda pod: not self._is_awaited(pod)), one, seconds)
        return failed


def _waiting(pods: list[PodNow], failed: Mapping[str, ClientError]) -> str:
    """One sentence about pods that could not be released."""
    first = f"{pods[0].namespace}/{pods[0].name}"
    why = failed[pods[0].uid]
    if len(pods) == 1:
        return f"{first} waits behind the gate {STEERING_GATE}: {why}"
    return f"{len(pods):,} pods wait behind the gate {STEERING_GATE}, {first} among them: {why}"
