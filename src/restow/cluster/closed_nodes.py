"""Nodes that should receive no replacement although the scheduler may put pods there, and nodes with restow's own taint.

Some are about to be removed: their taints say so, and a pod that lands there is moved again within minutes. Most of these
taints keep new pods away by themselves; the cluster autoscaler's mark of a candidate only makes the node less liked. Others
are virtual: no machine is behind them, so they are never full, and each pod there is a machine of its own. The fences
(``restow.dev/fence``) are listed for the code that adds and removes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np
from msgspec import Struct

from restow.cluster.interning import BoolArray
from restow.cluster.nodes import Nodes
from restow.kube.objects import Node, Taint
from restow.kube.taints import FENCE

#: Keys of taints whose node is about to be removed, and who puts them there. The effect does not matter.
LEAVING: Final = {
    "DeletionCandidateOfClusterAutoscaler": "the cluster autoscaler",
    "ToBeDeletedByClusterAutoscaler": "the cluster autoscaler",
    "karpenter.sh/disrupted": "Karpenter",
    "karpenter.sh/disruption": "Karpenter before 1.0",
    "node.kubernetes.io/out-of-service": "whoever found the node broken",
    "cloud.google.com/impending-node-termination": "Google Kubernetes Engine",
    "remediator.kubernetes.azure.com/unschedulable": "Azure Kubernetes Service",
    "remediator.aks.microsoft.com/unschedulable": "Azure Kubernetes Service before 2024",
    "aws-node-termination-handler/spot-itn": "the AWS node termination handler",
    "aws-node-termination-handler/scheduled-maintenance": "the AWS node termination handler",
    "aws-node-termination-handler/asg-lifecycle-termination": "the AWS node termination handler",
    "aws-node-termination-handler/rebalance-recommendation": "the AWS node termination handler",
}
#: Labels of nodes without a machine.
VIRTUAL: Final = (("type", "virtual-kubelet"), ("eks.amazonaws.com/compute-type", "fargate"))


def leaving_taint(taints: Iterable[Taint]) -> str | None:
    """Return the key of the first taint that says that its node is about to be removed; None if none does."""
    return next((each.key for each in taints if each.key in LEAVING), None)


def leaving_nodes(nodes: Nodes) -> BoolArray:
    """Return which nodes are about to be removed, bool[node]."""
    found = np.array([leaving_taint(taints) is not None for taints in nodes.taint_sets], dtype=bool)
    return found[nodes.taints] if len(found) else np.zeros(len(nodes), dtype=bool)


def is_virtual(labels: Mapping[str, str]) -> bool:
    """Whether a node with these labels has no machine of its own."""
    return any(labels.get(key) == value for key, value in VIRTUAL)


def virtual_nodes(nodes: Nodes) -> BoolArray:
    """Return which nodes have no machine of their own, bool[node]."""
    found = np.zeros(len(nodes), dtype=bool)
    for key, value in VIRTUAL:
        column = nodes.label_column(key)
        found |= column.codes == column.code(value)
    return found


class FencedNode(Struct, frozen=True):
    """One such taint of a node."""

    name: str
    #: Where it stands among the node's taints.
    place: int
    #: Who has put it there and when, as ``executing.fencing`` writes it.
    value: str


def fenced_nodes(nodes: Iterable[Node]) -> Iterator[FencedNode]:
    """The fences of some nodes."""
    for node in nodes:
        for place, taint in enumerate(node.spec.taints or ()):
            if taint.key == FENCE:
                yield FencedNode(node.metadata.name, place, taint.value)
