"""Steering and fencing while a process leads; at its end no pod stays gated and no node fenced.

With or without the lease, a process releases pods that are gated for too long and removes abandoned fences. A plan that
counts on a fence is carried out behind it, and concluded when the fence is gone (``behind_fence``). ``release_all`` does
without any of that: for a cluster where no restow runs any more, it removes all gates and fences, and stops gating.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from restow.client.errors import Conflict, NotFound
from restow.client.flow_control import for_each
from restow.client.leader_election import Election, LeaseLock, new_identity
from restow.client.listing import Selection
from restow.client.transport import Api, Permit
from restow.cluster.pod_values import PodNow
from restow.cluster.snapshot import ClusterStore
from restow.daemon.background import background
from restow.daemon.logs import Log, once_each
from restow.descheduler.offering import Offer
from restow.descheduler.webhook import Webhook
from restow.descheduling.plan import Fenced
from restow.errors import ClientError
from restow.executing.ending_surges import end_all
from restow.executing.fencing import LEASE, TIMING, Fencing, NodesNow, Unfencing, remove
from restow.executing.reserving import delete_all
from restow.executing.steering import (
    CONFIG_MAP,
    PAUSE,
    REQUEST,
    Gated,
    Releasing,
    Steering,
    clear,
    release,
    unthrottled,
)
from restow.live.reading import read_kinds
from restow.serving.figures import SteeringMetrics

#: Seconds between two tries to write what could not be written.
_REPAIR: Final = 5.0
#: Seconds within which a replacement may still appear after restow stopped waiting for it.
_RECENTLY: Final = 10.0
#: Seconds between two looks at a fence that stands.
_LOOK: Final = 0.5
#: The API server may still gate pods just after the ConfigMap is emptied, so pods are listed again until none is gated:
#: how often at most, and the pause before each (seconds).
_LOOKS: Final = 5
_PAUSE: Final = 1.0


@asynccontextmanager
async def releasing(api: Api, cluster: Gated, log: Log, metrics: SteeringMetrics) -> AsyncIterator[Releasing]:
    """Release pods that are gated for too long while the block runs, with or without the lease."""
    keeper = Releasing(unthrottled(api), cluster, once_each(log.warning), metrics)
    async with background(keeper.run(), "release gates"):
        yield keeper


@asynccontextmanager
async def steering(
    api: Api,
    namespace: str,
    permit: Permit,
    keeper: Releasing,
    log: Log,
    *,
    fencing: Fencing,
    webhook: Webhook | None = None,
) -> AsyncIterator[Offer]:
    """Steer while this process leads, also by its webhook if it has one; release all pods and nodes at the end."""
    quick = unthrottled(api)
    found = Steering(quick, permit, namespace, log.warning)
    keeper.steering = found
    repairing = asyncio.create_task(_repair(found), name="repair steering")
    offer = Offer(quick, namespace, log, webhook, found, fencing)
    try:
        with nullcontext() if webhook is None else webhook.asking(found):
            yield offer
    finally:
        repairing.cancel()
        keeper.steering = None
        # The next leader begins some time after our permission has ended, so this does not disturb it.
        ends = [_leave(found, keeper, log)] if offer.was_made else []
        with suppress(TimeoutError):
            async with asyncio.timeout(REQUEST):
                await asyncio.gather(*ends, fencing.ended())


async def _repair(found: Steering) -> None:
    while True:
        await asyncio.sleep(_REPAIR)
        await found.repair()


async def _leave(found: Steering, keeper: Releasing, log: Log) -> None:
    """Release all gated pods, and give back places that are still held; the caller limits the time.

    A replacement can appear after restow stopped waiting for it, and be gated before the API server sees the empty
    ConfigMap. The watch may be late, so list the pods of the namespaces where restow stopped waiting recently.
    """
    await asyncio.gather(_cleared(found, log), keeper.let_all_go(), found.free_places())
    await asyncio.sleep(PAUSE)
    await keeper.let_all_go()
    while namespaces := found.given_up(_RECENTLY):
        await asyncio.gather(*(_let_go_in(namespace, found.api, keeper) for namespace in namespaces))
        await asyncio.sleep(PAUSE)


async def _let_go_in(namespace: str, api: Api, keeper: Releasing) -> None:
    """Release the gated pods that the API server lists in a namespace."""
    store = ClusterStore()
    with suppress(ClientError):
        await read_kinds(api, ("Pod",), store, Selection(namespace))
    await keeper.let_go(store.gated())


async def _cleared(found: Steering, log: Log) -> None:
    try:
        await found.clear()
    except NotFound:
        return
    except ClientError as error:
        log.warning(f"new pods may still be gated; restow releases them: {error}")


@asynccontextmanager
async def behind_fence(
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
    if fencing.has_lasted:
        await fencing.lift()
    return await fencing.set(fence.nodes, fence.effect)


async def _watch(fencing: Fencing, conclude: Callable[[], None]) -> None:
    while True:
        if not fencing.is_whole or fencing.has_lasted:
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


@dataclass(slots=True)
class Released:
    """The result of a release."""

    #: A sentence about the ConfigMap.
    entries: str
    #: namespace/name of the pods that are no longer gated.
    pods: list[str] = field(default_factory=list)
    #: Why pods and nodes could not be released, one sentence each.
    failures: list[str] = field(default_factory=list)
    #: The nodes that were fenced.
    nodes: list[str] = field(default_factory=list)
    #: The workloads that had one pod more than they are to have.
    workloads: list[str] = field(default_factory=list)
    #: The pods whose places were held.
    places: list[str] = field(default_factory=list)


async def release_all(api: Api, namespace: str) -> Released:
    """Empty the ConfigMap in the namespace, release all gated pods and held places, remove all fences, and end all surges.

    ClientError if nothing can be done.
    """
    released = Released(await _emptied(api, namespace))
    for look in range(_LOOKS):
        gated = await _gated(api)
        if look and not gated:
            break
        released.failures.clear()
        await for_each(gated, partial(_let_go, api, released))
        await asyncio.sleep(_PAUSE)
    await _unfence(api, released)
    await _end_surges(api, released)
    await _free_places(api, namespace, released)
    return released


async def _free_places(api: Api, namespace: str, released: Released) -> None:
    try:
        released.places += await delete_all(api, namespace)
    except ClientError as error:
        released.failures.append(f"places on nodes may still be held for nobody: {error}")


async def _end_surges(api: Api, released: Released) -> None:
    try:
        ended = await end_all(api, released.failures.append)
        released.workloads += ended.workloads
        released.failures += ended.problems
    except ClientError as error:
        released.failures.append(f"workloads may still have one pod more than they are to have: {error}")


async def _unfence(api: Api, released: Released) -> None:
    """Remove fences until none is left: a list may be out of date."""
    try:
        await _open(api, released)
    except ClientError as error:
        released.failures.append(f"nodes may still be fenced: {error}")


async def _open(api: Api, released: Released) -> None:
    problems: list[str] = []
    for _ in range(_LOOKS):
        fences = (await _read(api, "Node")).fences()
        if not fences:
            return
        problems = await remove(api, fences)
        released.nodes = sorted({*released.nodes, *(each.name for each in fences)})
    left = {each.name for each in (await _read(api, "Node")).fences()}
    released.nodes = [name for name in released.nodes if name not in left]
    released.failures += problems or [f"{name} is still fenced: somebody fences it again" for name in sorted(left)]


async def _emptied(api: Api, namespace: str) -> str:
    where = f"ConfigMap {namespace}/{CONFIG_MAP}"
    try:
        await clear(api, namespace)
    except NotFound:
        return f"there is no {where}: no new pods are gated"
    return f"{where} is empty: no new pods are gated"


async def _gated(api: Api) -> list[PodNow]:
    return (await _read(api, "Pod")).gated()


async def _read(api: Api, kind: str) -> ClusterStore:
    store = ClusterStore()
    await read_kinds(api, (kind,), store)
    return store


async def _let_go(api: Api, released: Released, pod: PodNow) -> None:
    name = f"{pod.namespace}/{pod.name}"
    try:
        await release(api, pod)
    except (NotFound, Conflict):
        return
    except ClientError as error:
        released.failures.append(f"{name} is still gated: {error}")
    else:
        released.pods.append(name)
