"""Values derived from the pods' columns: kept for every pod, and recomputed for those whose row is written.

A ``PodColumn`` holds one value a pod, ``PodGroups`` the pods that are alike in some columns, a ``PodIndex`` the pods by
keys. All of them catch up when they are asked, in time proportional to the rows that were written since. As long as
none is, ``values`` is an attribute like any other: there is one for each rule, and each is asked about every pod.

Pods come while a plan is made, so all data that outlives one move and has an entry for each pod is one of these, or
asks one of them. An array that was computed once lacks the pods that came since. Rows that no pod has had yet
(``Pods.used``) have no value: no rule is asked about them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray, combine
from restow.cluster.mentioned_labels import MentionedLabels
from restow.cluster.pods import Pods

Scalar = TypeVar("Scalar", bound=np.generic)
Key = TypeVar("Key", bound=Hashable)


class _Follower:
    """Something that follows from the rows of some pods."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        self._read = len(pods.written)

    def _new_rows(self) -> list[int]:
        """The rows that were written since the last question; ``values`` is kept until the next one is."""
        written = self._pods.written
        rows = written[self._read :] if self._read < len(written) else []
        self._read = len(written)
        self._pods.followers.append(self.__dict__)
        return rows


class PodColumn(_Follower, Generic[Scalar]):
    """A value, or a row of values, for each pod."""

    def __init__(self, pods: Pods, of: Callable[[IntArray], npt.NDArray[Scalar]]) -> None:
        super().__init__(pods)
        #: Finds the values of some pods, without anything that is kept.
        self.of = of
        self._known: npt.NDArray[Scalar] | None = None

    @cached_property
    def values(self) -> npt.NDArray[Scalar]:
        """The values of all pods, as long as the columns of ``Pods`` are; not to be changed."""
        new, count = self._new_rows(), len(self._pods.names)
        if self._known is None:
            self._known = self.of(np.arange(self._pods.used))
            new = []
        if count > len(self._known):
            self._known = _lengthened(self._known, count)
        if new:
            rows: IntArray = np.array(new if len(new) == 1 else list(set(new)), dtype=np.int64)
            self._known[rows] = self.of(rows)
        return self._known[:count]


class PodGroups(_Follower):
    """The pods by the values that they have in some identifier columns: one group for each combination.

    With ``labels``, only what selectors see of the labels counts.
    """

    def __init__(self, pods: Pods, *columns: str, labels: MentionedLabels | None = None) -> None:
        super().__init__(pods)
        self._columns = columns
        self._labels = labels
        group, table = combine(*(self._column(name)[: pods.used] for name in columns))
        #: The values of each group in the columns; those of groups that came are there once ``values`` was asked for.
        self.table: list[tuple[int, ...]] = [tuple(row) for row in table.tolist()]
        self._group: list[int] = group.tolist()
        order = np.argsort(group, kind="stable").astype(np.int64)
        first = np.searchsorted(group[order], np.arange(len(table) + 1)).tolist()
        self._members = [order[begin:end] for begin, end in pairwise(first)]
        #: Pods that came to a group since its members were read.
        self._came: dict[int, list[int]] = {}
        self._ids: dict[tuple[int, ...], int] | None = None

    def __len__(self) -> int:
        return len(self.table) if self.values else 0

    @cached_property
    def values(self) -> list[int]:
        """The group of each pod, of every row in use; not to be changed."""
        new = self._new_rows()
        if new and self._labels is not None:
            self._follow(self._labels.catch_up())
        copied = self._pods.copied
        if copied is not None and new == [copied.pod] and copied.changed.isdisjoint(self._columns):
            # Nothing else was written since, so both are alike here.
            self._join(copied.pod, self._group[copied.like])
        else:
            for pod in new:
                self._regroup(pod)
        return self._group

    def of_pods(self, pods: IntArray) -> list[int]:
        """The groups of some pods."""
        return list(map(self.values.__getitem__, pods.tolist()))

    def members(self, group: int) -> IntArray:
        """The pods of a group, whether they exist or not, in the order of their rows."""
        return self.of_groups((group,))

    def of_groups(self, groups: Iterable[int]) -> IntArray:
        """The pods of some groups, in the order of their rows."""
        runs = [self._settled(group) for group in groups] if self.values else []
        if not runs:
            return np.zeros(0, dtype=np.int64)
        return runs[0] if len(runs) == 1 else np.sort(np.concatenate(runs))

    def _column(self, name: str) -> npt.NDArray[np.integer]:
        column: npt.NDArray[np.integer] = getattr(self._pods, name)
        return column if self._labels is None or name != "labels" else self._labels.seen[self._pods.labels]

    def _follow(self, labels: IntArray) -> None:
        """Regroup the known pods with labels of which selectors see something else now."""
        if len(labels):
            for pod in np.flatnonzero(np.isin(self._pods.labels[: len(self._group)], labels)).tolist():
                self._regroup(pod)

    def _regroup(self, pod: int) -> None:
        row: list[int] = [getattr(self._pods, name).item(pod) for name in self._columns]
        if self._labels is not None:
            position = self._columns.index("labels")
            row[position] = int(self._labels.seen[row[position]])
        values = tuple(row)
        if self._ids is None:
            self._ids = {known: group for group, known in enumerate(self.table)}
        group = self._ids.setdefault(values, len(self.table))
        if group == len(self.table):
            self.table.append(values)
            self._members.append(np.zeros(0, dtype=np.int64))
        self._join(pod, group)

    def _join(self, pod: int, group: int) -> None:
        """Put a pod into a group, and take it out of the one that it was in."""
        if pod < len(self._group):
            former = self._group[pod]
            if former == group:
                return
            members = self._settled(former)
            self._members[former] = members[members != pod]
            self._group[pod] = group
        else:
            # Rows come one after the other, and each is written when it comes.
            self._group.append(group)
        self._came.setdefault(group, []).append(pod)

    def _settled(self, group: int) -> IntArray:
        """The members of a group, with the pods that came to it."""
        came = self._came.pop(group, None)
        if came is not None:
            self._members[group] = np.sort(np.concatenate((self._members[group], came)))
        return self._members[group]


