"""Canonical order of pods that come and go: by namespace, then name; a replacement right after the pod it replaces.

Ranks leave room: a pod that comes gets one between those of its neighbours. Where there is no room left all ranks are
given anew, which happens so rarely that a pod costs a binary search on average.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import numpy as np

from restow.cluster.interning import BoolArray
from restow.cluster.pods import NO_POD, Pods, ranks

#: (namespace, name).
Key = tuple[str, str]
#: Room that is kept after each rank for the replacements of the pod.
_LEAST = 1 << 12
#: How far a pod before the first or after the last one is from it.
_BEYOND = 1 << 32


class PodOrder:
    """The pods of one state by name, without replacements."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        self._rows: list[int] = pods.where(pods.read()).tolist()
        self._keys = [self._key(pod) for pod in self._rows]

    def copied(self, pods: Pods) -> PodOrder:
        """The same order of pods that are the same so far."""
        other = PodOrder.__new__(PodOrder)
        other._pods, other._rows, other._keys = pods, list(self._rows), list(self._keys)  # noqa: SLF001
        return other

    def enter(self, pod: int) -> None:
        """A pod has come, and gets its rank."""
        key = self._key(pod)
        position = bisect_right(self._keys, key)
        self._keys.insert(position, key)
        self._rows.insert(position, pod)
        before = self._rank(position - 1) if position else self._rank(1, otherwise=_BEYOND) - _BEYOND
        after = self._rank(position + 1, otherwise=before + _BEYOND)
        self._pods.rank[pod] = (before + after) // 2
        if after - before < 2 * _LEAST:
            self._renumber()

    def leave(self, pod: int, exists: BoolArray) -> None:
        """A pod goes; its columns still tell its name. The first of its replacements that exists is its successor."""
        position = self._position(pod)
        _, heir = self._heir(pod, exists)
        if heir == NO_POD:
            del self._keys[position], self._rows[position]
        else:
            self._pods.link(heir, NO_POD)
            self._rows[position] = heir

    def come_back(self, pod: int, exists: BoolArray) -> None:
        """Take back that a pod has gone, and no other change since; its columns are what they were."""
        before, heir = self._heir(pod, exists)
        if heir == NO_POD:
            self.enter(pod)
        else:
            self._rows[self._position(heir)] = pod
            self._pods.link(heir, before)
            self._pods.rank[pod] = self._pods.rank[heir]
        while self._pods.replaced_by[pod] != NO_POD:
            replacement = int(self._pods.replaced_by[pod])
            self._pods.rank[replacement] = self._pods.rank[pod] + 1
            pod = replacement

    def find(self, namespace: str, name: str) -> int:
        """The pod of a name that came last, NO_POD if there is none."""
        position = bisect_right(self._keys, (namespace, name)) - 1
        return self._rows[position] if position >= 0 and self._keys[position] == (namespace, name) else NO_POD

    def _position(self, pod: int) -> int:
        position = bisect_left(self._keys, self._key(pod))
        while self._rows[position] != pod:
            position += 1
        return position

    def _heir(self, pod: int, exists: BoolArray) -> tuple[int, int]:
        """The first replacement of a pod that exists, NO_POD if none does, and the pod that it replaces."""
        before, heir = pod, int(self._pods.replaced_by[pod])
        while heir != NO_POD and not exists[heir]:
            before, heir = heir, int(self._pods.replaced_by[heir])
        return before, heir

    def _rank(self, position: int, otherwise: int = 0) -> int:
        return int(self._pods.rank[self._rows[position]]) if position < len(self._rows) else otherwise

    def _renumber(self) -> None:
        pods = self._pods
        before = pods.rank.copy()
        pods.rank[self._rows] = ranks(len(self._rows))
        for pod in np.flatnonzero(pods.replaces != NO_POD).tolist():
            original = pods.original(pod)
            pods.rank[pod] = pods.rank[original] + before[pod] - before[original]

    def _key(self, pod: int) -> Key:
        return self._pods.tables.namespaces[self._pods.namespace[pod]], self._pods.names[pod]
