"""NodeUnschedulable: ``unschedulable`` nodes take only pods that tolerate the taint for it. Source: Kubernetes 1.36."""

from __future__ import annotations

from typing import Any

import numpy as np

from restow.cluster.interning import IntArray
from restow.kube.objects import Taint
from restow.kube.taints import CORDON
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.framework.extension_points import (
    NO_PODS,
    PASSES,
    PROCEED,
    FilterResult,
    Outcome,
    PreFiltered,
    Scope,
    one_outcome,
)
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, NodeFacts, PodFacts, Resource
from restow.scheduling.plugins.taint_toleration import scheduler_tolerates

NAME = "NodeUnschedulable"

_CORDON = Taint(key=CORDON, effect="NoSchedule")
_CORDONED = Outcome(("node(s) were unschedulable",), unresolvable=True)


class NodeUnschedulable:
    """Filter on ``spec.unschedulable``; it speaks before TaintToleration does."""

    name = NAME
    scope = Scope.NODE

    def __init__(self, context: Context) -> None:
        self._nodes = context.state.cluster.nodes
        self._pods = context.state.cluster.pods

    def applies_to(self, _pod: int) -> bool:
        """Every pod."""
        return True

    def key(self, pod: int) -> int:
        """Its tolerations."""
        return int(self._pods.tolerations[pod])

    def prefilter(self, _pod: int) -> PreFiltered:
        """Every pod is looked at."""
        return PROCEED

    def affecting_pods(self, _pod: int) -> IntArray:
        """Pods do not matter."""
        return NO_PODS

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject cordoned nodes unless the pod tolerates the cordon."""
        cordoned = self._nodes.unschedulable[nodes]
        tolerations = self._pods.tables.tolerations[self._pods.tolerations[pod]]
        if not cordoned.any() or scheduler_tolerates(tolerations, _CORDON):
            return FilterResult(np.full(len(nodes), PASSES), ())
        return one_outcome(cordoned, _CORDONED)


def _opens(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the node takes pods, and did not before."""
    old: NodeFacts | None = event.old
    new: NodeFacts = event.new
    return not new.unschedulable and (old is None or old.unschedulable)


def _tolerates_cordon(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the pod itself tolerates the cordon now."""
    new: PodFacts = event.new
    return new.uid == pod.uid and scheduler_tolerates(new.tolerations, _CORDON)


PLUGIN = SchedulerPlugin(
    NAME,
    ("filter",),
    lambda context, _args: NodeUnschedulable(context),
    interests=(
        Interest(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, _opens, "a node is added or uncordoned"),
        Interest(Resource.POD, Action.UPDATE_POD_TOLERATION, _tolerates_cordon, "it is changed to tolerate the cordon"),
    ),
)
