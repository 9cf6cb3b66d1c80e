"""Whether a cluster lets replacements be steered, and the care that nothing stays behind a gate.

Steering needs objects that somebody else has installed (``deploy/kubernetes/steering``) and rights that restow may be
without. Either may come and go, so the cluster is asked before each cycle. What is missing is one sentence in the log;
replacements then land where the scheduler puts them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Final

from restow.client.errors import ClientError, NotFound
from restow.client.permitted_body import Permit
from restow.client.resources import CONFIG_MAPS, RESOURCES
from restow.client.transport import Api
from restow.executing.releasing import PAUSE, REQUEST, Gated, Releasing
from restow.executing.steering import CONFIG_MAP, Steering
from restow.policies.policy import Policy
from restow.running.gating import Gate, gate_of
from restow.running.logs import Log
from restow.running.rights import Right, may
from restow.running.webhook import Webhook
from restow.serving.metrics import Metrics

#: Seconds between two tries to write what could not be written.
_REPAIR: Final = 5.0
_STEERED: Final = "replacements are steered: nominated for the node that the plan chooses, behind a scheduling gate"
_TO_INSTALL: Final = "docs/how-to/steer.md has the objects to install"
#: What steering does, beside evicting and asking who gives the gate.
_RIGHTS: Final = (
    Right(CONFIG_MAPS, CONFIG_MAP, "", "patch"),
    Right(RESOURCES["Pod"], "", "", "patch"),
    Right(RESOURCES["Pod"], "", "status", "patch"),
)


async def gate_for_steering(steering: Steering, webhook: Webhook | None) -> Gate | str:
    """Who gives the gate where a cluster offers steering and restow may do it; else what is missing, in one sentence.

    To see whether it may write the ConfigMap, it takes all out that is left there; so call it while nothing is awaited.
    """
    gate = await offered_gate(steering, webhook)
    try:
        if isinstance(gate, Gate):
            await steering.clear()
    except ClientError as error:
        return _missing(error)
    return gate


async def offered_gate(steering: Steering, webhook: Webhook | None = None) -> Gate | str:
    """The same as far as can be known without writing anything."""
    try:
        gate = await gate_of(steering.api, steering.namespace, webhook)
        if isinstance(gate, Gate):
            for right in _RIGHTS:
                if not await may(steering.api, steering.namespace, right):
                    return f"{right.lacking(steering.namespace)}; {_TO_INSTALL}"
    except ClientError as error:
        return _missing(error)
    return gate


def _missing(error: ClientError) -> str:
    return f"{error.message}; {_TO_INSTALL}" if isinstance(error, NotFound) else str(error)


@dataclass(slots=True)
class Offer:
    """What the cluster offers, and the policy wants, at this moment."""

    steering: Steering
    log: Log
    #: Of this process; None where it answers none.
    webhook: Webhook | None = None
    #: Whether the cluster has ever offered it to this process, so that something may be left behind.
    was_made: bool = field(default=False, init=False)
    #: What was told last.
    _told: str = field(default="", init=False)

    async def now(self, policy: Policy) -> Steering | None:
        """Steering, or None where there is none; to be asked before each cycle, and told when it has changed."""
        wanted = policy.restow.steering
        if wanted == "none":
            self._told = ""
            return None
        gate = await gate_for_steering(self.steering, self.webhook)
        if isinstance(gate, Gate):
            self.was_made = True
            self._tell(self.log.say, f"{_STEERED} that {gate.value}")
            return self.steering
        self._tell(self.log.caution if wanted == "nominate" else self.log.say, f"replacements are not steered: {gate}")
        return None

    def _tell(self, tell: Callable[[str], None], sentence: str) -> None:
        if sentence != self._told:
            self._told = sentence
            tell(sentence)


@asynccontextmanager
async def releasing(api: Api, cluster: Gated, log: Log, metrics: Metrics) -> AsyncIterator[Releasing]:
    """Let go what waits behind the gate for too long, as long as the context lasts; whoever leads or not."""
    keeper = Releasing(_hurried(api), cluster, _once_each(log.caution), metrics)
    task = asyncio.create_task(keeper.run(), name="release gates")
    try:
        yield keeper
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def steering(
    api: Api, namespace: str, permit: Permit, keeper: Releasing, log: Log, *, webhook: Webhook | None = None
) -> AsyncIterator[Offer]:
    """Steering while we lead, with the webhook of this process if it has one; nothing is left behind after it."""
    found = Steering(_hurried(api), permit, namespace, log.caution)
    keeper.steering = found
    repairing = asyncio.create_task(_repair(found), name="repair steering")
    offer = Offer(found, log, webhook)
    try:
        with nullcontext() if webhook is None else webhook.asking(found):
            yield offer
    finally:
        repairing.cancel()
        keeper.steering = None
        # Whoever leads after us begins a while after our permission has ended: it is not in their way.
        if offer.was_made:
            with suppress(TimeoutError):
                async with asyncio.timeout(REQUEST):
                    await _leave(found, keeper, log)


async def _repair(found: Steering) -> None:
    while True:
        await asyncio.sleep(_REPAIR)
        await found.repair()


async def _leave(found: Steering, keeper: Releasing, log: Log) -> None:
    """Leave nothing behind. What was gated before the API server knew that nothing is awaited is seen a moment later."""
    await asyncio.gather(_cleared(found, log), keeper.let_all_go())
    await asyncio.sleep(PAUSE)
    await keeper.let_all_go()


async def _cleared(found: Steering, log: Log) -> None:
    try:
        await found.clear()
    except NotFound:
        return
    except ClientError as error:
        log.caution(f"new pods may still be gated; restow releases them: {error}")


def _hurried(api: Api) -> Api:
    """For requests that pods wait for. There are a few for each eviction, and those have a limit."""
    return api.without_limit().within(REQUEST)


def _once_each(warn: Callable[[str], None]) -> Callable[[str], None]:
    """Say the same thing once."""
    said: set[str] = set()

    def once(sentence: str) -> None:
        if sentence not in said:
            said.add(sentence)
            warn(sentence)

    return once
