"""Fencing of nodes: check the rights for it, and remove each fence after its plan.

The rights are an optional part of a deployment (``deploy/kubernetes/fencing``). Installing them allows restow to close
nodes to all new pods for the length of a plan.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from restow.client.leader_election import Election, new_identity
from restow.client.leadership import Permit
from restow.client.leases import LeaseLock
from restow.client.resources import LEASES, RESOURCES
from restow.client.transport import Api
from restow.daemon.background import background
from restow.daemon.logs import Log, once_each
from restow.descheduler import guards
from restow.descheduler.gating import Right, first_lacking
from restow.descheduling.plan import Fenced
from restow.errors import ClientError
from restow.executing.fencing import LEASE, TIMING, Fencing, NodesNow
from restow.executing.releasing import unthrottled
from restow.executing.settings import elapsed
from restow.executing.unfencing import Unfencing
from restow.serving.steering_metrics import SteeringMetrics

#: The rights for fencing, in addition to those for evicting; a role with these rights on the lease may also create it.
#: The guard limits restow to one taint and is installed with the rights, so an account that may do everything fences no
#: nodes without it.
_RIGHTS: Final = (
    *guards.FENCING.rights,
    Right(RESOURCES["Node"], "", "", "patch"),
    Right(LEASES, LEASE, "", "get"),
    Right(LEASES, LEASE, "", "update"),
)
#: Seconds between two looks at a fence that stands, and for which one stands at most: other pods that wait for the
#: nodes get them between two plans.
_LOOK: Final = 0.5
LONGEST: Final = 600.0


async def missing_for_fences(api: Api, namespace: str) -> str | None:
    """What restow lacks for fences, in one sentence; None where it may set them."""
    try:
        lacking = await first_lacking(api, namespace, _RIGHTS)
        return lacking or await guards.missing_of(api, guards.FENCING)
    except ClientError as error:
        return str(error)


@asynccontextmanager
async def fenced(
    fencing: Fencing | None, fence: Fenced | None, conclude: Callable[[], None]
) -> AsyncIterator[str | None]:
    """Fence the nodes that a plan counts on, if any; yield why that failed.

    ``conclude`` is called when the fence is incomplete or has lasted ``LONGEST`` seconds. The fence stays after the
    block, because the next plan may count on the same one.
    """
    if fencing is None or fence is None:
        yield None
        return
    problem = await _set(fencing, fence)
    if problem is not None:
        yield problem
        return
    async with background(_watch(fencing, conclude), "watch fence"):
        yield None


async def _set(fencing: Fencing, fence: Fenced) -> str | None:
    if fencing.since + LONGEST < elapsed():
        await fencing.lift()
    return await fencing.set(fence.nodes, fence.effect)


async def _watch(fencing: Fencing, conclude: Callable[[], None]) -> None:
    while True:
        if not fencing.is_whole or elapsed() >= fencing.since + LONGEST:
            conclude()
            return
        await asyncio.sleep(_LOOK)


@contextmanager
def fencing_by(keeper: Unfencing, namespace: str, permit: Permit) -> Iterator[Fencing]:
    """Yield the fencing of a leader; the keeper does not remove its fences. The lease is in the namespace."""
    name = socket.gethostname()
    clock = keeper.api.server_time.now
    keeper.fencing = Fencing(keeper.api, permit, keeper.cluster, keeper.election, name, namespace, clock)
    try:
        yield keeper.fencing
    finally:
        keeper.fencing = None


@asynccontextmanager
async def unfencing(
    api: Api, namespace: str, cluster: NodesNow, log: Log, metrics: SteeringMetrics
) -> AsyncIterator[Unfencing]:
    """Remove abandoned fences while the block runs, with or without the lease."""
    warn = once_each(log.warning)

    def candidate() -> Election:
        lock = LeaseLock(api.without_limit().within(TIMING.renew / 2), namespace, LEASE)
        # A name of its own, for several candidates of one process may apply at a time.
        return Election(lock, new_identity(), TIMING, on_problem=lambda why: warn(_not_had(why)))

    keeper = Unfencing(unthrottled(api), cluster, candidate, warn, metrics)
    async with background(keeper.run(), "remove fences"):
        yield keeper


def _not_had(why: str) -> str:
    return f"the Lease {LEASE}, which whoever fences nodes or removes fences has to hold, could not be had: {why}"
