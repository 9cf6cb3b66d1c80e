"""Leader election by a Lease, as client-go does it, and the permission to write that it gives, which ends by itself.

A candidate reads the lease; if it is free, expired (``leaseDurationSeconds``), or its own, it writes itself in as
``holderIdentity``, with the ``resourceVersion`` that it read, so of two candidates one gets a Conflict. "Expired" is
measured on the candidate's own clock from the moment at which it saw the lease change: times written by others are
never compared with ours, so clocks may differ by any amount.

Every write asks ``Leadership.remaining`` just before its request goes out: a leader that was paused or cut off finds
that its time is over and stops, even if nothing else has noticed yet. Others take the lease only ``lease`` seconds
after they saw a renewal, which is after it was sent; the permission ends ``renew`` seconds after it was sent. The
difference is for requests in flight and for clocks of unequal speed.
Source: client-go v0.36, tools/leaderelection.
"""

from __future__ import annotations

import asyncio
import random
import socket
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from restow.client import objects
from restow.client.errors import NotFound
from restow.client.resources import LEASES
from restow.client.server import Clock, boot_clock
from restow.client.transport import Api
from restow.errors import ClientError, InputError

T = TypeVar("T")

#: client-go waits up to this much longer than the retry period before it tries to acquire again.
JITTER = 1.2
#: Seconds for releasing the lease. Waiting longer is pointless: by then it expires for the others.
RELEASE: Final = 5.0
#: Spreads candidates, keeps no secret.
_chance = random.Random()  # noqa: S311


class Timing(Struct, frozen=True):
    """The three durations of leader election (seconds), the Kubernetes Descheduler's by default."""

    #: Others wait so long after the last renewal that they saw.
    lease: float = 137.0
    #: The leader gives up so long after its last renewal.
    renew: float = 107.0
    #: Between tries.
    retry: float = 26.0

    def check(self) -> None:
        """InputError, in client-go's words, for durations that do not go together."""
        if self.lease <= self.renew:
            raise InputError("leaseDuration must be greater than renewDeadline")
        if self.renew <= JITTER * self.retry:
            raise InputError("renewDeadline must be greater than retryPeriod*JitterFactor")
        for name, value in (("leaseDuration", self.lease), ("renewDeadline", self.renew), ("retryPeriod", self.retry)):
            if value <= 0:
                raise InputError(f"{name} must be greater than zero")


DESCHEDULER = Timing()


@dataclass(slots=True)
class Leadership:
    """Until when we lead: the election sets it, and every write asks for it."""

    clock: Clock
    #: The moment on ``clock`` at which the permission ends; the past while another process leads.
    deadline: float = float("-inf")

    def remaining(self) -> float:
        """Seconds for which we still lead; zero or less when we do not. A ``Permit``."""
        return self.deadline - self.clock()

    def held(self) -> bool:
        """Whether we lead now."""
        return self.remaining() > 0

    def extend(self, deadline: float) -> None:
        """Extend the permission: the lease was renewed."""
        self.deadline = deadline

    def end(self) -> None:
        """End the permission at once."""
        self.deadline = float("-inf")


class LeaseSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Who leads, and for how long the others wait after a renewal that they saw."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    preferred_holder: str | None = None
    strategy: str | None = None


class Lease(Struct, frozen=True, rename="camel"):
    """A coordination.k8s.io/v1 Lease."""

    metadata: dict[str, Any]
    spec: LeaseSpec = LeaseSpec()
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"


class Lock(Protocol):
    """Where the lease is kept; ``LeaseLock`` in a cluster."""

    async def get(self) -> Lease | None:
        """The lease, None if there is none yet."""

    async def create(self, spec: LeaseSpec) -> Lease:
        """A new lease; Conflict if another process was quicker."""

    async def update(self, lease: Lease, spec: LeaseSpec) -> Lease:
        """The lease with another spec; Conflict if it is no longer the one that was read."""


class LeaseLock(Struct, frozen=True):
    """A lease in the cluster."""

    api: Api
    namespace: str
    name: str

    async def get(self) -> Lease | None:
        """The lease, None if there is none yet."""
        try:
            return await objects.get(self.api, LEASES, self.namespace, self.name, Lease)
        except NotFound:
            return None

    async def create(self, spec: LeaseSpec) -> Lease:
        """A new lease; Conflict if another process was quicker."""
        return await objects.create(self.api, LEASES, self.namespace, Lease({"name": self.name}, spec))

    async def update(self, lease: Lease, spec: LeaseSpec) -> Lease:
        """The lease with another spec; Conflict if it is no longer the one that was read."""
        return await objects.replace(self.api, LEASES, self.namespace, self.name, Lease(lease.metadata, spec))


def micro_time(seconds: float) -> str:
    """Seconds since the epoch as the API's MicroTime."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _nothing(_: str) -> None:
    """Ignore the sentence."""


def new_identity() -> str:
    """A name that no other candidate has: the host's, and something unique, as client-go's programs make it."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


