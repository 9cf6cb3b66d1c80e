"""Leader election by a lease: a daemon holds it while it runs, a command while it writes.

A process that loses the lease ends with exit status 0, as the Descheduler does: the kubelet restarts it, and it waits for
the lease again. A process that is stopped while it waits ends at once. Source of a request's timeout: client-go v0.36,
resourcelock.NewFromKubeconfig.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import Struct

from restow.client.leader_election import Election, Leadership, Lease, LeaseLock, Timing, lead, new_identity
from restow.client.transport import Api, Permit, always
from restow.daemon import log_lines
from restow.daemon.logs import Log
from restow.errors import ClientError
from restow.kube.duration import SECOND
from restow.kube.timestamps import nearest_time

#: What is done with a permission to write.
Work = Callable[[Permit], Awaitable[None]]
#: Called with whether this process may write.
Leads = Callable[[bool], None]

#: As ``restow run``, but with a shorter retry, to take an abandoned lease soon after it expires.
_TIMING: Final = Timing(retry=5.0)
#: Seconds after which a lease that still cannot be taken has a living holder.
_PATIENCE: Final = _TIMING.lease + 4 * _TIMING.retry
_REQUEST: Final = 10.0


class LeaseSettings(Struct, frozen=True, kw_only=True):
    """The lease without which nothing is evicted."""

    name: str = "descheduler"
    timing: Timing = msgspec.field(default_factory=Timing)


async def with_permission(
    lease: LeaseSettings | None,
    namespace: str,
    api: Api,
    work: Work,
    stopping: asyncio.Event,
    *,
    log: Log,
    leads: Leads,
) -> None:
    """Do the work, under the configured lease if there is one; return when it is done, lost or stopped."""
    if lease is None:
        leads(True)
        await work(always)
        return
    await _under_a_lease(_election(lease, namespace, api, log), work, stopping, log=log, leads=leads)


def lease_unless_dry(lease: LeaseSettings | None, log: Log, *, dry_run: bool) -> LeaseSettings | None:
    """Return the lease that is asked for; a dry run needs none."""
    if lease is not None and dry_run:
        log_lines.no_election_in_dry_run(log)
        return None
    return lease


async def _under_a_lease(election: Election, work: Work, stopping: asyncio.Event, *, log: Log, leads: Leads) -> None:
    log_lines.candidate(log, election.identity)
    began, done = asyncio.Event(), asyncio.Event()

    async def as_leader(leadership: Leadership) -> None:
        began.set()
        log_lines.leading(log)
        leads(True)
        await work(leadership.remaining)
        done.set()

    leading = asyncio.ensure_future(lead(election, as_leader))
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait((leading, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not began.is_set():
            leading.cancel()
        with suppress(asyncio.CancelledError):
            await leading
    finally:
        stopped.cancel()
        leads(False)
    if began.is_set() and not done.is_set():
        log_lines.leader_lost(log)


def _election(lease: LeaseSettings, namespace: str, api: Api, log: Log) -> Election:
    # A renewal may not wait behind evictions, and one without answer leaves time for another.
    unlimited = api.without_limit().within(max(1.0, lease.timing.renew / 2))
    lock = LeaseLock(unlimited, namespace, lease.name)
    return Election(
        lock,
        new_identity(),
        lease.timing,
        on_leader=lambda identity: log_lines.new_leader(log, identity),
        on_problem=lambda problem: log.error("Lease was not acquired or renewed", problem),
    )


# A replica of ``restow run`` that holds the lease evicts by its own plans, and releases gated pods that are not its
# own. So an apply that finds the lease held does not begin, and while apply holds it, no replica begins.
def lease_lock(api: Api, namespace: str, name: str) -> LeaseLock:
    """The lease of a name; requests about it do not wait behind evictions."""
    return LeaseLock(api.without_limit().within(_REQUEST), namespace, name)


async def holder_of(lock: LeaseLock, now: float) -> str | None:
    """A sentence with the holder of a lease at a time (seconds since the epoch); None if it is free or expired."""
    try:
        lease = await lock.get()
    except ClientError as error:
        raise _cannot(lock, error) from error
    if lease is None or not lease.spec.holder_identity or _is_over(lease, now):
        return None
    return f"{_name(lock)} is held by {lease.spec.holder_identity}, which evicts pods of this cluster"


def _is_over(lease: Lease, now: float) -> bool:
    try:
        renewed = nearest_time(lease.spec.renew_time or "") / SECOND
    except ValueError:
        return False
    return now > renewed + (lease.spec.lease_duration_seconds or 0)


def _name(lock: LeaseLock) -> str:
    return f"the lease {lock.namespace}/{lock.name}"


def _cannot(lock: LeaseLock, why: object) -> ClientError:
    return ClientError(f"{_name(lock)} cannot be taken: {why}; --no-lease does without it")


@dataclass(slots=True)
class _Taking:
    """The progress of taking and holding a lease."""

    name: str
    identity: str
    warn: Callable[[str], None]
    #: What went wrong last.
    problem: str = ""
    has_begun: bool = False
    #: Set once it has begun, or something went wrong.
    is_decided: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self) -> None:
        self.has_begun = True
        self.is_decided.set()

    def fail(self, problem: str) -> None:
        self.problem = problem
        self.is_decided.set()
        if self.has_begun:
            self.warn(f"{self.name} was not renewed: {problem}")

    def see(self, holder: str) -> None:
        if holder != self.identity:
            self.warn(f"{self.name} was left behind by {holder}, and is taken once its time is over")


async def under_lease(
    lock: LeaseLock, work: Callable[[Permit], Awaitable[None]], stopping: asyncio.Event, warn: Callable[[str], None]
) -> None:
    """Take the lease, do the work and give the lease back; losing the lease cancels the work.

    ClientError if the lease cannot be taken. ``stopping`` ends only the wait for it.
    """
    taking = _Taking(_name(lock), new_identity(), warn)

    async def begun(leadership: Leadership) -> bool:
        taking.begin()
        await work(leadership.remaining)
        return True

    election = Election(lock, taking.identity, _TIMING, on_leader=taking.see, on_problem=taking.fail)
    leading = asyncio.ensure_future(lead(election, begun))
    waiting = [asyncio.ensure_future(each.wait()) for each in (taking.is_decided, stopping)]
    await asyncio.wait((leading, *waiting), timeout=_PATIENCE, return_when=asyncio.FIRST_COMPLETED)
    for each in waiting:
        each.cancel()
    if taking.has_begun:
        if await leading is None:
            warn(f"{taking.name} was lost")
        return
    leading.cancel()
    with suppress(asyncio.CancelledError):
        await leading
    if not stopping.is_set():
        raise _cannot(lock, taking.problem or "somebody else holds it")
