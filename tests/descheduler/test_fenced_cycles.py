"""Cycles that fence nodes: when, for how long, and what happens where the fence does not stand."""

from __future__ import annotations

from typing import Any

import pytest

from descheduler.cycling import Decided, Run, a_town, crowd, rules
from descheduler.fences import Fences
from descheduler.hearing import sample
from restow.descheduler.offering import Choice
from restow.executing.task import Task
from restow.policies.codes import SteeringMode

pytestmark = pytest.mark.usefixtures("without_threads")


def behind_fences(**features: Any) -> tuple[Run, Fences]:
    run = Run(a_town(*crowd("web"), nodes=3))
    fences = Fences(run.asked, **features)
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


def test_a_dry_run_tells_what_would_be_made_behind_the_fence_and_sets_none() -> None:
    """Once: what a second plan without the fence would find is not known, for nothing has moved."""
    run = Run(a_town(*crowd("web"), nodes=3), dry_run=True)
    offer: Any = Foreseen("fence")
    run.cycles.offer = offer
    run.perform(rules())
    told = [each["pod"]["name"] for each in run.heard.of("Evicted pod in dry run mode")]
    assert sorted(told) == ["web-1", "web-2"]
    assert run.asked == []
    assert sample(run.metrics, "restow_steering", mode="fence") == 1.0


class Foreseen:
    """What would be chosen; nothing is there to write."""

    def __init__(self, kind: SteeringMode) -> None:
        self._kind = kind

    async def now(self, _: Any) -> Choice:
        return Choice(self._kind)


@pytest.mark.parametrize("kind", ["nominate", "fence", "prefer", "none"])
def test_a_dry_run_plans_as_the_cluster_would_be_steered(kind: SteeringMode, decided: Decided) -> None:
    run = Run(a_town(*crowd("web"), nodes=3), dry_run=True)
    offer: Any = Foreseen(kind)
    run.cycles.offer = offer
    run.perform(rules())
    assert decided.steering == [kind]
    assert sample(run.metrics, "restow_steering", mode=kind) == 1.0
