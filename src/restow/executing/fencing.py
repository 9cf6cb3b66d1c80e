"""Fences: while a plan is carried out, the nodes where no replacement should land carry restow's taint.

The process that fences holds the Lease ``restow-fence`` and renews it as long as its fence stands. So there is one fence at
a time, and every replica of restow can see whether a fence is still held: ``unfencing.Unfencing`` removes those that are
not. The fence is set before the first eviction; evictions begin when our own watch shows it, and a moment later, because
kube-scheduler has its own watch. Patches keep all other taints (``client.objects``).
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from restow.client import objects
from restow.client.errors import NotFound
from restow.client.leader_election import Election
from restow.client.leadership import Permit, Timing
from restow.client.objects import PatchKind, adding_taint, is_outdated, removing_taint
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.cluster.fenced_nodes import FencedNode
from restow.errors import ClientError
from restow.executing.settings import Clock, elapsed
from restow.kube.taints import FENCE

LEASE: Final = "restow-fence"
#: The durations of that lease (seconds): a fence counts as abandoned when its holder has been dead for so long.
TIMING: Final = Timing(lease=5.0, renew=3.0, retry=1.0)
#: Seconds to wait for the end of another fence; after that, the plan is carried out without one.
_PATIENCE: Final = TIMING.lease + 4.0
#: How many nodes are patched at a time, and how often a patch is tried.
_AT_A_TIME: Final = 16
_TRIES: Final = 3
#: Seconds within which our own watch has to show the taints, and the additional time for the scheduler's watch.
_SEEN: Final = 10.0
_SETTLING: Final = 0.25
_TOLD: Final = "it is to stop"
#: The longest value of a taint, and of its part before the time.
_LONGEST_HOLDER: Final = 63 - len("_20261122T170000Z")


class NodesNow(Protocol):
    """The nodes as they are now; ``live.cluster.LiveCluster`` is one."""

    def fences(self) -> list[FencedNode]:
        """The nodes that carry restow's own taint."""
        ...

    def has_taints(self, node: str) -> bool | None:
        """Whether a node carries any taint; None if there is no such node."""
        ...

    async def wait_for(self, predicate: Callable[[], bool], deadline: float) -> bool:
        """Wait until something holds; False if it still does not at ``deadline``, in the event loop's time."""
        ...