@dataclass(slots=True)
class Election:
    """One candidate for a lease."""

    lock: Lock
    identity: str
    timing: Timing = DESCHEDULER
    clock: Clock = boot_clock
    #: Seconds since the epoch, only ever written down.
    wall_clock: Clock = time.time
    #: Called with the name of each new leader.
    on_leader: Callable[[str], None] = _nothing
    #: Called with what went wrong with one try.
    on_problem: Callable[[str], None] = _nothing
    leadership: Leadership = field(init=False)
    _seen: Lease | None = field(init=False, default=None)
    _seen_at: float = field(init=False, default=float("-inf"))
    _reported: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self.timing.check()
        self.leadership = Leadership(self.clock)

    async def acquire(self) -> None:
        """Try until we lead, or until cancelled."""
        while True:
            if await self._try():
                return
            await asyncio.sleep(self.timing.retry * (1 + JITTER * _chance.random()))

    async def hold(self) -> None:
        """Renew; return when the lease is lost or could not be renewed in time."""
        while self.leadership.held():
            await asyncio.sleep(min(self.timing.retry, max(0.0, self.leadership.remaining())))
            # After a pause the time may be over: the lease is then no longer ours to renew.
            if self.leadership.held():
                await self._try()
        self.leadership.end()

    async def release(self) -> None:
        """Release the lease if it is ours, and if the server answers soon, so that others get it at once."""
        self.leadership.end()
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(RELEASE):
                lease = await self.lock.get()
                if lease is not None and lease.spec.holder_identity == self.identity:
                    self._see(await self.lock.update(lease, self._free(lease)))

    def _free(self, before: Lease) -> LeaseSpec:
        now = micro_time(self.wall_clock())
        return LeaseSpec(
            holder_identity="",
            lease_duration_seconds=1,
            acquire_time=now,
            renew_time=now,
            lease_transitions=before.spec.lease_transitions or 0,
        )

    def _holder(self) -> str:
        return (self._seen.spec.holder_identity or "") if self._seen is not None else ""

    async def _try(self) -> bool:
        """Write us in, or renew; whether we lead now."""
        # The permission counts from before the request: no other process can have seen it earlier.
        sent = self.clock()
        try:
            async with asyncio.timeout(self.leadership.remaining() if self.leadership.held() else self.timing.renew):
                leads = await self._renew() or await self._claim()
        except (ClientError, TimeoutError) as error:
            self.on_problem(str(error) or "no answer in time")
            leads = False
        if leads:
            self.leadership.extend(sent + self.timing.renew)
        elif self._holder() != self.identity:
            self.leadership.end()
        self._report()
        return leads

    async def _renew(self) -> bool:
        """The quick way of a leader: replace what we wrote last, without reading it again."""
        if self._seen is None or not self.leadership.held() or self._holder() != self.identity:
            return False
        try:
            self._see(await self.lock.update(self._seen, self._spec(self._seen)))
        except ClientError as error:
            self.on_problem(str(error))
            return False
        return True

    async def _claim(self) -> bool:
        """The whole way: read, judge, write."""
        lease = await self.lock.get()
        if lease is None:
            self._see(await self.lock.create(self._spec(None)))
            return True
        self._see(lease)
        if self._is_taken(lease):
            return False
        self._see(await self.lock.update(lease, self._spec(lease)))
        return True

    def _is_taken(self, lease: Lease) -> bool:
        """Whether another process holds it, and may still be running."""
        if lease.spec.holder_identity in {"", None, self.identity}:
            return False
        return self.clock() < self._seen_at + (lease.spec.lease_duration_seconds or 0)

    def _see(self, lease: Lease) -> None:
        if self._seen is None or msgspec.json.encode(self._seen.spec) != msgspec.json.encode(lease.spec):
            self._seen_at = self.clock()
        self._seen = lease

    def _spec(self, before: Lease | None) -> LeaseSpec:
        now = micro_time(self.wall_clock())
        old = before.spec if before is not None else LeaseSpec()
        ours = old.holder_identity == self.identity
        transitions = old.lease_transitions or 0
        return msgspec.structs.replace(
            old,
            holder_identity=self.identity,
            lease_duration_seconds=int(self.timing.lease),
            acquire_time=old.acquire_time if ours else now,
            renew_time=now,
            lease_transitions=transitions + (before is not None and not ours),
        )

    def _report(self) -> None:
        if (holder := self._holder()) and holder != self._reported:
            self._reported = holder
            self.on_leader(holder)


async def lead(election: Election, work: Callable[[Leadership], Awaitable[T]]) -> T | None:
    """Wait until we lead, then do ``work``: its result, or None if leadership was lost and the work cancelled.

    The lease is released at the end, however it comes, after the work has ended.
    """
    try:
        await election.acquire()
        working = asyncio.ensure_future(work(election.leadership))
        holding = asyncio.ensure_future(election.hold())
        try:
            await asyncio.wait((working, holding), return_when=asyncio.FIRST_COMPLETED)
        finally:
            working.cancel()
            holding.cancel()
            await asyncio.wait((working, holding))
        if not holding.cancelled():
            holding.result()
        return None if working.cancelled() else working.result()
    finally:
        await election.release()
