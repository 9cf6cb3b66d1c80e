"""Cycles that fence nodes: when, for how long, and what happens where the fence does not stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from restow.executing.task import Task
from restow.running.steering import Choice
from running.cycling import Run, a_town, crowd, rules
from running.hearing import sample

pytestmark = pytest.mark.usefixtures("without_threads")


@dataclass
class Fences:
    """An offer of fences, and what becomes of them."""

    run: Run
    problem: str | None = None
    is_whole: bool = True
    since: float = 0.0
    #: In order, with the number of pods that were asked for by then.
    done: list[tuple[str, int]] = field(default_factory=list)

    async def now(self, _: Any) -> Choice:
        fencing: Any = self
        return Choice("fence", fencing=fencing)

    async def set(self, nodes: Any, effect: str) -> str | None:
        self.is_whole = True
        self.done.append((f"{','.join(nodes)} {effect}", len(self.run.asked)))
        return self.problem

    async def lift(self) -> None:
        self.done.append(("lift", len(self.run.asked)))

    def stop(self) -> None:
        self.done.append(("stop", len(self.run.asked)))


def behind_fences(**features: Any) -> tuple[Run, Fences]:
    run = Run(a_town(*crowd("web"), nodes=3))
    fences = Fences(run, **features)
    offer: Any = fences
    run.cycles.offer = offer
    return run, fences


def test_nodes_are_fenced_before_the_first_eviction_and_the_fence_is_lifted_before_the_cycle_ends() -> None:
    run, fences = behind_fences()
    run.perform(rules())
    assert len(run.asked) == 2
    assert fences.done[0] == ("n0 NoSchedule", 0)
    assert fences.done[-1] == ("lift", 2)
    assert sample(run.metrics, "restow_steering", mode="fence") == 1.0


def test_where_nodes_cannot_be_fenced_the_cycle_does_without_and_says_why() -> None:
    run, fences = behind_fences(problem="n0 cannot be fenced: no")
    run.perform(rules())
    assert len(run.asked) == 2
    assert sum(what.startswith("n0") for what, _ in fences.done) == 1
    said = "nodes were not fenced, and replacements are not steered: n0 cannot be fenced: no"
    assert said in run.heard.messages


def test_a_fence_that_somebody_takes_away_ends_the_plan_that_counts_on_it() -> None:
    """What is left is planned again, and fenced again."""
    run, fences = behind_fences()
    broken = iter([False])

    def breaks(_: Task) -> None:
        fences.is_whole = next(broken, True)

    run.town.on_ask = breaks
    run.perform(rules())
    assert len(run.asked) == 2
    assert [what for what, at in fences.done if at == 1] == ["n0 NoSchedule"]


def test_a_cycle_that_is_stopped_lifts_the_fence() -> None:
    run, fences = behind_fences()
    run.town.on_ask = lambda _: run.cycles.stop("restow is stopping")
    run.perform(rules())
    assert [what for what, _ in fences.done] == ["n0 NoSchedule", "stop", "lift"]
