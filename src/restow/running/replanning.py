"""A plan carried out up to where it leads astray: what was proven counts on something else than what has come about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Final

from restow.executing.execution import Execution
from restow.executing.outcomes import UNFULFILLED, Landed, Outcome
from restow.executing.settings import elapsed
from restow.executing.task import Task

#: What a move takes at least (seconds), from the request to the landing.
_A_MOVE: Final = 0.2
ANEW: Final = "the rest is planned again"
#: How long the watches get to show what was just evicted (seconds), before the rest is planned.
SEEN: Final = 10.0


async def carried_out(
    execution: Execution, tasks: Sequence[Task], seconds: float, on_outcome: Callable[[Outcome], None]
) -> bool:
    """Make the moves of a plan that took so long to make (seconds), as far as it goes; whether it led astray.

    The rest is then to be planned again, once the plan was carried out for as long as it took to make.
    """
    began = elapsed()
    timer: asyncio.TimerHandle | None = None
    astray = False
    try:
        async with aclosing(execution.carry_out(tasks)) as outcomes:
            async for outcome in outcomes:
                on_outcome(outcome)
                if not astray and _leads_astray(outcome):
                    astray, timer = True, conclude(execution, seconds, began)
    finally:
        if timer is not None:
            timer.cancel()
    return astray


def _leads_astray(outcome: Outcome) -> bool:
    """Whether later proofs count on something else than what has come about."""
    if isinstance(outcome, Landed):
        return outcome.leads_astray
    return isinstance(outcome, UNFULFILLED) and outcome.task.is_proven


def conclude(execution: Execution, seconds: float, began: float) -> asyncio.TimerHandle | None:
    """Have a plan concluded that took so long to make (seconds), once it was carried out for as long as that.

    So deciding takes half of the time at most; where it takes no longer than a move, the plan ends before the next one.
    ``began`` is when the plan was begun, in the event loop's time.
    """
    left = began + seconds - elapsed()
    if left <= 0 or seconds <= _A_MOVE:
        execution.conclude(ANEW)
        return None
    return asyncio.get_running_loop().call_later(left, execution.conclude, ANEW)
