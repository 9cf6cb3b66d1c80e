"""Which nodes are open to a pod by its tolerations and by its node selection, one array for each distinct rule.

Nothing else is checked: the node may be full, cordoned or not among those handed to strategies.
"""

from __future__ import annotations

import numpy as np

from restow.cluster.interning import BoolArray
from restow.cluster.node_matching import matches
from restow.cluster.nodes import Nodes
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import Toleration
from restow.kube.taints import HARD_EFFECTS, all_tolerated


class OpenNodes:
    """Answers for the nodes of one cluster, kept for the next pod alike."""

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
