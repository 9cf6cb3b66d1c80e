"""The ``topologySpreadConstraints`` of a cluster, each once for its namespace.

Two constraints are the same if they agree in skew, topology key, selector, and - if ``nodeAffinityPolicy`` and
``nodeTaintsPolicy`` honour them - node selection and tolerations of the pod that carries them. Whether they are hard or
soft does not count, nor does ``minDomains``. Source: Descheduler 0.36,
plugins/removepodsviolatingtopologyspreadconstraint.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from restow.cluster.interning import IntArray, combine
from restow.cluster.pods import Pods
from restow.kube.labels import Requirement, Selector, selector_from
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import Toleration, TopologySpreadConstraint

HONOR = "Honor"


@dataclass(slots=True, frozen=True)
class SpreadConstraint:
    """One constraint on the pods of one namespace."""

    #: Identifier of the namespace.
    namespace: int
    max_skew: int
    topology_key: str
    #: The pods that are counted.
    selector: Selector
    #: Nodes that count must match this, None for any.
    selection: NodeSelection | None
    #: The taints of nodes that count must be tolerated by these, None for any.
    tolerations: tuple[Toleration, ...] | None


class _Carrier(NamedTuple):
    """What a constraint may take from its pod, as identifiers: pods with the same ones have the same constraints."""

    namespace: int
    spread: int
    #: 0 if no constraint of the pod reads its labels.
    labels: int
    rules: int
    tolerations: int


def spread_constraints(pods: Pods, chosen: IntArray, actions: Collection[str]) -> list[SpreadConstraint]:
    """The distinct constraints of these pods whose ``whenUnsatisfiable`` is among the actions.

    They come by namespace, in the order of the first pods that have them. A constraint whose selector cannot be compiled is
    left out, as upstream does.
    """
    relevant = [[each for each in listed if each.when_unsatisfiable in actions] for listed in pods.tables.spread]
    carries = np.array([bool(each) for each in relevant], dtype=bool)
    chosen = chosen[carries[pods.spread[chosen]]] if len(carries) else chosen[:0]
    by_labels = np.array([any(each.match_label_keys for each in listed) for listed in relevant], dtype=bool)
    spread = pods.spread[chosen]
    labels = np.where(by_labels[spread], pods.labels[chosen], 0) if len(chosen) else spread
    row_of, rows = combine(pods.namespace[chosen], spread, labels, pods.rules[chosen], pods.tolerations[chosen])
    compiled = [list(_compiled(listed)) for listed in relevant]
    _, first = np.unique(row_of, return_index=True)
    carriers = [_Carrier(*row) for row in rows[np.lexsort((first, rows[:, 0]))].tolist()]
    found = (_constraint(pods, each, *wire) for each in carriers for wire in compiled[each.spread])
    return list(dict.fromkeys(found))


def _compiled(listed: list[TopologySpreadConstraint]) -> Iterator[tuple[TopologySpreadConstraint, Selector]]:
    for wire in listed:
        try:
            yield wire, selector_from(wire.label_selector)
        except ValueError:
            continue


def _constraint(pods: Pods, carrier: _Carrier, wire: TopologySpreadConstraint, selector: Selector) -> SpreadConstraint:
    affinity_counts = (wire.node_affinity_policy or HONOR) == HONOR
    taints_count = wire.node_taints_policy == HONOR
    return SpreadConstraint(
        namespace=carrier.namespace,
        max_skew=wire.max_skew,
        topology_key=wire.topology_key,
        selector=_narrowed(selector, wire.match_label_keys or (), pods.tables.labels[carrier.labels]),
        selection=pods.tables.rules[carrier.rules].selection if affinity_counts else None,
        tolerations=pods.tables.tolerations[carrier.tolerations] if taints_count else None,
    )


def _narrowed(selector: Selector, keys: Collection[str], labels: Mapping[str, str]) -> Selector:
    """The selector, narrowed by ``matchLabelKeys``: pods must also have the carrying pod's values of these labels."""
    same = [Requirement(key, "In", (labels[key],)) for key in keys if key in labels]
    if not same or not selector.selectable:
        return selector
    requirements = sorted((*same, *selector.requirements), key=lambda each: each.key)
    return Selector(tuple(requirements))
