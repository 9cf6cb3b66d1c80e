"""Steering: replacements wait behind a scheduling gate, are nominated for their target, and are released.

A pod that may be scheduled at once is bound within milliseconds, before it could be nominated. So an admission policy
of the cluster, or restow's own webhook (``admission``), gives new pods of some controllers a gate
(``spec.schedulingGates``). The uids of these controllers are in a ConfigMap that restow writes just before it requests
an eviction, and clears as soon as no replacement is awaited any more. The gated replacement is nominated
(``status.nominatedNodeName``), and then its gate is removed: kube-scheduler tries the nominated node before any other,
and schedules as usual if the pod does not fit there.
Source: evaluateNominatedNode and NominatedNodeNameForExpectation, Kubernetes 1.36.

No pod waits indefinitely: every replica of restow, not only the leader, releases pods behind the gate that are not
awaited (``releasing.Releasing``).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from restow.client import objects
from restow.client.errors import Conflict, NotFound, NotPermitted
from restow.client.leadership import Permit
from restow.client.objects import PatchKind
from restow.client.resources import CONFIG_MAPS, RESOURCES
from restow.client.transport import Api
from restow.cluster.pods_now import PodNow
from restow.errors import ClientError
from restow.executing.releasing import release
from restow.executing.settings import elapsed
from restow.executing.task import Task

#: It is installed beforehand.
CONFIG_MAP: Final = "restow-steering"


class Steers(Protocol):
    """Brings replacements to their targets."""

    async def announce(self, task: Task) -> str | None:
        """Have the replacement of a task gated when it is created; return why if that fails."""
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

    def awaits(self, owner: str) -> bool:
        """Whether a replacement of a controller (a uid) is awaited."""
        return owner in self._awaited

    async def announce(self, task: Task) -> str | None:
        """Write the controller into the ConfigMap; return why if that fails, and then nothing is gated."""
        assert task.owner is not None
        self._awaited.setdefault(task.owner.uid, {})[task.number] = str(task.move.pod)
        problem = await self._bring(task.owner.uid)
        if problem is None:
            return None
        await self.withdraw(task)
        return f"its replacement cannot be gated: {problem}"

    async def nominate(self, task: Task, pod: PodNow) -> None:
        """Write the nomination, then remove the gate."""
        try:
            await self._write_nomination(pod, task.move.target)
            await release(self.api, pod)
        except (NotFound, Conflict):
            return
        except ClientError as error:
            self.warn(f"{pod.namespace}/{pod.name} was not steered to {task.move.target}: {error}")
        await self._take_out(task)

    async def withdraw(self, task: Task) -> None:
        """No replacement of the task is awaited any more. A late one may still be gated for a moment."""
        self._given_up[task.move.pod.namespace] = elapsed()
        await self._take_out(task)

    def given_up(self, within: float) -> list[str]:
        """The namespaces in which replacements were withdrawn within the last ``within`` seconds."""
        now = elapsed()
        return sorted(namespace for namespace, then in self._given_up.items() if now - then <= within)

    async def _take_out(self, task: Task) -> None:
        """Remove the controller from the ConfigMap unless another replacement of it is awaited."""
        assert task.owner is not None
        tasks = self._awaited.get(task.owner.uid, {})
        if tasks.pop(task.number, None) is None or tasks:
            return
        del self._awaited[task.owner.uid]
        problem = await self._bring(task.owner.uid)
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
        """Retry changes of the ConfigMap that failed before; they stay pending if they fail again."""
        if self._changed:
            await self._catch_up()

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

    async def nominate(self, _task: Task, _pod: PodNow) -> None:
        """Nothing is gated."""

    async def withdraw(self, _task: Task) -> None:
        """Nothing was announced."""


async def clear(api: Api, namespace: str) -> None:
    """Have no new pod gated from now on; ClientError if that fails."""
    await objects.patch(api, CONFIG_MAPS, namespace, CONFIG_MAP, {"data": None}, kind=PatchKind.MERGE)
