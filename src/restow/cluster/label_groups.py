"""Which pods a label selector matches, in about the time that reading the answer takes.

Pods with the same namespace and labels form a group. An inverted index (label key, then value, to groups) finds the
groups of the selector's most selective equality; the rest of the selector is checked on those few groups alone. A
cluster with 15,000 workloads has 15,000 selectors: scanning all pods for each would be quadratic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from restow.cluster.interning import IntArray, combine
from restow.cluster.pods import Pods
from restow.kube.labels import NOTHING, Selector


class LabelGroups:
    """The index of one cluster's pods, built at the first question.

    It never changes, so callers mask out pods that are gone.
    """

    def __init__(self, pods: Pods) -> None:
        self._index_of = pods
        self._built = False

    def _build(self) -> None:
        pods = self._index_of
        self._built = True
        group_of, table = combine(pods.namespace, pods.labels)
        self._namespace: list[int] = table[:, 0].tolist()
        self._labels = [pods.tables.labels[labels] for labels in table[:, 1].tolist()]
        self._pods = np.argsort(group_of, kind="stable").astype(np.int64)
        self._first = np.searchsorted(group_of[self._pods], np.arange(len(table) + 1)).tolist()
        self._by_namespace: dict[int, list[int]] = defaultdict(list)
        for group, namespace in enumerate(self._namespace):
            self._by_namespace[namespace].append(group)
        self._by_label: dict[str, dict[str, set[int]]] = {}

    def matching(self, selector: Selector, namespaces: Iterable[int] | None) -> IntArray:
        """The pods whose labels match, in the namespaces given by identifier (None: in all); sorted."""
        if not self._built:
            self._build()
        if selector == NOTHING:
            return np.zeros(0, dtype=np.int64)
        wanted = None if namespaces is None else set(namespaces)
        groups = [group for group in self._candidates(selector, wanted) if selector.matches(self._labels[group])]
        return self._members(groups)

    def _candidates(self, selector: Selector, namespaces: set[int] | None) -> Iterable[int]:
        """A superset of the matching groups, all in the namespaces."""
        equalities = [each for each in selector.requirements if each.operator == "In"]
        if not equalities:
            return self._in_namespaces(namespaces)
        found = [self._with_label(each.key, each.values) for each in equalities]
        smallest = min(found, key=len)
        others = [groups for groups in found if groups is not smallest]
        candidates = smallest.intersection(*others)
        return [group for group in candidates if namespaces is None or self._namespace[group] in namespaces]

    def _in_namespaces(self, namespaces: set[int] | None) -> Iterable[int]:
        if namespaces is None:
            return range(len(self._labels))
        return [group for namespace in namespaces for group in self._by_namespace.get(namespace, ())]

    def _with_label(self, key: str, values: Iterable[str]) -> set[int]:
        postings = self._by_label.get(key)
        if postings is None:
            postings = self._by_label[key] = self._index(key)
        present = [postings[value] for value in values if value in postings]
        return present[0] if len(present) == 1 else set().union(*present)

    def _index(self, key: str) -> dict[str, set[int]]:
        postings: dict[str, set[int]] = defaultdict(set)
        for group, labels in enumerate(self._labels):
            value = labels.get(key)
            if value is not None:
                postings[value].add(group)
        return dict(postings)

    def _members(self, groups: list[int]) -> IntArray:
        if not groups:
            return np.zeros(0, dtype=np.int64)
        runs = [self._pods[self._first[group] : self._first[group + 1]] for group in groups]
        return runs[0] if len(runs) == 1 else np.sort(np.concatenate(runs))
