"""Cycles on a small cluster, in virtual time, and all that is heard of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from builders import HOSTNAME, Object, a_node, a_pod, ago
from builders.policies import PLUGINS, as_json, strategy_policy
from descheduler.hearing import Heard, Recorded, sample
from descheduler.town import READY, Town
from executing.double import virtually
from proving.proven import TOLD
from restow.client.transport import Permit, always
from restow.descheduler.cycles import Cycles
from restow.descheduler.tracing import NoTracing
from restow.descheduling.limits import PriorEviction
from restow.executing.deciding import CycleRules
from restow.executing.history import EvictionHistory
from restow.executing.task import Task
from restow.live.usage import AskForUsage, no_usage
from restow.policies.codes import SteeringMode
from restow.policies.load import load_policy
from restow.serving.metrics import Metrics

DROPPED = "Planned eviction dropped"


def crowd(app: str, count: int = 3, **features: Any) -> list[Object]:
    """Ready replicas of one workload, all on n0."""
    same: dict[str, Any] = {"owner": ("ReplicaSet", app), "created": ago(3600), "images": [f"{app}:1"], "cpu": "100m"}
    same |= {"node": "n0", "phase": "Running", "conditions": [READY]} | features
    return [a_pod(f"{app}-{at}", **same) for at in range(count)]


def a_town(*pods: Object, nodes: int = 3, **features: Any) -> Town:
    made = [a_node(f"n{at}", cpu="4", pods="110", labels={HOSTNAME: f"n{at}"}) for at in range(nodes)]
    return Town(**features).put(*made, *TOLD, *pods)


def rules(
    placement: Any = None, *, strategy: str = "RemoveDuplicates", args: Object | None = None, **settings: Any
) -> CycleRules:
    """One strategy, with settings of the policy."""
    document = strategy_policy(strategy, args, **settings)
    return CycleRules(load_policy(as_json(document), "policy.json", PLUGINS).policy, placement)


@dataclass
class Run:
    """Cycles on a town, and all that is heard and counted of them."""

    town: Town
    dry_run: bool = False
    permit: Permit = always
    memory: EvictionHistory = field(default_factory=EvictionHistory)
    in_background: bool = False
    usage: AskForUsage = no_usage
    heard: Heard = field(default_factory=Heard)
    metrics: Metrics = field(default_factory=Metrics)
    recorded: Recorded = field(default_factory=Recorded)
    cycles: Cycles = field(init=False)

    def __post_init__(self) -> None:
        town: Any = self.town
        events: Any = None if self.dry_run else self.recorded
        self.cycles = Cycles(
            live=town,
            evicting=None if self.dry_run else lambda _: town,
            permit=self.permit,
            memory=self.memory,
            log=self.heard.log,
            metrics=self.metrics,
            events=events,
            tracing=NoTracing(),
            clock=time.time,
            in_background=self.in_background,
            usage=self.usage,
        )

    def perform(self, by: CycleRules, times: int = 1) -> Run:
        async def performed() -> None:
            for _ in range(times):
                await self.cycles.perform(by)

        virtually(performed())
        return self

    @property
    def asked(self) -> list[str]:
        return self.town.asked

    def ended(self) -> dict[str, float]:
        """How many cycles ended how."""
        results = ("done", "skipped", "failed")
        counts = {each: sample(self.metrics, "restow_cycles_total", result=each) for each in results}
        return {each: count for each, count in counts.items() if count}

    def predicted(self, result: str) -> float | None:
        return sample(self.metrics, "restow_predictions_total", result=result, certainty="certain")


@dataclass
class Decided:
    """What every decision was told and came to."""

    prior_evictions: list[tuple[PriorEviction, ...]] = field(default_factory=list)
    given_up: list[frozenset[str]] = field(default_factory=list)
    #: The only pods that might be moved.
    may_move: list[frozenset[str] | None] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)
    steering: list[SteeringMode] = field(default_factory=list)
    #: The scheduler's minors.
    minors: list[int | None] = field(default_factory=list)
    #: In how many plans before each strategy had searched.
    plans: list[dict[str, int]] = field(default_factory=list)


def another_candidate_once() -> Callable[[Task], str]:
    """The first replacement lands on a candidate that the plan does not count on."""
    landed: list[str] = []

    def land(task: Task) -> str:
        others = [node for node in task.move.candidates if node != task.move.target]
        landed.append(others[0] if others and not landed else str(task.move.target))
        return landed[-1]

    return land
