"""Steering while a process leads; at its end no pod stays gated and no node fenced."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import Final

from restow.client.errors import NotFound
from restow.client.leadership import Permit
from restow.client.listing import Selection
from restow.client.transport import Api
from restow.cluster.snapshot import ClusterStore
from restow.daemon.background import background
from restow.daemon.logs import Log, once_each
from restow.descheduler.offering import Offer
from restow.descheduler.webhook import Webhook
from restow.errors import ClientError
from restow.executing.fencing import Fencing
from restow.executing.releasing import PAUSE, REQUEST, Gated, Releasing, unthrottled
from restow.executing.steering import Steering
from restow.live.reading import read_kinds
from restow.serving.steering_metrics import SteeringMetrics

#: Seconds between two tries to write what could not be written.
_REPAIR: Final = 5.0
#: Seconds within which a replacement may still appear after restow stopped waiting for it.
_RECENTLY: Final = 10.0


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
    """Release all gated pods; the caller limits the time.

    A replacement can appear after restow stopped waiting for it, and be gated before the API server sees the empty
    ConfigMap. The watch may be late, so list the pods of the namespaces where restow stopped waiting recently.
    """
    await asyncio.gather(_cleared(found, log), keeper.let_all_go())
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
