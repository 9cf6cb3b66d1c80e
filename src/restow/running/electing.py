"""Work under a lease, where one is asked for.

Whoever loses the lease ends, as the Descheduler does, with exit status 0: the kubelet starts it anew, and it applies
again. Whoever is told to stop while it waits for the lease just goes. Source of a request's time: client-go v0.36,
resourcelock.NewFromKubeconfig.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from restow.client.leader_election import Election, lead, new_identity
from restow.client.leadership import Leadership, always
from restow.client.leases import LeaseLock
from restow.client.permitted_body import Permit
from restow.client.transport import Api
from restow.running import log_lines
from restow.running.logs import Log
from restow.running.settings import LeaseSettings

#: What is done with a permission to write.
Work = Callable[[Permit], Awaitable[None]]
#: Is told whether this process may write.
Leads = Callable[[bool], None]


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
    """Do the work, under the lease that is asked for, in a namespace; returns when it is done, lost or stopped."""
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
    hurried = api.without_limit().within(max(1.0, lease.timing.renew / 2))
    lock = LeaseLock(hurried, namespace, lease.name)
    return Election(
        lock,
        new_identity(),
        lease.timing,
        on_leader=lambda identity: log_lines.new_leader(log, identity),
        on_problem=lambda problem: log.failure("Lease was not acquired or renewed", problem),
    )
