"""Steering for the length of one plan, by a process that ends with it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from restow.client.leadership import always
from restow.client.permitted_body import Permit
from restow.client.transport import Api
from restow.executing.releasing import REQUEST
from restow.executing.steering import Steering, Steers
from restow.live.cluster import LiveCluster
from restow.policies.policy import Policy
from restow.running.logs import Log
from restow.running.steering import offered_gate, releasing, steering
from restow.serving.metrics import Metrics


async def why_not_steered(api: Api, namespace: str, log: Log) -> str | None:
    """What a cluster lacks for steering, with the ConfigMap in a namespace; nothing is written to find out."""
    gate = await offered_gate(Steering(api.within(REQUEST), always, namespace, log.caution))
    return gate if isinstance(gate, str) else None


@asynccontextmanager
async def steered(
    api: Api, live: LiveCluster, permit: Permit, *, policy: Policy, namespace: str, log: Log
) -> AsyncIterator[Steers | None]:
    """Steering, or None where the cluster does not offer it; no gate and no entry is left behind after it."""
    async with (
        releasing(api, live, log, Metrics()) as keeper,
        steering(api, namespace, permit, keeper, log) as offer,
    ):
        yield (await offer.now(policy)).steering
