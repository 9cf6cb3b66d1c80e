"""Releases pods that have waited behind steering's gate for too long, so that none waits for ever.

Every replica of restow checks, not only the leader. The leader knows which replacements are awaited and releases all others
at once. The other replicas release what the leader should have released by then, because it may be dead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from restow.client import objects
from restow.client.errors import ClientError, Conflict, NotFound
from restow.client.objects import PatchKind
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.cluster.pod_reading import STEERING_GATE
from restow.cluster.pods_now import PodNow
from restow.executing.settings import elapsed

#: Seconds that a request of steering may take: a pod waits for it.
REQUEST: Final = 3.0
#: Seconds after which a gated pod is released: one that is not awaited, one that is awaited, and one that the leader should
#: have released. With a pause and a request, each takes less than ten seconds.
UNAWAITED, AWAITED, LEFT_BEHIND = 0.5, 5.0, 6.0
#: Seconds between two looks at the gated pods.
PAUSE: Final = 0.5
_NO_GATE: Final = {"spec": {"schedulingGates": [{"$patch": "delete", "name": STEERING_GATE}]}}


async def release(api: Api, pod: PodNow) -> None:
    """Remove the gate from a pod; ClientError if that fails, also if the pod is gone or was replaced by another."""
    change = {"metadata": {"uid": pod.uid}, **_NO_GATE}
    await objects.patch(api, RESOURCES["Pod"], pod.namespace, pod.name, change, kind=PatchKind.STRATEGIC)


def hurried(api: Api) -> Api:
    """A client without a rate limit of its own, for requests that pods wait for: evictions already limit them."""
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


class Counts(Protocol):
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
    #: Takes a sentence for people.
    warn: Callable[[str], None]
    counts: Counts
    #: What this process awaits while it leads; None while it does not.
    steering: Awaits | None = None
    #: When each pod behind the gate was first seen, by uid.
    _seen: dict[str, float] = field(default_factory=dict, init=False)
    #: Why pods could not be released at the last check, by uid.
    _failed: dict[str, str] = field(default_factory=dict, init=False)

    async def run(self) -> None:
        """Check regularly, for ever."""
        while True:
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - the next look may fare better, and nobody else looks
                self.warn(f"pods behind the gate {STEERING_GATE} could not be checked: {error or type(error).__name__}")
            await asyncio.sleep(PAUSE)

    async def look(self) -> None:
        """Release every pod that has waited for too long. Failures are reported only if they happen again the next time.

        The API server refuses the request if somebody else has just removed the gate, and our watch shows that only later.
        """
        now, gated = elapsed(), self.cluster.gated()
        self._seen = {pod.uid: self._seen.get(pod.uid, now) for pod in gated}
        self.counts.gates_wait(max((now - seen for seen in self._seen.values()), default=0.0))
        for pod in gated:
            if pod.uid in self._failed:
                self.warn(self._failed[pod.uid])
        due = [pod for pod in gated if now - self._seen[pod.uid] >= self._patience(pod)]
        problems = await self._release_all(due)
        self._failed = {pod.uid: why for pod, why in zip(due, problems, strict=True) if why is not None}

    async def let_all_go(self) -> None:
        """Release every pod now."""
        await self.let_go(self.cluster.gated())

    def _patience(self, pod: PodNow) -> float:
        if self.steering is None:
            return LEFT_BEHIND
        return AWAITED if any(self.steering.awaits(owner.uid) for owner in pod.owners) else UNAWAITED

    async def let_go(self, pods: Iterable[PodNow]) -> None:
        """Release these pods now, even those that a plan still waits for."""
        for problem in await self._release_all(pods):
            if problem is not None:
                self.warn(problem)

    async def _release_all(self, pods: Iterable[PodNow]) -> list[str | None]:
        # Together: one request that is not answered must not keep the others waiting.
        return await asyncio.gather(*map(self._release, pods))

    async def _release(self, pod: PodNow) -> str | None:
        """Release one pod; return why if that fails."""
        try:
            await release(self.api, pod)
        except (NotFound, Conflict):
            return None
        except ClientError as error:
            return f"{pod.namespace}/{pod.name} waits behind the gate {STEERING_GATE}: {error}"
        self.counts.gate_released()
        return None
