"""What the policy wanted and how balance changes, for better and for worse: the same words in every output."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from restow.plain_text import printable, some
from restow.reporting.answer import predicts_load
from restow.reporting.refusal_groups import also_staying, refused_pods
from restow.reporting.wording import counted, resource_order, resource_title

if TYPE_CHECKING:
    from restow.descheduling.plan import PlanDocument

#: Strategies for which a gain in load is what was asked for.
_LEVELLING: Final = "LowNodeUtilization"
#: Proposals named in a line.
_MOST: Final = 3


def wanted(plan: PlanDocument) -> list[str]:
    """What each strategy gets of what it asked for: ``RemoveDuplicates 14 of 20``; those that move most come first."""
    asked: defaultdict[str, set[str]] = defaultdict(set)
    moved: defaultdict[str, set[str]] = defaultdict(set)
    for move in plan.moves:
        moved[move.plugin].add(str(move.pod))
        asked[move.plugin].add(str(move.pod))
    for refusal in plan.refusals:
        asked[refusal.plugin].update(map(str, refused_pods(refusal)))
    ranked = sorted(asked, key=lambda plugin: (-len(moved[plugin]), -len(asked[plugin]), plugin))
    return [f"{printable(plugin)} {_of(len(moved[plugin]), len(asked[plugin]))}" for plugin in ranked]


def made_together(plan: PlanDocument) -> str:
    """Which groups of moves belong together, in the plan's order: ``empty node-3 (5 moves)``; empty if there are none."""
    made = [(each.plugin, each.proposal) for each in plan.moves if each.proposal is not UNSET]
    sizes = {(plugin, proposal.purpose): proposal.moves for plugin, proposal in made}
    return some([f"{purpose} ({counted(moves, 'move')})" for (_, purpose), moves in sizes.items()], _MOST)


def not_done(plan: PlanDocument) -> str:
    """What is not done since one pod cannot go, and how many could: ``empty node-4 (6 more pods stay)``; empty as before."""
    refused = [(each.proposal.purpose, len(also_staying(each))) for each in plan.refusals if each.proposal is not UNSET]
    ranked = sorted(refused, key=lambda each: (-each[1], each[0]))
    purposes = [f"{purpose} ({counted(more, 'more pod stays', 'more pods stay')})" for purpose, more in ranked]
    return some(purposes, _MOST)


def _of(moved: int, asked: int) -> str:
    return f"{moved:,}" if moved == asked else f"{moved:,} of {asked:,}"


def balance(plan: PlanDocument) -> list[str]:
    """How each resource's spread changes: ``CPU more even, 0.31 -> 0.08``; empty if that is unknown."""
    if not predicts_load(plan):
        return []
    return [
        f"{resource_title(name)} {_change(before, after)}" for name, before, after in _spreads(plan) if before or after
    ]


def less_even(plan: PlanDocument) -> list[str]:
    """Those resources whose spread grows, in the same words."""
    return [each for each in balance(plan) if " less even, " in each]


def levels(plan: PlanDocument) -> bool:
    """Whether the plan does what a strategy that levels load has asked for."""
    return any(each.plugin == _LEVELLING for each in plan.moves)


def _spreads(plan: PlanDocument) -> list[tuple[str, float, float]]:
    """The spreads, rounded as displayed."""
    load = plan.summary.utilisation
    names = sorted(load.before.keys() & load.after.keys(), key=resource_order)
    return [(name, round(load.before[name].spread, 2), round(load.after[name].spread, 2)) for name in names]


def _change(before: float, after: float) -> str:
    if before == after:
        return f"unchanged at {before:.2f}"
    return f"{'more' if after < before else 'less'} even, {before:.2f} -> {after:.2f}"
