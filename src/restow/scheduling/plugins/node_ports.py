"""NodePorts: two pods cannot hold the same ``hostPort`` of a node.

Ports conflict where protocol and number are equal and the addresses are, or one of them is 0.0.0.0. Few pods have host
ports; those that do are found through an index by protocol and number. Source: Kubernetes 1.36.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pod_columns import PodIndex, by_value
from restow.cluster.pod_values import HostPort
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.framework.extension_points import (
    NO_PODS,
    PROCEED,
    SKIP,
    FilterResult,
    Outcome,
    PreFiltered,
    Scope,
    one_outcome,
)
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, PodFacts, Resource

NAME = "NodePorts"

_ANY_ADDRESS = "0.0.0.0"  # noqa: S104  the wildcard of the rule, nothing is bound
_TAKEN = Outcome(("node(s) didn't have free ports for the requested pod ports",))


class NodePorts:
    """Filter."""

    name = NAME
    scope = Scope.RESIDENTS

    def __init__(self, context: Context) -> None:
        self._state = context.state
        self._pods = context.state.cluster.pods
        self._holding = by_value(self._pods, "ports", "ports", lambda many: [bool(each) for each in many])

    def applies_to(self, pod: int) -> bool:
        """Pods with host ports."""
        return bool(self._wanted(pod))

    def key(self, pod: int) -> int:
        """Its host ports."""
        return int(self._pods.ports[pod])

    def prefilter(self, pod: int) -> PreFiltered:
        """Skip pods without host ports."""
        return PROCEED if self.applies_to(pod) else SKIP

    def affecting_pods(self, pod: int) -> IntArray:
        """Pods with a port that conflicts."""
        return np.concatenate([NO_PODS, *map(self._holders, self._wanted(pod))])

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes where a pod holds one of the wanted ports."""
        taken = np.zeros(len(self._state.cluster.nodes), dtype=bool)
        for port in self._wanted(pod):
            holders = self._holders(port)
            at = self._state.node[holders[self._state.holding(holders)]]
            taken[at[at >= 0]] = True
        return one_outcome(taken[nodes], _TAKEN)

    def _wanted(self, pod: int) -> tuple[HostPort, ...]:
        return self._pods.tables.ports[int(self._pods.ports[pod])]

    def _holders(self, port: HostPort) -> IntArray:
        """Pods on any node with a port that conflicts with this one."""
        with_number = self._by_number.of((port.protocol, port.port))
        return np.array([pod for pod in with_number if self._conflicts(pod, port)], dtype=np.int64)

    def _conflicts(self, pod: int, port: HostPort) -> bool:
        return any(_conflict(port, each) for each in self._wanted(pod))

    @cached_property
    def _by_number(self) -> PodIndex[tuple[str, int]]:
        """The pods by the protocols and numbers of their ports."""
        return PodIndex(
            self._pods,
            np.flatnonzero(self._holding.values),
            lambda pods: ([(each.protocol, each.port) for each in self._wanted(pod)] for pod in pods),
        )


def _conflict(one: HostPort, other: HostPort) -> bool:
    """Whether two pods with these ports cannot be on one node."""
    if (one.protocol, one.port) != (other.protocol, other.port):
        return False
    return one.ip == other.ip or _ANY_ADDRESS in (one.ip, other.ip)


def _frees_a_port(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: a pod is gone that held, or was to hold, a port that the pod wants."""
    old: PodFacts = event.old
    return old.counts_somewhere and any(_conflict(mine, theirs) for mine in pod.ports for theirs in old.ports)


PLUGIN = SchedulerPlugin(
    NAME,
    ("preFilter", "filter"),
    lambda context, _args: NodePorts(context),
    dependent=("filter",),
    interests=(
        Interest(Resource.POD, Action.DELETE, _frees_a_port, "a pod goes that holds one of its host ports"),
        Interest(Resource.NODE, Action.ADD, words="a node is added"),
    ),
)
