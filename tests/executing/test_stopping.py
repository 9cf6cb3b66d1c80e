"""The end of an execution whose requests are not answered."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from executing.double import Double, an_execution, endings, messages, outcomes, tasks, virtually
from restow.client import eviction
from restow.executing.execution import LAST_ANSWERS
from restow.executing.outcomes import Failed, Outcome
from restow.executing.task import Task


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
