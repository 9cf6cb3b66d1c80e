"""What a cluster offers for steering, and which way restow chooses.

Steering needs objects (``deploy/kubernetes/steering`` and ``fencing``) and rights, which an administrator installs. Both
may appear and disappear, so restow checks them before each cycle. If something is missing, the log says so in one sentence,
and the scheduler alone decides where replacements land.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from restow.client.errors import NotFound
from restow.client.resources import CONFIG_MAPS, LEASES, RESOURCES
from restow.client.transport import Api
from restow.daemon.logs import Log
from restow.descheduler.prerequisites import FENCING_GUARD, STEERING_GUARD, Gate, Right, gate_of, missing_for
from restow.descheduler.webhook import Webhook
from restow.errors import ClientError
from restow.executing.fencing import LEASE, Fencing
from restow.executing.steering import CONFIG_MAP, Steering
from restow.kube.taints import FENCE
from restow.policies.codes import SteeringMode, SteeringSetting
from restow.policies.policy import Policy

_STEERED: Final[Mapping[SteeringMode, str]] = {
    SteeringMode.NOMINATE: "nominated for the node that the plan chooses, behind a scheduling gate that",
    SteeringMode.FENCE: f"nodes where they should not land carry the taint {FENCE}:NoSchedule while a plan is carried out",
    SteeringMode.PREFER: f"nodes where they should not land carry the taint {FENCE}:PreferNoSchedule while a plan is carried out",
}
#: The ways to steer that restow tries in turn, by the policy's setting. A PreferNoSchedule taint changes little where the
#: scheduler scores a sample of the nodes, so it must be asked for.
_IN_ORDER: Final[Mapping[SteeringSetting, tuple[SteeringMode, ...]]] = {
    SteeringSetting.AUTO: (SteeringMode.NOMINATE, SteeringMode.FENCE),
    SteeringSetting.NOMINATE: (SteeringMode.NOMINATE,),
    SteeringSetting.FENCE: (SteeringMode.FENCE,),
    SteeringSetting.PREFER: (SteeringMode.PREFER,),
    SteeringSetting.NONE: (),
}
_TO_INSTALL: Final = "docs/how-to/steer.md has the objects to install"
#: The rights for steering, in addition to those for evicting and for reading what adds the gate.
_STEERING_RIGHTS: Final = (
    Right(CONFIG_MAPS, CONFIG_MAP, "", "patch"),
    Right(RESOURCES["Pod"], "", "", "patch"),
    Right(RESOURCES["Pod"], "", "status", "patch"),
)
#: The rights for fencing, in addition to those for evicting; a role with these rights on the lease may also create it.
_FENCING_RIGHTS: Final = (
    Right(RESOURCES["Node"], "", "", "patch"),
    Right(LEASES, LEASE, "", "get"),
    Right(LEASES, LEASE, "", "update"),
)


class Choice(Struct, frozen=True):
    """How replacements are steered in one cycle; a dry run has neither ``steering`` nor ``fencing``."""

    kind: SteeringMode
    #: None where they are not nominated.
    steering: Steering | None = None
    #: None where nothing is fenced.
    fencing: Fencing | None = None


UNSTEERED: Final = Choice(SteeringMode.NONE)


@dataclass(slots=True)
class Offer:
    """What the cluster offers, and the policy wants, at this moment.

    Without ``steering`` and ``fencing`` nothing is written, and the choice is the one that would be made with them.
    """

    api: Api
    #: Of the ConfigMap and the leases.
    namespace: str
    log: Log
    #: Of this process; None where it answers none.
    webhook: Webhook | None = None
    steering: Steering | None = None
    fencing: Fencing | None = None
    #: Whether the cluster has ever offered nominations to this process: only then gated pods may remain at the end.
    was_made: bool = field(default=False, init=False)
    #: What adds the gate, as the end of a sentence; empty without a gate.
    _gate: str = field(default="", init=False)
    #: The sentence that was logged last.
    _reported: str = field(default="", init=False)

    async def now(self, policy: Policy) -> Choice:
        """How to steer replacements in the next cycle; logs a change."""
        wanted = policy.restow.steering
        lacking: list[str] = []
        for kind in _IN_ORDER[wanted]:
            choice = await self.choice(kind)
            if isinstance(choice, Choice):
                why = f" ({'; '.join(lacking)})" if lacking else ""
                self._report(self.log.info, f"replacements are steered: {_STEERED[kind]}{self._gate}{why}")
                return choice
            lacking.append(choice)
        if not lacking:
            self._reported = ""
            return UNSTEERED
        # With AUTO, a way that the cluster does not offer is no reason for a warning.
        write = self.log.info if wanted == SteeringSetting.AUTO else self.log.warning
        self._report(write, f"replacements are not steered: {lacking[0]}")
        return UNSTEERED

    async def choice(self, kind: SteeringMode) -> Choice | str:
        """One way to steer, or what is missing for it, in one sentence."""
        return await self._nominating() if kind == SteeringMode.NOMINATE else await self._fencing(kind)

    async def _nominating(self) -> Choice | str:
        try:
            gate = await self._offered_gate()
            if not isinstance(gate, Gate):
                return gate
            if self.steering is not None:
                # Emptying the ConfigMap, which no replacement needs now, shows whether restow may write it.
                await self.steering.clear()
        except ClientError as error:
            return f"{error.message}; {_TO_INSTALL}" if isinstance(error, NotFound) else str(error)
        self.was_made, self._gate = True, f" {gate.value}"
        return Choice(SteeringMode.NOMINATE, self.steering)

    async def _offered_gate(self) -> Gate | str:
        """What adds the gate if the cluster offers it and restow may steer; else what is missing; ClientError."""
        gate = await gate_of(self.api, self.namespace, self.webhook)
        if not isinstance(gate, Gate):
            return gate
        missing = await missing_for(self.api, self.namespace, STEERING_GUARD, _STEERING_RIGHTS)
        return f"{missing}; {_TO_INSTALL}" if missing else gate

    async def _fencing(self, kind: SteeringMode) -> Choice | str:
        self._gate = ""
        try:
            missing = await missing_for(self.api, self.namespace, FENCING_GUARD, _FENCING_RIGHTS)
        except ClientError as error:
            missing = str(error)
        return f"{missing}; {_TO_INSTALL}" if missing else Choice(kind, fencing=self.fencing)

    def _report(self, write: Callable[[str], None], sentence: str) -> None:
        if sentence != self._reported:
            self._reported = sentence
            write(sentence)
