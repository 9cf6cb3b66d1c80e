"""A plan applied to a small cluster in virtual time."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from builders import HOSTNAME, NOW, Object, a_node, a_pod, ago
from builders.policies import PLUGINS, as_json, strategy_policy
from descheduler.town import READY, Town
from executing.double import virtually
from proving.proven import TOLD
from restow.client.transport import Permit, always
from restow.cluster.pod_values import PodNow
from restow.descheduler.applying import Application, Order, Promise
from restow.descheduler.offering import UNSTEERED, Choice
from restow.descheduling.plan import PlanMetadata
from restow.descheduling.plan_reading import SavedPlan
from restow.executing.history import AppliedMove
from restow.executing.task import Outcome, Task
from restow.policies.codes import SteeringMode
from restow.policies.load import load_policy
from restow.proving.planning import decided, make_plan
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE


def replicas(*apps: str, **features: Any) -> list[Object]:
    """Three ready replicas of each app, all on n0: RemoveDuplicates moves two of them, one to n1 and one to n2."""
    same: dict[str, Any] = {
        "created": ago(3600),
        "cpu": "100m",
        "node": "n0",
        "phase": "Running",
        "conditions": [READY],
    }
    return [
        a_pod(f"{app}-{at}", **(same | {"owner": ("ReplicaSet", app), "images": [f"{app}:1"]} | features))
        for app in apps
        for at in range(3)
    ]


def nodes(count: int = 3) -> list[Object]:
    return [a_node(f"n{at}", cpu="4", pods="110", labels={HOSTNAME: f"n{at}"}) for at in range(count)]


def a_town(*apps: str, **features: Any) -> Town:
    return Town(**features).put(*nodes(), *TOLD, *replicas(*(apps or ("web",))))


@dataclass
class Steered:
    """Brings every replacement to its target, and keeps what was announced."""

    town: Town
    problem: str | None = None
    announced: list[str] = field(default_factory=list)

    async def announce(self, task: Task) -> str | None:
        self.announced.append(task.move.pod.name)
        return self.problem

    async def nominate(self, _task: Task, _pod: PodNow) -> None:
        """The town puts replacements on their targets anyway."""

    @property
    def choice(self) -> Choice:
        steering: Any = self
        return Choice("nominate", steering)

    async def withdraw(self, _task: Task) -> None:
        """Nothing is left."""


@dataclass
class Applied:
    """A plan that was made of a town, to be applied to it."""

    town: Town
    settings: dict[str, Any] = field(default_factory=dict)
    placement: Any = "prove"
    #: How the plan is made.
    planned: SteeringMode = "none"
    #: Why the cluster does not offer steering.
    missing: str | None = "no steering here"
    choice: Choice = UNSTEERED
    permit: Permit = always
    outcomes: list[Outcome] = field(default_factory=list)
    on_outcome: Callable[[Outcome], None] = lambda _: None
    application: Application = field(init=False)

    def __post_init__(self) -> None:
        policy = load_policy(as_json(strategy_policy("RemoveDuplicates", restow=self.settings)), "p", PLUGINS).policy
        at, profiles = time.time_ns(), (DEFAULT_PROFILE,)
        cycle = decided(self.town.snapshot(), policy, self.placement, at, profiles, steering=self.planned)
        made = make_plan(cycle, at, self.placement)
        plan = SavedPlan(PlanMetadata(NOW, self.placement, "0"), made.moves, {}, fence=made.fence)
        town: Any = self.town

        async def not_offered() -> str | None:
            return self.missing

        @asynccontextmanager
        async def steering(_: Permit) -> AsyncIterator[Any]:
            yield self.choice

        self.application = Application(
            order=Order("plan.json", plan, policy, profiles),
            live=town,
            evictions=lambda _: town,
            not_offered=not_offered,
            steering=steering,
            clock=time.time,
        )

    def promise(self) -> Promise:
        return virtually(self.application.promise())

    def carry_out(self) -> Applied:
        """Promise, and carry out."""

        async def both() -> None:
            await self.application.promise()
            await self.application.carry_out(self.permit, self.hear)

        virtually(both())
        return self

    def hear(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.on_outcome(outcome)

    @property
    def entries(self) -> tuple[AppliedMove, ...]:
        return self.application.ledger.entries

    def results(self, what: str = "result") -> dict[str, Any]:
        return {each.pod.name: getattr(each, what) for each in self.entries}
