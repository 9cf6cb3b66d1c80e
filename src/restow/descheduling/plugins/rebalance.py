"""Rebalance: the moves that together bring the cluster nearest to a goal, each of them proven.

All movable pods and nodes are one problem for the search core (``optimizing``). What it finds is suggested in an order in
which each move has room. What the proof refuses becomes a rule for the next search, from the state that the moves
before have left, until a search finds nothing more that can be proven. If the plan does not choose targets (no
steering), a landing is good on every node where the goal gains. Upstream has no such strategy.
"""

from __future__ import annotations

from restow.descheduling.framework import Strategy, StrategyError, Suggestions, View
from restow.descheduling.rebalancing.arguments import RebalanceArgs
from restow.policies.schema import PluginSchema

_OWN_MEASURE = "each moves pods by a measure of its own, and may undo what the other did"


def _check(args: RebalanceArgs) -> list[str]:
    # What can be searched for loads a library, which other policies do not need.
    from restow.descheduling.rebalancing.argument_checks import check

    return check(args)


SCHEMA = PluginSchema(
    name="Rebalance",
    extension_points=("balance",),
    args=RebalanceArgs,
    validate=_check,
    conflicts=dict.fromkeys(("HighNodeUtilization", "LowNodeUtilization"), _OWN_MEASURE),
)


def suggest(view: View, args: RebalanceArgs) -> Suggestions:
    """The moves that together bring the cluster nearest to the goal, in an order in which each has room."""
    if not view.proves:
        raise StrategyError("it makes proven moves only; remove --placement upstream")
    # So does the search core.
    from restow.descheduling.rebalancing.session import suggestions

    yield from suggestions(view, args)


STRATEGY = Strategy(SCHEMA, suggest)
