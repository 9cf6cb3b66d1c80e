"""How full a node may be: the levels that a resource names, in percent, and their form in the arguments of strategies."""

from __future__ import annotations

from typing import Any, Final

from restow.cluster.nodes import BASIC_RESOURCES
from restow.descheduling.node_utilization.capacity import METRIC_RESOURCE
from restow.operator.prometheus import metrics_provider
from restow.operator.resource import DeviationLevel, Level, PackingLevel

#: Underused up to, overused from: of a node's capacity.
STATIC: Final[dict[Level, tuple[int, int]]] = {"Low": (10, 30), "Medium": (20, 50), "High": (40, 70)}
#: The same below and above the mean of all nodes.
DEVIATION: Final[dict[DeviationLevel, tuple[int, int]]] = {
    "Low": (10, 10),
    "Medium": (20, 20),
    "High": (30, 30),
    "AsymmetricLow": (0, 10),
    "AsymmetricMedium": (0, 20),
    "AsymmetricHigh": (0, 30),
}
#: Underused up to: a node that is to be emptied.
PACKING: Final[dict[PackingLevel, int]] = {"Minimal": 10, "Modest": 20, "Moderate": 30}


def of_requests(span: tuple[int, int]) -> dict[str, Any]:
    """Return the arguments by which nodes are told apart by what their pods request."""
    low, high = span
    return {"thresholds": dict.fromkeys(BASIC_RESOURCES, low), "targetThresholds": dict.fromkeys(BASIC_RESOURCES, high)}


def of_query(span: tuple[int, int], query: str) -> dict[str, Any]:
    """Return the arguments by which nodes are told apart by what Prometheus says of them."""
    low, high = span
    return {
        "metricsUtilization": metrics_provider(query),
        "thresholds": {METRIC_RESOURCE: low},
        "targetThresholds": {METRIC_RESOURCE: high},
    }
