"""DaemonSet: one pod on each node that its template is for.

A pod that terminates or is over is still there, so the next one comes when it has vanished. Whether a node is full,
cordoned or ready counts for nothing; taints do, but those of a node in trouble are tolerated. Source: DaemonSet
controller, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from restow.cluster.interning import BoolArray
from restow.cluster.node_matching import matches
from restow.cluster.nodes import Nodes
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import Toleration
from restow.kube.taints import HARD_EFFECTS, all_tolerated
from restow.workloads.controlled_pods import BURST, Actions, ControlledPod, NewPod

_TOLERATED = {
    "NoExecute": ("not-ready", "unreachable"),
    "NoSchedule": ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable"),
}
#: What every pod of a DaemonSet tolerates.
ADDED_TOLERATIONS: Final = tuple(
    Toleration(key=f"node.kubernetes.io/{taint}", operator="Exists", effect=effect)
    for effect, taints in _TOLERATED.items()
    for taint in taints
)
#: What those of one with ``hostNetwork`` tolerate in addition.
ADDED_ON_HOST_NETWORK: Final = Toleration(
    key="node.kubernetes.io/network-unavailable", operator="Exists", effect="NoSchedule"
)
#: Taints that an existing pod has to tolerate too.
_EXPELLING = ("NoExecute",)


def runs_on(nodes: Nodes, selection: NodeSelection, tolerations: Sequence[Toleration]) -> BoolArray:
    """The nodes that get a pod of a template, bool[node]; ``tolerations`` include those that are added."""
    return matches(selection, nodes) & _tolerated(nodes, tolerations, HARD_EFFECTS)


def stays_on(nodes: Nodes, selection: NodeSelection, tolerations: Sequence[Toleration]) -> BoolArray:
    """The nodes where a pod that is there may stay, bool[node]."""
    return matches(selection, nodes) & _tolerated(nodes, tolerations, _EXPELLING)


def daemon_set(wanted: BoolArray, allowed: BoolArray, pods: Sequence[ControlledPod]) -> Actions:
    """What the controller does now, by the nodes that get a pod and those where one may stay.

    ``node`` of a pod is the node that it was made for, whether it has been bound to it or not.
    """
    by_node: defaultdict[int, list[ControlledPod]] = defaultdict(list)
    for pod in pods:
        by_node[pod.node].append(pod)
    create = [NewPod(node=node) for node in np.flatnonzero(wanted).tolist() if node not in by_node]
    unwanted = (_surplus(there) if allowed[node] else there for node, there in sorted(by_node.items()))
    return Actions(create[:BURST], [pod for some in unwanted for pod in some if not pod.terminating][:BURST])


def _surplus(pods: Sequence[ControlledPod]) -> list[ControlledPod]:
    """All of a node's pods but the oldest of those that run."""
    over = [pod for pod in pods if pod.is_over]
    running = sorted((pod for pod in pods if pod.is_active), key=lambda pod: (pod.created, pod.name))
    return [*over, *running[1:]]


def _tolerated(nodes: Nodes, tolerations: Sequence[Toleration], effects: Collection[str]) -> BoolArray:
    tolerated = [all_tolerated(tolerations, taints, effects) for taints in nodes.taint_sets]
    return np.array(tolerated, dtype=bool)[nodes.taints]
