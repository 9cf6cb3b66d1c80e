"""NodePorts: two pods cannot hold the same host port of a node.

Ports conflict where protocol and number are equal and the addresses are, or one of them is 0.0.0.0. Few pods have host
ports; those that do are found through an index by protocol and number. Source: Kubernetes 1.36.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pod_columns import PodIndex, by_value
from restow.cluster.pods import HostPort
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
        """Pods with a port that conflicts with this one, wherever they are."""
        with_number = self._by_number.of((port.protocol, port.port))
        return np.array([pod for pod in with_number if self._conflicts(pod, port)], dtype=np.int64)

    def _conflicts(self, pod: int, port: HostPort) -> bool:
        addresses = (each.ip for each in self._wanted(pod) if (each.protocol, each.port) == (port.protocol, port.port))
        return any(ip == port.ip or _ANY_ADDRESS in (ip, port.ip) for ip in addresses)

    @cached_property
    def _by_number(self) -> PodIndex[tuple[str, int]]:
        """The pods by the protocols and numbers of their ports."""
        return PodIndex(
            self._pods,
            np.flatnonzero(self._holding.values),
            lambda pods: ([(each.protocol, each.port) for each in self._wanted(pod)] for pod in pods),
        )


PLUGIN = SchedulerPlugin(
    NAME, ("preFilter", "filter"), lambda context, _args: NodePorts(context), dependent=("filter",)
)
