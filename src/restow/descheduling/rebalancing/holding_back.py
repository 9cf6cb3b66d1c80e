"""What keeps nodes in use, in sentences; of small clusters also how many more nodes would be free without a budget.

For that the search runs once more for each of a few budgets, as if it allowed everything. What it finds is not proven
move by move, so the sentence says "could".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from restow.descheduling.rebalancing.goal import Goal
from restow.descheduling.rebalancing.model import PlanningModel
from restow.descheduling.rebalancing.solving import Found, find

#: How many of the things that keep nodes in use are named, and for how many of them it is asked what they cost.
_NAMED: Final = 5
_ASKED: Final = 3
#: For larger problems more searches would take too long.
_SMALL: Final = 2_000


def held_back(found: Found, goal: Goal, args: Any, without: Callable[[str], PlanningModel]) -> tuple[str, ...]:
    """Return a sentence for each reason, the most important first; ``without`` makes the model without a budget."""
    ranked = sorted(found.model.keeping.items(), key=lambda item: (-item[1], item[0]))
    sentences = [_in_use(names, count) for names, count in ranked[:_NAMED]]
    if found.model.problem.processes > _SMALL:
        return tuple(sentences)
    asked = [names[0] for names, _ in ranked if len(names) == 1][:_ASKED]
    return (*_could_be_free(found, goal, args, without, asked), *sentences)


def _in_use(names: tuple[str, ...], count: int) -> str:
    nodes = f"{count:,} {'node' if count == 1 else 'nodes'}"
    reason = " and ".join(f"the budget {name}" for name in names) or "pods that the evictor protects"
    return f"{nodes} in use for {reason}"


def _could_be_free(
    found: Found, goal: Goal, args: Any, without: Callable[[str], PlanningModel], budgets: list[str]
) -> Iterator[str]:
    now = _in_use_after(found)
    for name in budgets:
        more = now - _in_use_after(find(without(name), goal, args))
        if more > 0:
            nodes = "node" if more == 1 else "nodes"
            yield f"{more:,} more {nodes} could be free without the budget {name}"


def _in_use_after(found: Found) -> int:
    """How many machines have a process after the moves, or a pod that stays."""
    used = np.bincount(found.place, minlength=found.model.problem.machines) > 0
    return int(np.count_nonzero(used | found.model.kept))
