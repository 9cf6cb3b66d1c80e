"""Values derived from the pods' columns: kept for every pod, and recomputed for those whose row is written.

A ``PodColumn`` holds one value a pod, ``PodGroups`` the pods that are alike in some columns, a ``PodIndex`` the pods by
keys. All of them catch up when they are asked, in time proportional to the rows that were written since. As long as
none is, ``values`` is an attribute like any other: there is one for each rule, and each is asked about every pod.

Pods come while a plan is made, so all data that outlives one move and has an entry for each pod is one of these, or
asks one of them. An array that was computed once lacks the pods that came since. Rows that no pod has had yet
(``Pods.used``) have no value: no rule is asked about them.

Of labels, groups may count only what selectors see (``MentionedLabels``): a label whose key no selector mentions makes
no difference to any rule. The name of a StatefulSet's pod and the index of a Job's are such; without them replicas are
alike. New pods may bring selectors of their own, so more keys may be mentioned later; pods that were distinct by then
stay distinct.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IdArray, IntArray, Interner, combine
from restow.cluster.pods import Pods
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.objects import LabelSelector, PodAffinityTerm, TopologySpreadConstraint

#: Kinds whose selector is a LabelSelector, and kinds whose selector is a plain map.
_SELECTING = ("PodDisruptionBudget", "ReplicaSet", "StatefulSet")
_MAPPING = ("Service", "ReplicationController")
#: What is kept of a value for which it was not asked whether something holds.
_NOT_ASKED: Final = np.int8(-1)
#: Asking a column about few pods takes as long as finding the values of so many among all.
_A_QUESTION: Final = 1_000
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
            selector = each.spec.selector
            # Most selectors have the keys of others.
            if selector is not None and (
                selector.match_expressions or not keys.issuperset(selector.match_labels or ())
            ):
                keys.update(_selector_keys(selector))
    for kind in _MAPPING:
        for each in cluster.kind(kind).values():
            keys.update(each.spec.selector or ())
    return keys


def _selector_keys(selector: LabelSelector | None) -> list[str]:
    if selector is None:
        return []
    return [*(selector.match_labels or ()), *[each.key for each in selector.match_expressions or ()]]


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
        #: Of how many pods the values could have been found meanwhile.
        self._spent = 0

    def at(self, pods: IntArray) -> npt.NDArray[Scalar]:
        """The values of some pods: of few, they are found without those of all pods, as long as that takes less time."""
        if self._known is None:
            self._spent += _A_QUESTION + len(pods)
            if self._spent < self._pods.used:
                return self.of(pods)
        return self.values[pods]

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


class PodUids(_Follower):
    """The pods by their uids.

    Files may have several pods with one uid, or without any; pods that come later have uids of their own.
    """

    def __init__(self, pods: Pods) -> None:
        super().__init__(pods)
        self._uids = pods.uids[: pods.used]
        self._row_of = {uid: row for row, uid in enumerate(self._uids)}
        #: Whether several pods had one uid at first: then all are looked through.
        self._are_ambiguous = len(self._row_of) < len(self._uids)

    def rows(self, uids: Collection[str]) -> list[int]:
        """The rows of all pods that have one of some uids, whether they exist or not."""
        self._catch_up()
        if self._are_ambiguous:
            return [row for row, uid in enumerate(self._uids) if uid in uids]
        return sorted(row for row in map(self._row_of.get, uids) if row is not None)

    def _catch_up(self) -> None:
        for row in self._new_rows():
            uid = self._pods.uids[row]
            if row == len(self._uids):
                self._uids.append(uid)
            elif self._row_of.get(self._uids[row]) == row:
                del self._row_of[self._uids[row]]
            self._uids[row], self._row_of[uid] = uid, row


def by_value(
    pods: Pods, column: str, table: str, holds: Callable[[Sequence[Any]], Sequence[bool]]
) -> PodColumn[np.bool_]:
    """Whether something holds for the value that each pod has in a column; asked once for each value of the table."""
    known = np.zeros(0, dtype=np.int8)

    def compute(rows: IntArray) -> BoolArray:
        nonlocal known
        values = getattr(pods.tables, table)
        if len(values) > len(known):
            known = np.append(known, np.full(len(values) - len(known), _NOT_ASKED))
        identifiers = getattr(pods, column)[rows]
        found = known[identifiers]
        if (found == _NOT_ASKED).any():
            is_new = np.zeros(len(known), dtype=bool)
            is_new[identifiers[found == _NOT_ASKED]] = True
            new = np.flatnonzero(is_new)
            known[new] = np.array(holds([values[each] for each in new.tolist()]), dtype=bool)
            found = known[identifiers]
        holding: BoolArray = found.astype(bool)
        return holding

    return PodColumn(pods, compute)


def _lengthened(values: npt.NDArray[Scalar], count: int) -> npt.NDArray[Scalar]:
    """The values with room for ``count`` pods and some more."""
    longer: npt.NDArray[Scalar] = np.zeros((count + count // 8, *values.shape[1:]), dtype=values.dtype)
    longer[: len(values)] = values
    return longer
