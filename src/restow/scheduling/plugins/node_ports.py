"""NodePorts: two pods cannot hold the same host port of a node.

Ports conflict where protocol and number are equal and the addresses are, or one of them is 0.0.0.0. Few pods have host
ports; those that do are found through an index by protocol and number. Source: Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pods import HostPort
from restow.scheduling.context import Context
from restow.scheduling.framework import NO_PODS, PROCEED, SKIP, FilterResult, Outcome, PreFiltered, Scope, one_outcome

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
        holding = self._state.holds_resources() & (self._state.node >= 0)
        for port in self._wanted(pod):
            holders = self._holders(port)
            taken[self._state.node[holders[holding[holders]]]] = True
        return one_outcome(taken[nodes], _TAKEN)

    def _wanted(self, pod: int) -> tuple[HostPort, ...]:
        return self._pods.tables.ports[int(self._pods.ports[pod])]

    def _holders(self, port: HostPort) -> IntArray:
        """Pods with a port that conflicts with this one, wherever they are."""
        found = self._by_number.get((port.protocol, port.port), ())
        pods = [pods for ip, pods in found if ip == port.ip or _ANY_ADDRESS in (ip, port.ip)]
        return np.concatenate(pods) if pods else np.zeros(0, dtype=np.int64)

    @cached_property
    def _by_number(self) -> dict[tuple[str, int], list[tuple[str, IntArray]]]:
        found: dict[tuple[str, int], list[tuple[str, IntArray]]] = defaultdict(list)
        for identifier, ports in enumerate(self._pods.tables.ports):
            pods = np.flatnonzero(self._pods.ports == identifier) if ports else np.zeros(0, dtype=np.int64)
            for port in ports:
                found[port.protocol, port.port].append((port.ip, pods))
        return found
