"""What could be changed about a node, or about the pod, so that the pod fits on the node.

Only nodes that fail for a single reason are considered: a resource, a taint, a label, a volume, or other pods that repel the
pod or hold its host ports. Whether an option helps is found out by making the plan again with it (``explaining.changes``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from restow.cluster.interning import BoolArray
from restow.cluster.state import ClusterState
from restow.explaining.explanation import Step
from restow.explaining.obstacles import Shortfall, mounted_claims, taint_text, untolerated
from restow.explaining.trials import (
    Fix,
    enlarged,
    on_cluster,
    reaching,
    relabelled,
    tolerating,
    uncordoned,
    without_pods,
)
from restow.explaining.what_if import ReplacementAnswer, Response, WhatIf
from restow.kube.labels import NOTHING
from restow.kube.node_selection import NodeSelection, SelectorTerm
from restow.kube.taints import CORDON, FENCE
from restow.policies.codes import PlacementConstraint
from restow.scheduling.plugins import (
    inter_pod_affinity,
    node_affinity,
    node_ports,
    node_resources_fit,
    node_unschedulable,
    taint_toleration,
    volume_binding,
    volume_zone,
)
from restow.scheduling.plugins.affinity_terms import AffinityTerm, PodTerms, compile_terms

#: How many pods may have to leave for one, at most.
_MOST_LEAVING = 3
_VOLUMES = frozenset((volume_binding.NAME, volume_zone.NAME))
_FAR = frozenset(("node(s) didn't match PersistentVolume's node affinity", "node(s) had no available volume zone"))
_CORDON = frozenset((node_unschedulable.NAME, taint_toleration.NAME))


_ANY_ADDRESS = "0.0.0.0"  # noqa: S104  the wildcard of the rule, nothing is bound


@dataclass(slots=True, frozen=True)
class Option:
    """One thing to change for one node."""

    fix: Fix
    node: int
    #: Compares options of one kind; less is better.
    cost: float = 0.0


class Options:
    """The options of one pod that a strategy wants to move."""

    def __init__(
        self, what_if: WhatIf, response: Response, answer: ReplacementAnswer, bounds: Mapping[str, float]
    ) -> None:
        self._what_if = what_if
        self._state = what_if.state
        self._cluster = what_if.state.cluster
        self._nodes = what_if.state.cluster.nodes
        self._pod = response.pod
        self._response = response
        self._answer = answer
        self._bounds = bounds
        self._shortfall = Shortfall(what_if.state, response.pod, answer)
        self._in_the_way = _InTheWay(what_if.state, what_if.replacements.of(response.pod))

    def all(self) -> list[Option]:
        """Every option, in the order of nodes; none where a plugin rules out every node at once.

        Nodes that the strategy does not accept now come last: the change may make it accept them.
        """
        if self._answer.decision is not None and self._answer.decision.verdicts.prefilter is not None:
            return []
        elsewhere = self._response.suggestion.constraint is not PlacementConstraint.ANYWHERE
        nodes = [node for node in range(len(self._nodes)) if not (elsewhere and node == self._response.source)]
        accepts = self._answer.accepts.tolist()
        ranked = sorted(nodes, key=lambda node: not accepts[node])
        return [option for node in ranked for option in self._on(node)]

    def _on(self, node: int) -> Iterator[Option]:
        plugins = frozenset(each.plugin for each in self._answer.rejections_by_node[node])
        if plugins <= {node_resources_fit.NAME}:
            yield from self._larger(node)
        elif node_unschedulable.NAME in plugins and plugins <= _CORDON:
            yield from self._uncordoned(node)
        elif plugins == {taint_toleration.NAME}:
            yield from self._tolerated(node)
        elif plugins == {node_affinity.NAME}:
            yield from self._labelled(node)
        elif plugins <= _VOLUMES and self._is_far(node):
            yield from self._reached(node)
        elif plugins == {inter_pod_affinity.NAME}:
            yield from self._without(node, self._in_the_way.repelling(node), "pod anti-affinity")
        elif plugins == {node_ports.NAME}:
            yield from self._without(node, self._in_the_way.holding_ports(node), "host port")

    def _larger(self, node: int) -> Iterator[Option]:
        below = self._shortfall.to_stay_below(node, self._bounds)
        needs = self._shortfall.to_fit(node)
        if below is None:
            return
        for row, need in below.items():
            needs[row] = max(need, needs.get(row, 0))
        if needs and self._shortfall.can_be_added(node, needs):
            yield Option(self._least(node, needs), node, self._shortfall.share(node, needs))

    def _least(self, node: int, needs: Mapping[int, int]) -> Fix:
        """These amounts of some resources, or as little of them as is enough."""
        rows = tuple(sorted(needs))
        guess = tuple(max(0, needs[row] - self._shortfall.arrived(row, node)) for row in rows)

        def at(amounts: tuple[int, ...]) -> Fix:
            exact = dict(zip(rows, amounts, strict=True))
            rounded = self._shortfall.rounded(exact)
            return replace(
                self._more(node, exact),
                rounded=None if rounded == exact else self._more(node, rounded),
                at=at,
                amounts=amounts,
                lowest=(0,) * len(rows),
                guess=guess,
            )

        return at(tuple(needs[row] for row in rows))

    def _more(self, node: int, needs: Mapping[int, int]) -> Fix:
        message = f"with {self._shortfall.sentence(needs)} on {self._name(node)}"
        step = Step("resources", message, self._name(node), self._shortfall.amounts(needs))
        return Fix(step, on_cluster(partial(enlarged, node=node, more=needs)))

    def _uncordoned(self, node: int) -> Iterator[Option]:
        if all(each.key == CORDON for each in untolerated(self._cluster, self._pod, node)):
            step = Step("uncordon", f"with {self._name(node)} uncordoned", self._name(node))
            yield Option(Fix(step, on_cluster(partial(uncordoned, node=node))), node)

    def _tolerated(self, node: int) -> Iterator[Option]:
        taints = untolerated(self._cluster, self._pod, node)
        if any(each.key == FENCE for each in taints):
            # The pod is gone before it could be changed.
            return
        message = f"with a toleration of {' and '.join(map(taint_text, taints))} ({self._name(node)})"
        edit = on_cluster(partial(tolerating, pod=self._cluster.pods.original(self._pod), taints=taints))
        yield Option(Fix(Step("toleration", message, self._name(node)), edit), node, len(taints))

    def _labelled(self, node: int) -> Iterator[Option]:
        pods = self._cluster.pods
        found = _missing_labels(pods.tables.rules[pods.rules[self._pod]].selection, self._nodes.labels[node])
        if found is not None:
            labels, without = found
            parts = [f"the label {key}={value}" if value else f"the label {key}" for key, value in labels.items()]
            worded = [f"with {' and '.join(parts)}"] if parts else []
            worded += [f"without the label{'s' if len(without) > 1 else ''} {' and '.join(without)}"] if without else []
            message = f"{' and '.join(worded)} on {self._name(node)}"
            edit = on_cluster(partial(relabelled, node=node, labels=labels, without=without))
            yield Option(Fix(Step("label", message, self._name(node)), edit), node, len(labels) + len(without))

    def _is_far(self, node: int) -> bool:
        """Whether existing volumes cannot be reached from a node; volumes that are still to be provisioned do not count."""
        reasons = {reason for each in self._answer.rejections_by_node[node] for reason in each.outcome.reasons}
        return reasons <= _FAR

    def _reached(self, node: int) -> Iterator[Option]:
        claims = mounted_claims(self._cluster, self._pod)
        zone = self._nodes.zone(node)
        elsewhere = [each for each in claims if zone and each.zones and zone not in each.zones]
        following = elsewhere or claims
        if following:
            names = " and ".join(f"pvc/{each.name}" for each in following)
            noun = "volume" if len(following) == 1 else "volumes"
            where = f"follow to zone {zone}" if elsewhere else f"be reached from {self._name(node)}"
            step = Step("volume", f"if {noun} {names} could {where}", self._name(node))
            volumes = tuple(each.volume for each in following)
            edit = on_cluster(partial(reaching, volumes=volumes, node=node))
            yield Option(Fix(step, edit), node, len(following))

    def _without(self, node: int, pods: list[int], why: str) -> Iterator[Option]:
        others = tuple(each for each in pods if each != self._pod)
        if 0 < len(others) <= _MOST_LEAVING:
            message = f"without {self._named(others)} ({why} on {self._name(node)})"
            yield Option(without(self._what_if, others, message, self._name(node)), node, len(others))

    def _named(self, pods: tuple[int, ...]) -> str:
        return " and ".join(map(self._named_on_its_node, pods))

    def _named_on_its_node(self, pod: int) -> str:
        name, node = self._cluster.pods.full_name(pod), self._name(int(self._state.node[pod]))
        original = self._cluster.pods.original(pod)
        if original == pod:
            return f"{name} on {node}"
        return f"{name} on {self._name(int(self._cluster.pods.node[original]))}, which the plan moves to {node},"

    def _name(self, node: int) -> str:
        return self._nodes.names[node]


def without(what_if: WhatIf, pods: tuple[int, ...], message: str, node: str) -> Fix:
    """The removal of some pods, from where they are in the input or from where the plan moves them."""
    rows = tuple(map(what_if.state.cluster.pods.original, pods))
    return Fix(Step("pod", message, node), on_cluster(partial(without_pods, gone=rows)))


def _missing_labels(
    selection: NodeSelection, labels: Mapping[str, str]
) -> tuple[dict[str, str], tuple[str, ...]] | None:
    """The fewest labels to set and to remove so that a node is selected; None if labels cannot do it."""
    wanted = {key: value for key, value in selection.labels if labels.get(key) != value}
    if selection.terms is None:
        return wanted, ()
    found = [each for term in selection.terms if (each := _missing(term, labels)) is not None]
    fitting = [each for each in found if all(each[0].get(key, value) == value for key, value in wanted.items())]
    fitting = [each for each in fitting if not set(each[1]) & {key for key, _ in selection.labels}]
    if not fitting:
        return None
    more, without = min(fitting, key=lambda each: len(each[0] | wanted) + len(each[1]))
    return wanted | more, without


def _missing(term: SelectorTerm, labels: Mapping[str, str]) -> tuple[dict[str, str], tuple[str, ...]] | None:
    """The labels that one term lacks, and those to remove. Labels cannot meet requirements on fields or numbers."""
    if term.error is not None or term.fields or not term.expressions:
        return None
    wanted: dict[str, str] = {}
    without: list[str] = []
    for each in term.expressions:
        if each.matches(labels):
            continue
        if each.operator == "In":
            wanted[each.key] = each.values[0]
        elif each.operator == "Exists":
            wanted[each.key] = ""
        elif each.operator in {"NotIn", "DoesNotExist"}:
            without.append(each.key)
        else:
            return None
    return wanted, tuple(without)


class _InTheWay:
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
