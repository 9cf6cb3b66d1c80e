"""What a node lacks: the resources that a pod needs beyond what is free, and those that a strategy's bounds ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from restow.cluster.amounts import LARGEST
from restow.cluster.interning import BoolArray
from restow.cluster.nodes import PODS
from restow.cluster.state import ClusterState
from restow.descheduling.explaining.what_if import ReplacementAnswer
from restow.kube.labels import NOTHING
from restow.kube.quantity import amount, enough, enough_value
from restow.scheduling.framework.verdicts import PluginRejection
from restow.scheduling.plugins.affinity.terms import AffinityTerm, PodTerms, compile_terms
from restow.scheduling.plugins.node_resources_fit import NAME as FIT

_INSUFFICIENT = "Insufficient "
_TOO_MANY = "Too many pods"

_ANY_ADDRESS = "0.0.0.0"  # noqa: S104  the wildcard of the rule, nothing is bound


@dataclass(slots=True, frozen=True)
class Shortfall:
    """The amounts on nodes that one answer depends on."""

    state: ClusterState
    pod: int
    answer: ReplacementAnswer

    def to_fit(self, node: int) -> dict[int, int]:
        """How much more of each resource (by row) a node needs so that NodeResourcesFit passes."""
        needs = {
            row: self._wanted(row) - self.free(row, node) for row in self._rows(self.answer.rejections_by_node[node])
        }
        return {row: need for row, need in needs.items() if need > 0}

    def to_stay_below(self, node: int, bounds: Mapping[str, float]) -> dict[int, int] | None:
        """How much more of which resources a node needs to stay below these percentages with the pod; None if never."""
        needs: dict[int, int] = {}
        nodes = self.state.cluster.nodes
        for name, percentage in bounds.items():
            row = nodes.resource(name)
            used = 0 if row is None else self._used(row, node) + self._wanted(row)
            if row is None or used == 0:
                continue
            if percentage <= 0:
                return None
            allocatable = int(nodes.allocatable[row, node])
            # The bound is cut to whole units: one more is always enough.
            need = -int(-used * 100 // percentage) - allocatable
            if int(percentage * 0.01 * allocatable) < used:
                needs[row] = max(need, 1)
                if int(percentage * 0.01 * (allocatable + needs[row])) < used:
                    needs[row] += 1 + int(100 / percentage)
        return needs

    def free(self, row: int, node: int) -> int:
        """How much of a resource is free on a node; at least 0."""
        return int(self.state.cluster.nodes.allocatable[row, node]) - self._used(row, node)

    def arrived(self, row: int, node: int) -> int:
        """How much more of a resource is used on a node than before the plan; negative if it is less."""
        before = ClusterState(self.state.cluster)
        used = before.running[node] if row == PODS else before.requested[row, node]
        return self._used(row, node) - int(used)

    def text(self, node: int) -> str:
        """What the pod needs and what is free, for people."""
        return ", ".join(self._text(row, node) for row in self._rows(self.answer.rejections_by_node[node]))

    def sentence(self, needs: Mapping[int, int]) -> str:
        """Amounts for people: ``500m more CPU and 4.9Gi more memory``."""
        return " and ".join(
            f"{enough(self._name(row), need)} more {_title(self._name(row), need)}"
            for row, need in sorted(needs.items())
            if need
        )

    def rounded(self, needs: Mapping[int, int]) -> dict[int, int]:
        """The amounts that the sentence names: rounded up, so that they are enough."""
        return {row: enough_value(self._name(row), need) for row, need in needs.items()}

    def amounts(self, needs: Mapping[int, int]) -> dict[str, int]:
        """The needs by resource name."""
        return {self._name(row): need for row, need in sorted(needs.items()) if need}

    def can_be_added(self, node: int, needs: Mapping[int, int]) -> bool:
        """Whether a node can have the rounded amounts more: no amount of a node exceeds int64."""
        nodes = self.state.cluster.nodes
        has = {row: int(max(nodes.allocatable[row, node], nodes.capacity[row, node])) for row in needs}
        return all(has[row] + need <= LARGEST for row, need in self.rounded(needs).items())

    def share(self, node: int, needs: Mapping[int, int]) -> float:
        """How large the needs are as a share of what the node has."""
        allocatable = self.state.cluster.nodes.allocatable
        return sum(need / max(1, int(allocatable[row, node])) for row, need in needs.items())

    def _rows(self, rejections: Iterable[PluginRejection]) -> list[int]:
        reasons = [reason for each in rejections if each.plugin == FIT for reason in each.outcome.reasons]
        names = [each.removeprefix(_INSUFFICIENT) for each in reasons if each.startswith(_INSUFFICIENT)]
        rows = [PODS] if _TOO_MANY in reasons else []
        return rows + [row for name in names if (row := self.state.cluster.nodes.resource(name)) is not None]

    def _text(self, row: int, node: int) -> str:
        name = self._name(row)
        if row == PODS:
            return f"holds {int(self.answer.running[node])} of {self.state.cluster.nodes.allocatable[row, node]} pods"
        free = amount(name, max(0, self.free(row, node)))
        return f"needs {amount(name, self._wanted(row))} {_title(name, 2)}, {free} free"

    def _wanted(self, row: int) -> int:
        return 1 if row == PODS else int(self.state.requests_of(self.pod)[row])

    def _used(self, row: int, node: int) -> int:
        return int(self.answer.running[node]) if row == PODS else int(self.answer.requested[row, node])

    def _name(self, row: int) -> str:
        return self.state.cluster.nodes.resources[row]


class InTheWay:
    """Answers about one incoming pod on one state."""

    def __init__(self, state: ClusterState, incoming: int) -> None:
        self._state = state
        self._pods = state.cluster.pods
        self._nodes = state.cluster.nodes
        self._incoming = incoming
        self._namespaces = state.cluster.namespace_labels()
        self._terms: dict[tuple[int, int], PodTerms] = {}

    def repelling(self, node: int) -> list[int]:
        """The pods that repel the incoming one from a node, or that it repels itself."""
        found = [*self._repelled(node), *self._repellers(node)]
        in_order: list[int] = self._pods.in_order(np.array(found, dtype=np.int64)).tolist()
        return list(dict.fromkeys(in_order))

    def holding_ports(self, node: int) -> list[int]:
        """The pods on a node that hold a host port which the incoming pod wants."""
        wanted = self._pods.tables.ports[self._pods.ports[self._incoming]]
        return [
            pod
            for pod in self._state.pods_on(node).tolist()
            if any(
                (held.protocol, held.port) == (port.protocol, port.port)
                and (held.ip == port.ip or _ANY_ADDRESS in {held.ip, port.ip})
                for held in self._pods.tables.ports[self._pods.ports[pod]]
                for port in wanted
            )
        ]

    def _repelled(self, node: int) -> Iterator[int]:
        for term in self._terms_of(self._incoming).anti_affinity:
            for pod in np.flatnonzero(self._beside(term, node)).tolist():
                if self._means(term, pod):
                    yield pod

    def _repellers(self, node: int) -> Iterator[int]:
        carrying = [rules.pod_anti_affinity is not None for rules in self._pods.tables.rules]
        carriers = np.array(carrying, dtype=bool)[self._pods.rules] & self._state.holds_resources()
        for pod in np.flatnonzero(carriers & (self._state.node >= 0)).tolist():
            for term in self._terms_of(pod).anti_affinity:
                if self._means(term, self._incoming) and self._beside(term, node)[pod]:
                    yield pod

    def _beside(self, term: AffinityTerm, node: int) -> BoolArray:
        """The pods in the same domain of a term's topology as a node, bool[pod]."""
        codes = self._nodes.label_column(term.topology_key).codes
        if codes[node] < 0:
            return np.zeros(len(self._pods), dtype=bool)
        domain = np.append(codes == codes[node], [False, False])
        beside: BoolArray = domain[self._state.node] & self._state.holds_resources()
        return beside

    def _means(self, term: AffinityTerm, pod: int) -> bool:
        namespace = self._pods.tables.namespaces[self._pods.namespace[pod]]
        selects = term.namespace_selector != NOTHING
        admitted = (
            term.admits(namespace, self._namespaces.get(namespace, {})) if selects else (namespace in term.namespaces)
        )
        return admitted and term.selector.matches(self._pods.tables.labels[self._pods.labels[pod]])

    def _terms_of(self, pod: int) -> PodTerms:
        key = int(self._pods.rules[pod]), int(self._pods.namespace[pod])
        if key not in self._terms:
            rules, namespace = self._pods.tables.rules[key[0]], self._pods.tables.namespaces[key[1]]
            self._terms[key] = compile_terms(rules, namespace)
        return self._terms[key]


def _title(resource: str, count: int) -> str:
    if resource == "pods":
        return "pod slot" if count == 1 else "pod slots"
    return "CPU" if resource == "cpu" else resource
