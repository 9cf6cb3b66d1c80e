"""When the rest of a plan is decided anew: what was proven counts on something else than what has come about."""

from __future__ import annotations

import asyncio
from typing import Final

from restow.executing.execution import Execution
from restow.executing.outcomes import UNFULFILLED, Landed, Outcome

#: A plan that was made sooner (seconds) is made anew before the next move.
_AT_ONCE: Final = 2.0
ANEW: Final = "the rest is planned again"


def leads_astray(outcome: Outcome) -> bool:
    """Whether later proofs count on something else than what has come about."""
    if isinstance(outcome, Landed):
        return outcome.task.move.target not in (None, outcome.node)
    return isinstance(outcome, UNFULFILLED) and outcome.task.is_proven


def conclude(execution: Execution, seconds: float) -> asyncio.TimerHandle | None:
    """Have a plan concluded that took so long to make (seconds): before the next move where that was not long."""
    if seconds < _AT_ONCE:
        execution.conclude(ANEW)
        return None
    return asyncio.get_running_loop().call_later(seconds, execution.conclude, ANEW)
