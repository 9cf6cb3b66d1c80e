"""A plan carried out up to where it leads astray: what was proven counts on something else than what has come about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Final

from restow.executing.execution import Execution
from restow.executing.outcomes import UNFULFILLED, Landed, Outcome
from restow.executing.task import Task

#: A plan that was made sooner (seconds) is made anew before the next move.
_AT_ONCE: Final = 2.0
ANEW: Final = "the rest is planned again"
#: How long the watches get to show what was just evicted (seconds), before the rest is planned.
SEEN: Final = 10.0


async def carried_out(
    execution: Execution, tasks: Sequence[Task], seconds: float, on_outcome: Callable[[Outcome], None]
) -> bool:
    """Make the moves of a plan that took so long to make (seconds), as far as it goes; whether it led astray.

    The rest is then to be planned again; a plan that took long is carried on for as long as that.
    """
    timer: asyncio.TimerHandle | None = None
    astray = False
    try:
        async with aclosing(execution.carry_out(tasks)) as outcomes:
            async for outcome in outcomes:
                on_outcome(outcome)
                if not astray and _leads_astray(outcome):
                    astray, timer = True, _conclude(execution, seconds)
    finally:
        if timer is not None:
            timer.cancel()
    return astray


def _leads_astray(outcome: Outcome) -> bool:
    """Whether later proofs count on something else than what has come about."""
    if isinstance(outcome, Landed):
        return outcome.task.move.target not in (None, outcome.node)
    return isinstance(outcome, UNFULFILLED) and outcome.task.is_proven


def _conclude(execution: Execution, seconds: float) -> asyncio.TimerHandle | None:
    """Have a plan concluded: before the next move where it did not take long to make."""
    if seconds < _AT_ONCE:
        execution.conclude(ANEW)
        return None
    return asyncio.get_running_loop().call_later(seconds, execution.conclude, ANEW)
