"""Which pods a label selector matches, in about the time that reading the answer takes.

Pods with the same namespace and labels form a group. An inverted index (label key, then value, to groups) finds the
groups of the selector's most selective equality; the rest of the selector is checked on those few groups alone. A
cluster with 15,000 workloads has 15,000 selectors: scanning all pods for each would be quadratic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property

from restow.cluster.interning import IntArray
from restow.cluster.pod_columns import PodGroups
from restow.cluster.pods import Pods
from restow.kube.labels import NOTHING, Selector


class LabelGroups:
    """The index of one cluster's pods, built at the first question; callers mask out pods that are gone."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        #: How many groups the index below knows.
        self._indexed = 0
        self._by_namespace: defaultdict[int, list[int]] = defaultdict(list)
        self._by_label: dict[str, defaultdict[str, set[int]]] = {}

    @cached_property
    def groups(self) -> PodGroups:
        """The groups."""
        return PodGroups(self._pods, "namespace", "labels")

    def namespace(self, group: int) -> int:
        """The namespace of a group's pods."""
        return self.groups.table[group][0]

    def labels(self, group: int) -> Mapping[str, str]:
        """The labels of a group's pods."""
        return self._pods.tables.labels[self.groups.table[group][1]]

    def matching(self, selector: Selector, namespaces: Iterable[int] | None) -> IntArray:
        """The pods whose labels match, in the namespaces given by identifier (None: in all), in the order of rows."""
        return self.groups.of_groups(self.matching_groups(selector, namespaces))

    def matching_groups(self, selector: Selector, namespaces: Iterable[int] | None) -> list[int]:
        """The groups of the same pods."""
        if self.groups.values and self._indexed != len(self.groups.table):
            self._index_new_groups()
        if selector == NOTHING:
            return []
        wanted = None if namespaces is None else set(namespaces)
        labels, table = self._pods.tables.labels, self.groups.table
        return [group for group in self._candidates(selector, wanted) if selector.matches(labels[table[group][1]])]

    def _candidates(self, selector: Selector, namespaces: set[int] | None) -> Iterable[int]:
        """A superset of the matching groups, all in the namespaces."""
        equalities = [each for each in selector.requirements if each.operator == "In"]
        if not equalities:
            return self._in_namespaces(namespaces)
        found = [self._with_label(each.key, each.values) for each in equalities]
        smallest = min(found, key=len)
        others = [groups for groups in found if groups is not smallest]
        candidates, table = smallest.intersection(*others), self.groups.table
        return [group for group in candidates if namespaces is None or table[group][0] in namespaces]

    def _in_namespaces(self, namespaces: set[int] | None) -> Iterable[int]:
        if namespaces is None:
            return range(self._indexed)
        return [group for namespace in namespaces for group in self._by_namespace.get(namespace, ())]

    def _with_label(self, key: str, values: Iterable[str]) -> set[int]:
        postings = self._by_label.get(key)
        if postings is None:
            postings = self._by_label[key] = defaultdict(set)
            self._post(key, postings, 0)
        present = [postings[value] for value in values if value in postings]
        return present[0] if len(present) == 1 else set().union(*present)

    def _index_new_groups(self) -> None:
        first, self._indexed = self._indexed, len(self.groups.table)
        for group, (namespace, _) in enumerate(self.groups.table[first:], first):
            self._by_namespace[namespace].append(group)
        for key, postings in self._by_label.items():
            self._post(key, postings, first)

    def _post(self, key: str, postings: defaultdict[str, set[int]], first: int) -> None:
        """Enter the groups from the first on by the value of a label, as far as they have it."""
        labels = self._pods.tables.labels
        for group, (_, identifier) in enumerate(self.groups.table[first : self._indexed], first):
            value = labels[identifier].get(key)
            if value is not None:
                postings[value].add(group)
