"""The arguments of Rebalance."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from restow.documents.shapes import Duration, Uint
from restow.policies.arguments import PodSelectionArgs
from restow.policies.usage import MetricsUtilization
from restow.usage.sources import KUBERNETES_METRICS

#: What ``usage`` may be.
REQUESTS: Final = "requests"
MEASURED: Final = "measured"


class NodePrice(Struct, frozen=True, forbid_unknown_fields=True):
    """What each node costs that a label selector matches, for the goal ``pack``."""

    nodes: str
    price: float


class RebalanceArgs(PodSelectionArgs, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """``pluginConfig[].args`` of Rebalance."""

    #: Several are separated by commas, the most important first, or by plus signs with weights: ``pack:3+balance``.
    goal: str = "balance"
    #: The most moves of a plan; None: as many as are worth it.
    budget: Uint | None = None
    resources: tuple[str, ...] = ("cpu", "memory")
    #: ``requests``, or ``measured`` by metrics.k8s.io.
    usage: str = REQUESTS
    #: Percent of allocatable that stays free by measured usage on a node that receives pods.
    headroom: float = 0
    #: What a move must be worth, in the goal's own unit; None: the goal's default.
    min_gain_per_move: float | None = None
    #: How long each search may take; None: a number of steps that depends on the pods alone, which repeats exactly.
    time_limit: Duration | None = None
    #: For ``pack``: only nodes that this label selector matches are emptied.
    free: str = ""
    prices: tuple[NodePrice, ...] = ()
    #: For ``room``: the waiting pods that get a place, as namespace/name, or "all"; or what a pod would request.
    pods: tuple[str, ...] = ("all",)

    @property
    def metrics_utilization(self) -> MetricsUtilization | None:
        """Where usage comes from, as other strategies say it; None: the pods' requests."""
        return MetricsUtilization(source=KUBERNETES_METRICS) if self.usage == MEASURED else None
