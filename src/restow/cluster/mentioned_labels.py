"""Labels as selectors see them: a label whose key no selector mentions makes no difference to any rule.

Some labels differ from pod to pod: the name of a StatefulSet's pod, the index of a Job's. Without them replicas are
alike. New pods may bring selectors of their own, so more keys may be mentioned later; pods that were distinct by then
stay distinct.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from restow.cluster.interning import IdArray, IntArray, Interner
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.objects import LabelSelector, PodAffinityTerm, TopologySpreadConstraint

#: Kinds whose selector is a LabelSelector, and kinds whose selector is a plain map.
_SELECTING = ("PodDisruptionBudget", "ReplicaSet", "StatefulSet")
_MAPPING = ("Service", "ReplicationController")
#: No sets of labels.
NO_SETS: Final[IntArray] = np.zeros(0, dtype=np.int64)


class MentionedLabels:
    """What selectors see of each distinct set of labels, as an identifier: equal if they see no difference."""

    def __init__(self, cluster: ClusterSnapshot) -> None:
        self._pods = cluster.pods
        self._keys = _keys_of_objects(cluster)
        #: How many rules, constraints and sets of labels have been looked at.
        self._read = 0, 0, 0
        self._interner: Interner[frozenset[tuple[str, str]]] = Interner()
        #: What is seen of each set of labels (as in ``Pods.labels``).
        self.seen: IdArray = np.zeros(0, dtype=np.int32)
        self.catch_up()

    def catch_up(self) -> IntArray:
        """Add labels and selectors of new pods; returns the known sets that are seen differently now."""
        tables = self._pods.tables
        counts = len(tables.rules), len(tables.spread), len(tables.labels)
        if counts == self._read:
            return NO_SETS
        mentioned, before = len(self._keys), self.seen
        self._take_new_keys()
        self._read = counts
        if len(self._keys) > mentioned:
            self.seen = self.seen[:0]
        self._see()
        return np.flatnonzero(self.seen[: len(before)] != before) if self.seen is not before else NO_SETS

    def _see(self) -> None:
        """Process the sets of labels that are new."""
        sets = self._pods.tables.labels[len(self.seen) :]
        keys = self._keys
        if sets:
            seen = [frozenset([(key, labels[key]) for key in labels.keys() & keys]) for labels in sets]
            self.seen = np.append(self.seen, np.array(self._interner.ids(seen), dtype=np.int32))

    def _take_new_keys(self) -> None:
        """Add the keys of rules and constraints that were not there before."""
        tables, (rules_read, spread_read, _) = self._pods.tables, self._read
        for rules in tables.rules[rules_read:]:
            for affinity in (rules.pod_affinity, rules.pod_anti_affinity):
                if affinity is not None:
                    self._take_keys(affinity.required or ())
                    self._take_keys([weighted.pod_affinity_term for weighted in affinity.preferred or ()])
        for constraints in tables.spread[spread_read:]:
            self._take_keys(constraints)

    def _take_keys(self, terms: Iterable[PodAffinityTerm | TopologySpreadConstraint]) -> None:
        for term in terms:
            self._keys.update(_selector_keys(term.label_selector), term.match_label_keys or ())
            if isinstance(term, PodAffinityTerm):
                self._keys.update(term.mismatch_label_keys or ())


def _keys_of_objects(cluster: ClusterSnapshot) -> set[str]:
    keys: set[str] = set()
    for kind in _SELECTING:
        for each in cluster.kind(kind).values():
            keys.update(_selector_keys(each.spec.selector))
    for kind in _MAPPING:
        for each in cluster.kind(kind).values():
            keys.update(each.spec.selector or ())
    return keys


def _selector_keys(selector: LabelSelector | None) -> list[str]:
    if selector is None:
        return []
    return [*(selector.match_labels or ()), *[each.key for each in selector.match_expressions or ()]]