@dataclass(slots=True)
class Fencing:
    """Fences nodes, and takes the fence away again."""

    api: Api
    permit: Permit
    cluster: NodesNow
    #: Makes a candidate for the lease.
    election: Callable[[], Election]
    #: The name of the process in the Lease.
    holder: str
    #: Where the lease is.
    namespace: str
    #: What time it is in the cluster.
    clock: Clock
    #: The value of the taint while a fence stands, or is set; empty while none is.
    value: str = field(default="", init=False)
    #: When the fence that stands was begun, in the event loop's time.
    since: float = field(default=0.0, init=False)
    #: The nodes that were to be fenced.
    _nodes: frozenset[str] = field(default=frozenset(), init=False)
    _election: Election | None = field(default=None, init=False)
    _holding: asyncio.Task[None] | None = field(default=None, init=False)
    _lifting: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _setting: asyncio.Future[str | None] | None = field(default=None, init=False)
    #: Lifts the fence after ``stop``.
    _ending: asyncio.Task[None] | None = field(default=None, init=False)

    async def set(self, nodes: Collection[str], effect: str) -> str | None:
        """Fence exactly these nodes; return why if that fails, and then none is fenced.

        Nodes that an earlier fence of ours has in common keep their taint.
        """
        if self._ending is not None:
            return _TOLD
        setting = self._setting = asyncio.ensure_future(self._set(frozenset(nodes), effect))
        try:
            await asyncio.wait((setting,))
        finally:
            setting.cancel()
        problem = _TOLD if setting.cancelled() else setting.result()
        if problem is not None:
            await self.lift()
        return problem

    async def lift(self) -> None:
        """Remove the fence. Nodes where that fails are left to ``unfencing.Unfencing`` of any replica."""
        if self._ending is None:
            await self._lift()

    def stop(self) -> None:
        """Begin to remove the fence now, even while evictions run; no other fence is set after that."""
        if self._setting is not None:
            self._setting.cancel()
        self._ending = asyncio.create_task(self._lift(), name="lift fence")

    async def ended(self) -> None:
        """Wait until the last fence is removed."""
        await (self._ending or self._lift())

    async def _lift(self) -> None:
        async with self._lifting:
            nodes, self._nodes = self._nodes, frozenset()
            try:
                if nodes:
                    await self._clear(nodes)
            finally:
                self.value = ""
                if self._holding is not None:
                    self._holding.cancel()
            # Without this it is free as soon as it is not renewed any more.
            if self._election is not None:
                await self._election.release()
            self._holding = self._election = None

    async def _clear(self, nodes: Collection[str]) -> None:
        # What was written and is not seen yet cannot be removed; a patch names the place of the taint.
        await self.cluster.wait_for(lambda: self._shows(nodes), elapsed() + _SETTLING)
        if not await remove(self.api, self.cluster.fences()):
            await self.cluster.wait_for(lambda: not self.cluster.fences(), elapsed() + _SEEN)

    @property
    def is_whole(self) -> bool:
        """Whether all nodes of the fence still carry it, and it is still ours."""
        return self._is_held and self._shows(self._nodes)

    @property
    def _is_held(self) -> bool:
        return self._election is not None and self._election.leadership.held()

    async def _set(self, nodes: frozenset[str], effect: str) -> str | None:
        if not self._is_held and (problem := await self._take_lease()) is not None:
            return problem
        self._nodes |= nodes
        await remove(self.api, self._others(nodes))
        if not await self.cluster.wait_for(lambda: not self._others(nodes), elapsed() + _SEEN):
            return "nodes still carry a fence of before, which could not be removed"
        missing = nodes - {each.name for each in self.cluster.fences()}
        problems = await _for_each(sorted(missing), lambda node: self._fence(node, effect))
        if problems:
            return problems[0]
        if not await self.cluster.wait_for(lambda: self._shows(nodes), elapsed() + _SEEN):
            return f"the watch of nodes has not shown the fence within {_SEEN:.0f} s"
        self._nodes = nodes
        if missing:
            await asyncio.sleep(_SETTLING)
        return None

    def _others(self, nodes: Collection[str]) -> list[FencedNode]:
        """Fences that are not ours, and fences of ours on other nodes."""
        return [each for each in self.cluster.fences() if each.value != self.value or each.name not in nodes]

    async def _take_lease(self) -> str | None:
        election = self._election = self.election()
        try:
            async with asyncio.timeout(_PATIENCE):
                await election.acquire()
        except TimeoutError:
            return f"the Lease {LEASE} could not be had within {_PATIENCE:.0f} s; another restow may fence nodes now"
        self._holding = asyncio.create_task(election.hold(), name="hold the fence's lease")
        self.value, self.since = taint_value(self.holder, self.clock()), elapsed()
        return None

    async def _fence(self, node: str, effect: str) -> str | None:
        for attempt in range(_TRIES):
            is_tainted = self.cluster.has_taints(node)
            if is_tainted is None:
                return None
            try:
                await self._patch(
                    node, adding_taint({"key": FENCE, "value": self.value, "effect": effect}, is_tainted=is_tainted)
                )
            except NotFound:
                return None
            except ClientError as error:
                if attempt + 1 == _TRIES or not is_outdated(error):
                    return f"{node} cannot be fenced: {error}"
                # Another program has changed the taints, which our watch will show in a moment.
                await asyncio.sleep(_SETTLING)
            else:
                return None
        return None

    async def _patch(self, node: str, operations: list[dict[str, Any]]) -> None:
        await objects.patch(
            self.api, RESOURCES["Node"], "", node, operations, kind=PatchKind.JSON, permit=self._permitted
        )

    def _permitted(self) -> float:
        assert self._election is not None
        return min(self.permit(), self._election.leadership.remaining())

    def _shows(self, nodes: Collection[str]) -> bool:
        """Whether all of these nodes that still exist carry our fence."""
        ours = {each.name for each in self.cluster.fences() if each.value == self.value}
        return all(node in ours or self.cluster.has_taints(node) is None for node in nodes)


async def remove(api: Api, fences: Iterable[FencedNode]) -> list[str]:
    """Remove fences; return why some could not be removed. Nodes that changed meanwhile are left for the next time."""

    async def unfence(fence: FencedNode) -> str | None:
        try:
            await objects.patch(
                api, RESOURCES["Node"], "", fence.name, removing_taint(fence.place, {"key": FENCE}), kind=PatchKind.JSON
            )
        except NotFound:
            return None
        except ClientError as error:
            return None if is_outdated(error) else f"{fence.name} is still fenced: {error}"
        return None

    return await _for_each(fences, unfence)


def taint_value(holder: str, now: float) -> str:
    """The value of the taint: who fences and since when (seconds since the epoch), cut to the length of a label value."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", holder)[:_LONGEST_HOLDER].strip("._-") or "restow"
    return f"{name}_{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}"


async def _for_each(things: Iterable[Any], do: Callable[[Any], Any]) -> list[str]:
    """Do something for each fence or node, a few at a time; return the problems."""
    limit = asyncio.Semaphore(_AT_A_TIME)

    async def one(thing: Any) -> str | None:
        async with limit:
            problem: str | None = await do(thing)
            return problem

    return [problem for problem in await asyncio.gather(*map(one, things)) if problem is not None]
