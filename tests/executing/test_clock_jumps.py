"""Somebody sets the clock, forward or back, while a plan is carried out: nothing takes longer, and nothing ends sooner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from executing.double import START, Double, a_task, an_execution, endings, now, outcomes, tasks, virtually
from restow.client import eviction
from restow.executing.history import FIRST_PAUSE, EvictionHistory
from restow.executing.task import Outcome, Task

HOUR = 3600.0
JUMPS = pytest.mark.parametrize("jump", [-HOUR, HOUR], ids=["back", "forward"])


def set_by(jump: float, at: float = 0.5) -> Callable[[], float]:
    """A clock that is set when the first eviction has been asked for."""
    return lambda: now() + (jump if now() >= START + at else 0.0)


def carried_out(double: Double, plan: list[Task], jump: float, **features: object) -> tuple[list[Outcome], float]:
    """What is told, and how many seconds it took."""

    async def timed() -> tuple[list[Outcome], float]:
        execution = an_execution(double, clock=set_by(jump), **features)  # type: ignore[arg-type]
        return await outcomes(execution, plan), asyncio.get_running_loop().time()

    return virtually(timed())


@JUMPS
def test_a_budget_is_waited_for_as_long_as_the_policy_says(jump: float) -> None:
    plan = tasks("web", 1, budgets=["default/web"])
    told, seconds = carried_out(Double.of(plan, budgets={"default/web": 1}), plan, jump, budget=300.0)
    assert endings(told) == {"web-0": "Blocked"}
    assert 250 < seconds < 310


@JUMPS
def test_a_replacement_gets_its_time_to_become_ready(jump: float) -> None:
    plan = tasks("web", 1)
    told, _ = carried_out(Double.of(plan, ready_after=200.0), plan, jump, ready=300.0)
    assert endings(told) == {"web-0": "Settled"}


@JUMPS
def test_a_replacement_that_does_not_become_ready_is_given_up_in_time(jump: float) -> None:
    plan = tasks("web", 1)
    told, seconds = carried_out(Double.of(plan, ready_after=1e6), plan, jump, ready=300.0)
    assert endings(told) == {"web-0": "Unready"}
    assert seconds == pytest.approx(300, abs=2)


@JUMPS
def test_a_busy_server_is_asked_again_when_it_said(jump: float) -> None:
    plan = tasks("web", 1)
    double = Double.of(plan)
    double.answers["web-0"] = [eviction.Busy("too many requests", 10.0)]
    told, _ = carried_out(double, plan, jump)
    assert endings(told) == {"web-0": "Settled"}
    first, again = (at for at, _ in double.asked)
    assert 10 <= again - first <= 13


@JUMPS
def test_a_workload_is_left_alone_for_the_whole_pause_and_no_longer(jump: float) -> None:
    memory = EvictionHistory()

    async def paused() -> list[dict[str, str]]:
        made = []
        for task, pause in ((a_task("web-0"), 0.0), (a_task("web-1"), 0.9), (a_task("web-2"), 0.2)):
            await asyncio.sleep(pause * FIRST_PAUSE)
            double = Double.of([task], land=lambda _: "a")
            made.append(endings(await outcomes(an_execution(double, memory=memory, clock=set_by(jump)), [task])))
        return made

    assert virtually(paused()) == [{"web-0": "Settled"}, {"web-1": "Dropped"}, {"web-2": "Settled"}]
