"""Whether a cluster lets replacements be steered, and the care that nothing stays behind a gate.

Steering needs objects that somebody else has installed (``deploy/kubernetes/steering``) and rights that restow may be
without. Either may come and go, so the cluster is asked before each cycle. What is missing is one sentence in the log;
replacements then land where the scheduler puts them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from typing import Final

from restow.client.errors import ClientError, NotFound
from restow.client.listing import Selection
from restow.client.permitted_body import Permit
from restow.client.resources import CONFIG_MAPS, RESOURCES
from restow.client.transport import Api
from restow.cluster.snapshot import ClusterIntake
from restow.descheduling.steering import Steering as SteeringKind
from restow.executing.fencing import Fencing
from restow.executing.releasing import PAUSE, REQUEST, Gated, Releasing, hurried
from restow.executing.steering import CONFIG_MAP, Steering
from restow.kube.taints import FENCE
from restow.live.reading import read_kinds
from restow.policies.policy import Policy
from restow.running.background import background
from restow.running.fences import missing_for_fences
from restow.running.gating import Gate, gate_of
from restow.running.logs import Log, once_each
from restow.running.rights import Right, first_lacking
from restow.running.webhook import Webhook
from restow.serving.metrics import Metrics

#: Seconds between two tries to write what could not be written.
_REPAIR: Final = 5.0
#: Seconds within which a replacement comes that was given up.
_RECENTLY: Final = 10.0
_STEERED: Final[Mapping[SteeringKind, str]] = {
    "nominate": "nominated for the node that the plan chooses, behind a scheduling gate that",
    "fence": f"nodes where they should not land carry the taint {FENCE}:NoSchedule while a plan is carried out",
    "prefer": f"nodes where they should not land carry the taint {FENCE}:PreferNoSchedule while a plan is carried out",
}
#: What a policy may want, and the ways to steer that are then tried in turn. The taint that only makes nodes less liked
#: changes little where the scheduler looks at a sample, so it has to be asked for.
_IN_ORDER: Final[Mapping[str, tuple[SteeringKind, ...]]] = {
    "auto": ("nominate", "fence"),
    "nominate": ("nominate",),
    "fence": ("fence",),
    "prefer": ("prefer",),
    "none": (),
}
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
            lacking = await first_lacking(steering.api, steering.namespace, _RIGHTS)
            return f"{lacking}; {_TO_INSTALL}" if lacking else gate
    except ClientError as error:
        return _missing(error)
    return gate


def _missing(error: ClientError) -> str:
    return f"{error.message}; {_TO_INSTALL}" if isinstance(error, NotFound) else str(error)


@dataclass(slots=True, frozen=True)
class Choice:
    """How replacements are steered in one cycle."""

    kind: SteeringKind
    #: None where they are not nominated.
    steering: Steering | None = None
    #: None where nothing is fenced.
    fencing: Fencing | None = None


@dataclass(slots=True)
class Offer:
    """What the cluster offers, and the policy wants, at this moment."""

    steering: Steering
    log: Log
    #: Of this process; None where it answers none.
    webhook: Webhook | None = None
    #: None where nothing is ever fenced.
    fencing: Fencing | None = None
    #: Whether the cluster has ever offered it to this process, so that something may be left behind.
    was_made: bool = field(default=False, init=False)
    #: Who gives the gate, where there is one.
    _gate: str = field(default="", init=False)
    #: What was told last.
    _told: str = field(default="", init=False)

    async def now(self, policy: Policy) -> Choice:
        """How replacements are steered; to be asked before each cycle, and told when it has changed."""
        wanted = policy.restow.steering
        lacking: list[str] = []
        for kind in _IN_ORDER[wanted]:
            choice = await self._nominating() if kind == "nominate" else await self._fencing(kind)
            if isinstance(choice, Choice):
                why = f" ({'; '.join(lacking)})" if lacking else ""
                self._tell(self.log.say, f"replacements are steered: {_STEERED[kind]}{self._gate}{why}")
                return choice
            lacking.append(choice)
        if not lacking:
            self._told = ""
            return Choice("none")
        # Who leaves it to the cluster need not hear of each way that this one does not offer.
        tell = self.log.say if wanted == "auto" else self.log.caution
        self._tell(tell, f"replacements are not steered: {lacking[0]}")
        return Choice("none")

    async def _nominating(self) -> Choice | str:
        """Nominations, or what is missing for them."""
        gate = await gate_for_steering(self.steering, self.webhook)
        if not isinstance(gate, Gate):
            return gate
        self.was_made, self._gate = True, f" {gate.value}"
        return Choice("nominate", self.steering)

    async def _fencing(self, kind: SteeringKind) -> Choice | str:
        """Fences, or what is missing for them."""
        self._gate = ""
        if self.fencing is None:
            return "this process fences no nodes"
        missing = await missing_for_fences(self.fencing.api, self.fencing.namespace)
        return f"{missing}; {_TO_INSTALL}" if missing else Choice(kind, fencing=self.fencing)

    def _tell(self, tell: Callable[[str], None], sentence: str) -> None:
        if sentence != self._told:
            self._told = sentence
            tell(sentence)


@asynccontextmanager
async def releasing(api: Api, cluster: Gated, log: Log, metrics: Metrics) -> AsyncIterator[Releasing]:
    """Let go what waits behind the gate for too long, as long as the context lasts; whoever leads or not."""
    keeper = Releasing(hurried(api), cluster, once_each(log.caution), metrics)
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
    webhook: Webhook | None = None,
    fencing: Fencing | None = None,
) -> AsyncIterator[Offer]:
    """Steering while we lead, with the webhook of this process if it has one; nothing is left behind after it."""
    found = Steering(hurried(api), permit, namespace, log.caution)
    keeper.steering = found
    repairing = asyncio.create_task(_repair(found), name="repair steering")
    offer = Offer(found, log, webhook, fencing)
    try:
        with nullcontext() if webhook is None else webhook.asking(found):
            yield offer
    finally:
        repairing.cancel()
        keeper.steering = None
        # Whoever leads after us begins a while after our permission has ended: it is not in their way.
        ends = [_leave(found, keeper, log)] if offer.was_made else []
        with suppress(TimeoutError):
            async with asyncio.timeout(REQUEST):
                await asyncio.gather(*ends, *([fencing.ended()] if fencing is not None else []))


async def _repair(found: Steering) -> None:
    while True:
        await asyncio.sleep(_REPAIR)
        await found.repair()


async def _leave(found: Steering, keeper: Releasing, log: Log) -> None:
    """Leave nothing behind, for as long as the end may take.

    A replacement can come after nobody awaits it any more, and be gated before the API server knows. The watch may be late
    to tell of it, so the API server is asked where replacements were given up.
    """
    await asyncio.gather(_cleared(found, log), keeper.let_all_go())
    await asyncio.sleep(PAUSE)
    await keeper.let_all_go()
    while namespaces := found.given_up(_RECENTLY):
        await asyncio.gather(*(_let_go_in(namespace, found.api, keeper) for namespace in namespaces))
        await asyncio.sleep(PAUSE)


async def _let_go_in(namespace: str, api: Api, keeper: Releasing) -> None:
    """Let the gated pods of a namespace go, as far as the API server tells of them."""
    intake = ClusterIntake()
    with suppress(ClientError):
        await read_kinds(api, ("Pod",), intake, Selection(namespace))
    await keeper.let_go(intake.gated())


async def _cleared(found: Steering, log: Log) -> None:
    try:
        await found.clear()
    except NotFound:
        return
    except ClientError as error:
        log.caution(f"new pods may still be gated; restow releases them: {error}")
