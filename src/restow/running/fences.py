"""Whether restow may fence nodes, and the care that no fence outlives its plan.

The rights are an optional part of a deployment (``deploy/kubernetes/fencing``): to install them is to agree that nodes are
closed to everybody's new pods for the length of a plan.
"""

from __future__ import annotations

import asyncio
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Final

from restow.client import objects
from restow.client.errors import ClientError, NotFound
from restow.client.leader_election import Election
from restow.client.leases import LeaseLock
from restow.client.permitted_body import Permit
from restow.client.resources import LEASES, RESOURCES, Resource
from restow.client.transport import Api
from restow.descheduling.plan import Fenced
from restow.executing.fencing import LEASE, TIMING, Fencing, NodesNow
from restow.executing.releasing import REQUEST
from restow.executing.settings import elapsed
from restow.executing.unfencing import Unfencing
from restow.running.logs import Log, once_each
from restow.running.rights import Right, may
from restow.serving.metrics import Metrics

#: What holds restow to one taint: it is installed with the rights, so who may do everything anyway fences no nodes.
GUARD: Final = "restow-fencing"
GUARDS: Final = Resource(
    kind="ValidatingAdmissionPolicyBinding",
    group="admissionregistration.k8s.io",
    version="v1",
    plural="validatingadmissionpolicybindings",
    namespaced=False,
)
#: What fencing does, beside evicting; whoever may do this with the lease may create it.
_RIGHTS: Final = (
    Right(GUARDS, GUARD, "", "get"),
    Right(RESOURCES["Node"], "", "", "patch"),
    Right(LEASES, LEASE, "", "get"),
    Right(LEASES, LEASE, "", "update"),
)
#: Seconds between two looks at a fence that stands, and for which one stands at most: whoever waits for the nodes gets a
#: turn between two plans.
_LOOK: Final = 0.5
LONGEST: Final = 600.0


async def missing_for_fences(api: Api, namespace: str) -> str | None:
    """What restow lacks for fences, in one sentence; None where it may set them."""
    try:
        for right in _RIGHTS:
            if not await may(api, namespace, right):
                return right.lacking(namespace)
        await objects.find(api, GUARDS, "", GUARD)
    except NotFound:
        return f"there is no {GUARDS.kind} {GUARD}"
    except ClientError as error:
        return str(error)
    return None


async def fence_for(fencing: Fencing, fence: Fenced) -> str | None:
    """Have nodes fenced before a plan is carried out; why they could not be."""
    if fencing.since + LONGEST < elapsed():
        await fencing.lift()
    return await fencing.set(fence.nodes, fence.effect)


@asynccontextmanager
async def watched(fencing: Fencing, conclude: Callable[[], None]) -> AsyncIterator[None]:
    """Call ``conclude`` when the fence does not stand any more as it was set, or has stood for long enough."""
    watching = asyncio.create_task(_watch(fencing, conclude), name="watch fence")
    try:
        yield
    finally:
        watching.cancel()


async def _watch(fencing: Fencing, conclude: Callable[[], None]) -> None:
    while True:
        if not fencing.is_whole or elapsed() >= fencing.since + LONGEST:
            conclude()
            return
        await asyncio.sleep(_LOOK)


@contextmanager
def fencing_by(keeper: Unfencing, namespace: str, permit: Permit) -> Iterator[Fencing]:
    """Fences while we lead, that the keeper leaves alone; the lease is in a namespace."""
    name = socket.gethostname()
    clock = keeper.api.server_time.now
    keeper.fencing = Fencing(keeper.api, permit, keeper.cluster, keeper.election, name, namespace, clock)
    try:
        yield keeper.fencing
    finally:
        keeper.fencing = None


@asynccontextmanager
async def unfencing(
    api: Api, namespace: str, cluster: NodesNow, log: Log, metrics: Metrics
) -> AsyncIterator[Unfencing]:
    """Remove fences that nobody holds, as long as the context lasts; whoever leads or not."""
    hurried = api.without_limit().within(REQUEST)
    warn = once_each(log.caution)

    def candidate() -> Election:
        lock = LeaseLock(api.without_limit().within(TIMING.renew / 2), namespace, LEASE)
        # A name of its own, for several candidates of one process may apply at a time.
        return Election(
            lock, f"{socket.gethostname()}_{uuid.uuid4()}", TIMING, on_problem=lambda why: warn(_not_had(why))
        )

    keeper = Unfencing(hurried, cluster, candidate, warn, metrics)
    task = asyncio.create_task(keeper.run(), name="remove fences")
    try:
        yield keeper
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def _not_had(why: str) -> str:
    return f"the Lease {LEASE}, which whoever fences nodes or removes fences has to hold, could not be had: {why}"
