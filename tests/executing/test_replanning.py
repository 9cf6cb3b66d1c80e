"""When a plan that leads astray is concluded, in virtual time, and what is planned then."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import cast

import pytest

from executing.double import a_task
from restow.descheduling.cycle import Cycle
from restow.executing.execution import Execution
from restow.executing.replanning import ANEW, CycleProgress, conclude
from restow.executing.surroundings import elapsed
from restow.executing.task import Dropped, Evicted, Failed, Task
from restow.policies.codes import OutcomeCode

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


class Concluded:
    """Notes when it is concluded."""

    def __init__(self) -> None:
        self.at: list[float] = []

    def conclude(self, _why: str) -> None:
        self.at.append(elapsed())


@pytest.mark.parametrize(
    ("seconds", "after"),
    [(0.1, 0.25), (1.5, 1.5), (30.0, 30.0)],
    ids=["sooner made than a move", "longer than a move", "much longer"],
)
async def test_a_plan_is_carried_out_for_as_long_as_it_took_to_make(seconds: float, after: float) -> None:
    """The first replacement lands elsewhere a quarter of a second after the plan was begun."""
    plan, began = Concluded(), elapsed()
    await asyncio.sleep(0.25)
    conclude(cast(Execution, plan), seconds, began)
    await asyncio.sleep(60.0)
    assert plan.at == [pytest.approx(began + after)]


async def test_a_plan_that_was_made_quickly_is_concluded_when_its_first_request_fails() -> None:
    plan, began = Concluded(), elapsed()
    assert conclude(cast(Execution, plan), 0.1, began) is None
    assert plan.at == [began]


WHOLE = cast(Cycle, SimpleNamespace(record=SimpleNamespace(searches={}), fence=None))
TASKS = [a_task(f"p{number}", candidates=["b", "c"]) for number in range(300)]


def planned(progress: CycleProgress, tasks: Iterable[Task], made: int, *, astray: bool, cycle: Cycle = WHOLE) -> None:
    """A plan that made some of its moves, and whose other moves were left for the next."""
    tasks = list(tasks)
    progress.decided(cycle, tasks, progress.may_move())
    for each in tasks[:made]:
        progress.note(Evicted(each))
    for each in tasks[made:] if astray else ():
        progress.note(Dropped(each, ANEW, OutcomeCode.REPLANNED))
    progress.carried_out(astray=astray)


def numbers(progress: CycleProgress) -> list[int] | None:
    """Of the pods that the next plan may move."""
    found = progress.may_move()
    return None if found is None else sorted(int(uid.removeprefix("uid-p")) for uid in found)


async def test_the_next_plan_is_a_repaired_one_of_the_first_moves_of_the_rest() -> None:
    progress = CycleProgress()
    assert numbers(progress) is None
    planned(progress, TASKS, 2, astray=True)
    assert numbers(progress) == list(range(2, 6))
    assert progress.repairs


async def test_it_may_move_twice_as_many_as_the_last_one_has_moved() -> None:
    progress = CycleProgress()
    planned(progress, TASKS, 50, astray=True)
    assert numbers(progress) == list(range(50, 150))
    planned(progress, TASKS[50:150], 100, astray=False)
    assert numbers(progress) == list(range(150, 300))
    planned(progress, TASKS[150:300], 1, astray=True)
    assert numbers(progress) == list(range(151, 155))


async def test_what_a_repaired_plan_refuses_leaves_the_rest_and_so_does_what_was_asked_for_in_vain() -> None:
    progress = CycleProgress()
    planned(progress, TASKS[:19], 1, astray=True)
    assert numbers(progress) == list(range(1, 5))
    progress.decided(WHOLE, TASKS[1:4], progress.may_move())
    progress.note(Evicted(TASKS[1]))
    progress.note(Failed(TASKS[2], "odd"))
    progress.note(Dropped(TASKS[3], ANEW, OutcomeCode.REPLANNED))
    progress.carried_out(astray=True)
    assert numbers(progress) == [3, 5, 6, 7]


@pytest.mark.parametrize(("made", "astray"), [(300, False), (299, False), (0, True)])
async def test_after_a_whole_plan_that_held_or_moved_nothing_the_next_one_is_a_whole_plan(
    made: int, *, astray: bool
) -> None:
    progress = CycleProgress()
    planned(progress, TASKS, made, astray=astray)
    assert numbers(progress) is None
    assert not progress.repairs


@pytest.mark.parametrize(("count", "made"), [(9, 8), (300, 0)], ids=["nothing is left", "nothing is moved"])
async def test_a_cycle_never_ends_with_a_repaired_plan(count: int, made: int) -> None:
    progress = CycleProgress()
    planned(progress, TASKS[:count], 1, astray=True)
    planned(progress, TASKS[1:9], made, astray=False)
    assert numbers(progress) is None
    assert progress.repairs


@pytest.mark.parametrize("cycle", [{"searches": {"P": "found"}}, {"fence": "nodes"}], ids=str)
async def test_what_is_searched_for_as_a_whole_or_counts_on_a_fence_is_not_planned_in_parts(
    cycle: dict[str, object],
) -> None:
    made = SimpleNamespace(record=SimpleNamespace(searches=cycle.get("searches")), fence=cycle.get("fence"))
    progress = CycleProgress()
    planned(progress, TASKS, 2, astray=True, cycle=cast(Cycle, made))
    assert numbers(progress) is None
