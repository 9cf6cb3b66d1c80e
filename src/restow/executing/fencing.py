"""Fences: while a plan is carried out, the nodes where no replacement should land carry restow's taint.

Which nodes these are, ``proving.steering`` says. The process that fences holds the Lease ``restow-fence`` and renews
it as long as its fence stands, ``LONGEST`` seconds at most. So there is one fence at a time, and every replica of restow
can see whether a fence is still held. The fence is set before the first eviction; evictions begin when our own watch
shows it, and a moment later, because kube-scheduler has its own watch. Patches keep all other taints
(``client.objects``).

Fences that are not held any more are removed by every replica of restow, not only the leader (``Unfencing``). One that
sees fenced nodes, and does not hold the fence itself, applies for that Lease. As long as the holder renews it, nothing
happens. If the holder is dead or has released the Lease, one replica gets it and removes the fence.
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
from restow.client.flow_control import for_each
from restow.client.leader_election import Election, Leadership, Timing, lead
from restow.client.objects import PatchKind, adding_taint, is_outdated, removing_taint
from restow.client.resources import RESOURCES
from restow.client.transport import Api, Permit
from restow.cluster.closed_nodes import FencedNode
from restow.errors import ClientError
from restow.executing.surroundings import Clock, elapsed
from restow.kube.taints import FENCE

LEASE: Final = "restow-fence"
#: Seconds for which a fence stands at most: other pods that wait for the nodes get them between two plans.
LONGEST: Final = 600.0
#: The durations of that lease (seconds): a fence counts as abandoned when its holder has been dead for so long.
TIMING: Final = Timing(lease=5.0, renew=3.0, retry=1.0)
#: Seconds to wait for the end of another fence; after that, the plan is carried out without one.
_PATIENCE: Final = TIMING.lease + 4.0
#: How often a patch is tried.
_TRIES: Final = 3
#: Seconds within which our own watch has to show the taints, and the additional time for the scheduler's watch.
_SEEN: Final = 10.0
_SETTLING: Final = 0.25
#: Seconds between two checks for abandoned fences, and the time that another process has to remove its fence itself.
PAUSE: Final = 0.5
_GRACE: Final = 1.0
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
        """Remove the fence. Nodes where that fails are left to ``Unfencing`` of any replica."""
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
    def has_lasted(self) -> bool:
        """Whether the fence has stood for as long as one may."""
        return elapsed() >= self.since + LONGEST

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
        problems = await for_each(sorted(missing), lambda node: self._fence(node, effect))
        if (problem := next(filter(None, problems), None)) is not None:
            return problem
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

    return [problem for problem in await for_each(fences, unfence) if problem is not None]


def taint_value(holder: str, now: float) -> str:
    """The value of the taint: who fences and since when (seconds since the epoch), cut to the length of a label value."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", holder)[:_LONGEST_HOLDER].strip("._-") or "restow"
    return f"{name}_{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}"


class FenceMetrics(Protocol):
    """Metrics of fences; ``serving.figures.SteeringMetrics`` has them."""

    def fences_stand(self, nodes: int, seconds: float) -> None:
        """Set how many nodes are fenced, and for how many seconds the longest has been."""
        ...

    def fences_removed(self, nodes: int) -> None:
        """Count removed fences that were abandoned."""
        ...


@dataclass(slots=True)
class Unfencing:
    """Removes abandoned fences."""

    api: Api
    cluster: NodesNow
    #: Makes a candidate for the lease of fences.
    election: Callable[[], Election]
    #: Logs a warning.
    warn: Callable[[str], None]
    counts: FenceMetrics
    #: What this process fences itself while it leads; None while it does not.
    fencing: Fencing | None = None
    #: When each fenced node was first seen.
    _seen: dict[str, float] = field(default_factory=dict, init=False)
    #: Applies for the lease, and removes the fences once it has it.
    _applying: asyncio.Task[None] | None = field(default=None, init=False)

    async def run(self) -> None:
        """Check regularly, until cancelled."""
        try:
            while True:
                self.look()
                await asyncio.sleep(PAUSE)
        finally:
            if self._applying is not None:
                self._applying.cancel()
                await asyncio.wait((self._applying,))

    def look(self) -> None:
        """Note how long nodes are fenced. Apply for the Lease while there are fences that are not ours."""
        now, fences = elapsed(), self.cluster.fences()
        self._seen = {each.name: self._seen.get(each.name, now) for each in fences}
        oldest = max((now - seen for seen in self._seen.values()), default=0.0)
        self.counts.fences_stand(len(self._seen), oldest)
        if not self._strange(fences):
            if self._applying is not None:
                self._applying.cancel()
        elif oldest >= _GRACE and (self._applying is None or self._applying.done()):
            self._applying = asyncio.create_task(self._take_away(), name="take fences away")

    def _strange(self, fences: Iterable[FencedNode]) -> list[FencedNode]:
        """The fences that this process does not hold."""
        ours = self.fencing.value if self.fencing is not None else ""
        return [each for each in fences if each.value != ours]

    async def _take_away(self) -> None:
        try:
            await lead(self.election(), self._remove)
        except Exception as error:  # noqa: BLE001 - the next try may succeed, and no one else tries
            self.warn(f"fences that nobody holds were not removed: {error or type(error).__name__}")

    async def _remove(self, _leadership: Leadership) -> None:
        strange = self._strange(self.cluster.fences())
        problems = await remove(self.api, strange)
        for problem in problems:
            self.warn(problem)
        self.counts.fences_removed(len(strange) - len(problems))
