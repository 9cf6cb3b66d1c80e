"""The end of an execution, or of one plan, whose requests are not answered."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from executing.double import Double, an_execution, endings, messages, outcomes, tasks, virtually
from restow.client import eviction
from restow.executing.execution import LAST_ANSWERS
from restow.executing.task import Failed, Outcome, Task


@dataclass(slots=True)
class Silent(Double):
    """Carries an eviction out, or not, and never says so."""

    carries_out: set[str] = field(default_factory=set)

    async def evict(self, task: Task) -> eviction.Outcome:
        if task.move.pod.name in self.carries_out:
            self.disrupt(task.move.pod.name)
        await asyncio.Event().wait()
        raise AssertionError


def stopped(double: Silent, plan: list[Task], *stops: float) -> tuple[list[Outcome], float]:
    """What is told by an execution that is stopped after so many seconds, and when it ended."""
    execution = an_execution(double)

    async def run() -> tuple[list[Outcome], float]:
        for at in stops:
            asyncio.get_running_loop().call_later(at, execution.stop, "restow is stopping")
        return await outcomes(execution, plan), asyncio.get_running_loop().time()

    return virtually(run())


@pytest.mark.parametrize("stops", [(7.0,), (7.0, 20.0)], ids=["once", "and once more"])
def test_after_a_stop_answers_are_waited_for_a_little_while_only(stops: tuple[float, ...]) -> None:
    plan = tasks("web", 2)
    told, ended = stopped(Silent(Double.of(plan).pods), plan, *stops)
    assert endings(told) == {"web-0": "Failed", "web-1": "Dropped"}
    assert messages(told, Failed) == [
        "the API server did not answer; no retry: restow is stopping",
    ]
    assert ended == pytest.approx(7.0 + LAST_ANSWERS, abs=0.1)


def test_what_is_seen_to_go_counts_as_evicted_all_the_same() -> None:
    plan = tasks("web", 1)
    told, _ = stopped(Silent(Double.of(plan).pods, carries_out={"web-0"}), plan, 7.0)
    assert endings(told) == {"web-0": "Settled"}


class Lost(Double):
    """Breaks every connection before the request gets through."""

    async def evict(self, task: Task) -> eviction.Outcome:
        await asyncio.sleep(0.1)
        return eviction.EvictionUnanswered("the connection broke")


@pytest.mark.parametrize(("age", "ended"), [(0.0, LAST_ANSWERS), (50.0, LAST_ANSWERS + 50.0)], ids=["now", "later"])
def test_a_lost_request_holds_a_new_plan_up_until_it_cannot_be_carried_out_any_more(age: float, ended: float) -> None:
    """As far as the news of pods tell: what they said before it could not is no proof that the pod stays."""
    plan = tasks("web", 2)
    execution = an_execution(Lost(Double.of(plan).pods, ages={"Pod": age}))

    async def concluded() -> tuple[list[Outcome], float]:
        asyncio.get_running_loop().call_later(0.05, execution.conclude, "planned anew")
        return await outcomes(execution, plan), asyncio.get_running_loop().time()

    told, end = virtually(concluded())
    assert endings(told) == {"web-0": "Failed", "web-1": "Dropped"}
    assert messages(told, Failed) == ["the API server did not answer; no retry: planned anew"]
    assert ended < end < ended + 9.0
