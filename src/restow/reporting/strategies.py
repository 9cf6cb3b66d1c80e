"""What each strategy of a plan asked for, what of it is moved, and what holds the rest back."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from restow.plain_text import printable
from restow.reporting.answer import held_back, last_obstacles, refused_pods

if TYPE_CHECKING:
    from restow.descheduling.plan import PlanDocument


class StrategyShare(NamedTuple):
    """How much of what one strategy asked for is done."""

    name: str
    moved: int
    asked: int
    #: What holds the others back, as ``3 are protected``; without those that another strategy moves.
    held: tuple[str, ...]

    def text(self) -> str:
        """``RemoveDuplicates 14 of 20``."""
        asked = "" if self.moved == self.asked else f" of {self.asked:,}"
        return f"{printable(self.name)} {self.moved:,}{asked}"


def strategy_shares(plan: PlanDocument) -> list[StrategyShare]:
    """Return every strategy that wanted a pod to move; those that move most come first."""
    asked: defaultdict[str, set[str]] = defaultdict(set)
    moved: defaultdict[str, set[str]] = defaultdict(set)
    for move in plan.moves:
        moved[move.plugin].add(str(move.pod))
        asked[move.plugin].add(str(move.pod))
    for refusal in plan.refusals:
        asked[refusal.plugin].update(map(str, refused_pods(refusal)))
    obstacles = last_obstacles(plan)
    ranked = sorted(asked, key=lambda plugin: (-len(moved[plugin]), -len(asked[plugin]), plugin))
    return [
        StrategyShare(
            plugin,
            len(moved[plugin]),
            len(asked[plugin]),
            tuple(held_back(obstacles[pod] for pod in asked[plugin] if pod in obstacles)),
        )
        for plugin in ranked
    ]


def wanted(plan: PlanDocument) -> list[str]:
    """What each strategy gets of what it asked for: ``RemoveDuplicates 14 of 20``; those that move most come first."""
    return [each.text() for each in strategy_shares(plan)]
