"""When a plan that leads astray is concluded, in virtual time."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from restow.executing.execution import Execution
from restow.executing.replanning import conclude
from restow.executing.surroundings import elapsed

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
