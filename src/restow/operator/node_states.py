"""How much each node is used, for soft taints: as LowNodeUtilization judges it, in whole percents of what Prometheus says.

Source: cluster-kube-descheduler-operator 5.4, its soft tainter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Literal

from restow.descheduling.node_utilization.capacity import METRIC_RESOURCE
from restow.descheduling.node_utilization.queried import whole_percents
from restow.descheduling.node_utilization.thresholds import is_above, is_below
from restow.descheduling.plugins.low_node_utilization import LowNodeUtilizationArgs, limits
from restow.operator.soft_taints import APPROPRIATE, OVERUTILIZED

NodeState = Literal["underutilized", "appropriate", "overutilized"]

_NONE: Final[frozenset[str]] = frozenset()


def node_states(
    usage: Mapping[str, float], cordoned: Collection[str], args: LowNodeUtilizationArgs
) -> dict[str, NodeState]:
    """Return the state of each node by its usage, 0 to 1; a cordoned node takes no pods, so it is never underutilized."""
    loads = {node: {METRIC_RESOURCE: float(whole_percents(share))} for node, share in usage.items()}
    low, high = limits(args, loads.values())

    def state(node: str) -> NodeState:
        if node not in cordoned and is_below(loads[node], low):
            return "underutilized"
        return "overutilized" if is_above(loads[node], high) else "appropriate"

    return {node: state(node) for node in loads}


def keys_of(states: Mapping[str, NodeState]) -> dict[str, frozenset[str]]:
    """Return the keys of the soft taints that each node is to bear.

    Where no node is underutilized, the ones that are used appropriately are the best there are, and bear none.
    """
    is_room = "underutilized" in states.values()
    keys: dict[NodeState, frozenset[str]] = {
        "underutilized": _NONE,
        "appropriate": frozenset({APPROPRIATE}) if is_room else _NONE,
        "overutilized": frozenset({APPROPRIATE, OVERUTILIZED}),
    }
    return {node: keys[state] for node, state in states.items()}