class PodIndex(_Follower, Generic[Key]):
    """The pods by keys of which each may have several: ``keys(pods)``, asked at first of ``some`` pods only."""

    def __init__(self, pods: Pods, some: IntArray, keys: Callable[[list[int]], Iterable[Iterable[Key]]]) -> None:
        super().__init__(pods)
        self._find = keys
        self._keys: dict[int, tuple[Key, ...]] = {}
        self._by_key: defaultdict[Key, list[int]] = defaultdict(list)
        self._enter(some.tolist())

    def of(self, key: Key) -> list[int]:
        """The pods that have a key, whether they exist or not."""
        return self.values.get(key, [])

    @cached_property
    def values(self) -> dict[Key, list[int]]:
        """The pods of each key, whether they exist or not; not to be changed."""
        new = list(dict.fromkeys(self._new_rows()))
        for pod in new:
            for former in self._keys.pop(pod, ()):
                self._by_key[former].remove(pod)
        self._enter(new)
        return self._by_key

    def _enter(self, pods: list[int]) -> None:
        for pod, found in zip(pods, self._find(pods) if pods else (), strict=True):
            keys = tuple(dict.fromkeys(found))
            if keys:
                self._keys[pod] = keys
                for key in keys:
                    self._by_key[key].append(pod)


def by_value(
    pods: Pods, column: str, table: str, holds: Callable[[Sequence[Any]], Sequence[bool]]
) -> PodColumn[np.bool_]:
    """Whether something holds for the value that each pod has in a column; asked once for each value of the table."""
    known = np.zeros(0, dtype=bool)

    def compute(rows: IntArray) -> BoolArray:
        nonlocal known
        values = getattr(pods.tables, table)
        if len(values) > len(known):
            known = np.append(known, holds(values[len(known) :])).astype(bool)
        found: BoolArray = known[getattr(pods, column)[rows]]
        return found

    return PodColumn(pods, compute)


def _lengthened(values: npt.NDArray[Scalar], count: int) -> npt.NDArray[Scalar]:
    """The values with room for ``count`` pods and some more."""
    longer: npt.NDArray[Scalar] = np.zeros((count + count // 8, *values.shape[1:]), dtype=values.dtype)
    longer[: len(values)] = values
    return longer
