"""Which replacements can be steered to a node that the plan chooses, and which refusals steering may lift.

Nominating holds a new pod back by a scheduling gate until it is nominated for its target. An admission policy or a webhook
gives the gate to new pods whose controller is named in advance by its uid, the first owner reference. So it must be known
which new pod is the replacement, and only that controller may create it. Not steered are pods without a controller, of a
DaemonSet (their node is given), of a Node (mirror pods), and of schedulers whose rules are not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from restow.cluster.interning import BoolArray
from restow.cluster.node_matching import matches
from restow.cluster.nodes import Nodes
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import OwnerReference, Toleration
from restow.kube.taints import HARD_EFFECTS, all_tolerated
from restow.policies.codes import RefusalCode, SteeringMode

#: The effect of the taint with which nodes are fenced.
FENCE_EFFECTS: Final[Mapping[SteeringMode, str]] = {
    SteeringMode.FENCE: "NoSchedule",
    SteeringMode.PREFER: "PreferNoSchedule",
}

#: Refusals for which the scheduler's choice is the reason, so that steering may answer them.
FOR_STEERING: Final = frozenset(
    {
        RefusalCode.NOT_CERTAIN,
        RefusalCode.HARMFUL,
        RefusalCode.NO_GAIN,
        RefusalCode.SAME_NODE,
        RefusalCode.LEAVING_NODE,
        RefusalCode.VIRTUAL_NODE,
    }
)

_LEFT_ALONE = frozenset({"DaemonSet", "Node"})


class Steerable:
    """Which pods of one cluster have replacements that can be steered."""

    def __init__(self, cluster: ClusterSnapshot, steering: SteeringMode) -> None:
        self._pods = cluster.pods
        self._nominates = steering == SteeringMode.NOMINATE

    def knows(self, pod: int) -> bool:
        """Whether the replacement of a pod can be steered."""
        return self._nominates and can_be_named(self._pods.tables.owners[self._pods.owners[pod]])


# Nothing else is checked: the node may be full, cordoned or not among those handed to strategies.
class OpenNodes:
    """Which nodes of one cluster are open to a pod; kept for further pods with the same rules."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self._tolerated: dict[tuple[Toleration, ...], BoolArray] = {}
        self._selected: dict[NodeSelection, BoolArray] = {}

    def tolerated(self, tolerations: tuple[Toleration, ...]) -> BoolArray:
        """Nodes whose NoSchedule and NoExecute taints are all tolerated, bool[node]."""
        known = self._tolerated.get(tolerations)
        if known is None:
            sets = [all_tolerated(tolerations, taints, HARD_EFFECTS) for taints in self._nodes.lasting_taint_sets()]
            known = self._tolerated[tolerations] = np.array(sets, dtype=bool)[self._nodes.taints]
        return known

    def selected(self, selection: NodeSelection) -> BoolArray:
        """Nodes that match node selector and required affinity, bool[node]."""
        known = self._selected.get(selection)
        if known is None:
            known = self._selected[selection] = matches(selection, self._nodes)
        return known


def can_be_named(owners: Sequence[OwnerReference]) -> bool:
    """Whether the first owner is the controller, of a kind that creates pods for any node."""
    return bool(owners) and bool(owners[0].controller) and bool(owners[0].uid) and owners[0].kind not in _LEFT_ALONE
