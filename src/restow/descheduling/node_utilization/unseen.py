"""What figures of usage do not show yet of what was moved before the plan: by so much they are corrected."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from restow.cluster.usage import Amounts
from restow.cluster.usage_changes import UsageChange
from restow.descheduling.framework import View

#: Which share of a change the figure of its node does not show yet, 0 to 1.
ShareUnseen = Callable[[UsageChange], float]

#: Never measured: how many pods there are is known at any time.
_COUNTED: Final = "pods"


def add_unseen(view: View, by_node: Mapping[int, Amounts], share_unseen: ShareUnseen) -> None:
    """Count pods that have left or come since the figures of nodes were taken, as far as those do not show it."""
    cluster = view.state.cluster
    if not cluster.usage_changes:
        return
    numbers = {cluster.nodes.names[node]: node for node in by_node}
    for change in cluster.usage_changes:
        amounts = by_node.get(numbers.get(change.node, -1), {})
        for name in amounts.keys() & change.amounts.keys() - {_COUNTED}:
            amounts[name] = max(0, amounts[name] + round(change.amounts[name] * share_unseen(change)))
