"""From wire pods to columns, a page at a time.

The store takes what it needs of each page and keeps no wire object: numbers go into columns, shared parts are looked
up by their bytes. Only texts that were never seen before are decoded, while the page's pods are still at hand to be
named in an error.

A pod that is given again gets a new row, which counts from then on. Rows that no longer count, and the texts that only
they needed, are dropped when there are more of them than of the others: what is kept does not grow with time.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from restow.cluster import pod_parts
from restow.cluster.interning import IdArray, IntArray, by_appearance
from restow.cluster.pod_order import Key, KeyOrder
from restow.cluster.pod_parts import Held, decode_held
from restow.cluster.pod_reading import flags_of, keys_of, qos_code, times_of
from restow.cluster.pod_values import PHASES, ContainerResources, Flag, Phase, PodNow, PodStates, PodTables
from restow.cluster.pods import NO_POD, PENDING, UNKNOWN_NODE, Pods, ranks
from restow.cluster.shared_columns import Names, SharedColumn
from restow.kube.objects import ContainerStatus, Pod

#: The columns whose numbers are those of names.
_NAMES = ("namespace", "node", "nominated")
#: As a plain number, which is compared five times as fast as a flag.
_GATED = int(Flag.STEERING_GATE)
#: Old rows that are not worth the work of dropping them.
_FEW_ROWS = 1000
#: What is read of every pod as it is, in the order of ``_row``: objects, and then numbers with their types.
_OBJECTS = ("name", "uid", "conditions")
_NUMBERS = {
    "namespace": "i",
    "node": "i",
    "nominated": "i",
    "phase": "b",
    "qos": "b",
    "priority": "q",
    "has_priority": "b",
    "flags": "h",
}


class SharedRows(NamedTuple):
    """One column of identifiers, and the keys that its identifiers stand for."""

    keys: list[Any]
    ids: array[int]


class ReadPods(NamedTuple):
    """What a store has read: a row for each pod that it was given."""

    #: By their names, ``_OBJECTS`` and ``_NUMBERS``.
    columns: dict[str, list[Any]]
    numbers: dict[str, array[int]]
    #: The names that numbers of ``_NAMES`` stand for.
    names: list[str]
    shared: list[SharedRows]
    created: array[int]
    started: array[int]


class PodStore:
    """Collects pods; ``columns`` gives them in canonical order."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in _OBJECTS}
        self._numbers = {name: array(code) for name, code in _NUMBERS.items()}
        self._shared = {name: SharedColumn(decode) for name, decode in _SHARED.items()}
        self._created = array("q")
        self._started = array("q")
        #: The row that counts, by namespace and name.
        self._last: dict[Key, int] = {}
        self._order = KeyOrder(self._last, self._columns)
        #: Names of namespaces and nodes; columns have their numbers.
        self._names = Names()
        #: The pods that name each owner (a uid); made when it is asked for, and kept up to date from then on.
        self._by_owner: defaultdict[Key, set[Key]] | None = None
        #: The pods that wait behind the gate of steering.
        self._gated: set[Key] = set()

    def __len__(self) -> int:
        return len(self._last)

    def keys(self) -> Collection[Key]:
        """Namespace and name of the pods."""
        return self._last.keys()

    def add(self, pods: Sequence[Pod]) -> int:
        """Add a page of pods, of which the last of one name counts; returns how many replace one that was there.

        InputError names the first pod with a part that cannot be read, OutOfRangeError says which amount is beyond
        int64; after any exception nothing of the page was taken.
        """
        if not pods:
            return 0
        created = times_of("metadata.creationTimestamp", [pod.metadata.creation_timestamp for pod in pods], pods)
        started = times_of("status.startTime", [pod.status.start_time for pod in pods], pods)
        rows = [self._row(pod) for pod in pods]
        keys = zip(*map(keys_of, pods), strict=True)
        identifiers = [shared.identify(each, pods) for shared, each in zip(self._shared.values(), keys, strict=True)]
        for shared, ids in zip(self._shared.values(), identifiers, strict=True):
            shared.ids.extend(ids)
        self._created.frombytes(created.tobytes())
        self._started.frombytes(started.tobytes())
        namespaces, *given = zip(*rows, strict=True)
        return self._append(namespaces, given)

    def rows(self) -> ReadPods:
        """All that was read, for ``absorb``."""
        shared = [SharedRows(each.keys(), each.ids) for each in self._shared.values()]
        return ReadPods(self._columns, self._numbers, self._names.known, shared, self._created, self._started)

    def absorb(self, rows: ReadPods) -> int:
        """Add the rows of another store, in their order; returns what ``add`` returns."""
        for column, part in zip(self._shared.values(), rows.shared, strict=True):
            column.absorb(part.keys, part.ids)
        self._created.extend(rows.created)
        self._started.extend(rows.started)
        known = np.array([self._names[each] for each in rows.names], dtype=np.int32)
        numbers = rows.numbers | {each: array("i", known[np.array(rows.numbers[each])].tobytes()) for each in _NAMES}
        namespaces = [rows.names[each] for each in rows.numbers["namespace"]]
        return self._append(namespaces, (*rows.columns.values(), *numbers.values()))

    def remove(self, namespace: str, name: str) -> None:
        """Forget a pod; one that is not there is no error."""
        self._disown((namespace, name))
        self._gated.discard((namespace, name))
        self._last.pop((namespace, name), None)
        self._order.touch((namespace, name))
        self._drop_old_rows()

    def _append(self, namespaces: Sequence[str], given: Sequence[Sequence[Any]]) -> int:
        """Take rows, given as their values of ``_OBJECTS`` and ``_NUMBERS``."""
        first, before = len(self._columns["name"]), len(self._last)
        for column, values in zip((*self._columns.values(), *self._numbers.values()), given, strict=True):
            column.extend(values)
        keys = list(zip(namespaces, given[0], strict=True))
        for key in keys if self._by_owner is not None else ():
            self._disown(key)
        self._last.update(zip(keys, range(first, first + len(keys)), strict=True))
        for key in keys if self._by_owner is not None else ():
            self._own(key)
        for key, flags in zip(keys, given[-1], strict=True):
            self._order.touch(key)
            if flags & _GATED:
                self._gated.add(key)
            elif self._gated:
                self._gated.discard(key)
        replaced = before + len(keys) - len(self._last)
        if replaced:
            self._drop_old_rows()
        return replaced

    def _drop_old_rows(self) -> None:
        rows, count = len(self._columns["name"]), len(self._last)
        if rows <= count + count // 4 + _FEW_ROWS:
            return
        kept = list(self._last.values())
        order = np.array(kept, dtype=np.int64)
        for name, column in self._columns.items():
            self._columns[name] = [column[row] for row in kept]
        for name, numbers in self._numbers.items():
            self._numbers[name] = array(numbers.typecode, np.array(numbers)[order].tobytes())
        for shared in self._shared.values():
            shared.keep(order)
        self._created = array("q", np.array(self._created)[order].tobytes())
        self._started = array("q", np.array(self._started)[order].tobytes())
        self._last = dict(zip(self._last, range(count), strict=True))
        self._order.renumber(self._last, self._columns)
        self._drop_old_names()

    def _drop_old_names(self) -> None:
        known, self._names = self._names.known, Names()
        for name in _NAMES:
            self._numbers[name] = array("i", [self._names[known[each]] for each in self._numbers[name]])

    def _row(self, pod: Pod) -> tuple[Any, ...]:
        """The namespace of one pod, and its values of ``_OBJECTS`` and ``_NUMBERS``."""
        meta, spec, status, names = pod.metadata, pod.spec, pod.status, self._names
        return (
            meta.namespace,
            meta.name,
            meta.uid,
            status.conditions or (),
            names[meta.namespace],
            names[spec.node_name or ""],
            names[status.nominated_node_name or ""],
            PHASES.get(status.phase, Phase.UNKNOWN),
            qos_code(status.qos_class),
            spec.priority or 0,
            spec.priority is not None,
            flags_of(pod),
        )

    def pod(self, namespace: str, name: str) -> PodNow | None:
        """A pod as it is now; None if there is none."""
        row = self._last.get((namespace, name))
        return None if row is None else self._now(row)

    def values(self, namespace: str, name: str) -> dict[str, Any] | None:
        """What there is of a pod for each column of ``Pods``, with values and names for identifiers; None if there is none."""
        row = self._last.get((namespace, name))
        if row is None:
            return None
        found: dict[str, Any] = {each: column[row] for each, column in self._columns.items()}
        found |= {each: numbers[row] for each, numbers in self._numbers.items()}
        found |= {each: shared.values[shared.ids[row]] for each, shared in self._shared.items()}
        found |= {each: self._names.known[found[each]] for each in _NAMES}
        if found["qos"] < 0:
            found["qos"] = found["resources"].qos
        return found | {
            "names": found.pop("name"),
            "uids": found.pop("uid"),
            "created": self._created[row],
            "started": self._started[row],
        }

    def pods_of(self, namespace: str, owner: str) -> list[PodNow]:
        """The pods of a namespace that name an owner (a uid), in canonical order."""
        if self._by_owner is None:
            self._by_owner = defaultdict(set)
            for key in self._last:
                self._own(key)
        return [self._now(self._last[key]) for key in sorted(self._by_owner.get((namespace, owner), ()))]

    def gated(self) -> list[PodNow]:
        """The pods that wait behind the gate of steering, in canonical order."""
        return [self._now(self._last[key]) for key in sorted(self._gated)]

    def _own(self, key: Key) -> None:
        """Enter a pod with its owners."""
        if self._by_owner is not None:
            for owner in self._owners(key):
                self._by_owner[owner].add(key)

    def _disown(self, key: Key) -> None:
        """Strike a pod off, if it is there."""
        if self._by_owner is not None and key in self._last:
            for owner in self._owners(key):
                self._by_owner[owner].discard(key)
                if not self._by_owner[owner]:
                    del self._by_owner[owner]

    def _owners(self, key: Key) -> set[Key]:
        """Namespace and uid of a pod's owners: a pod of another namespace may name any uid, and is none of theirs."""
        owners = self._shared["owners"]
        return {(key[0], each.uid) for each in owners.values[owners.ids[self._last[key]]]}

    def _now(self, row: int) -> PodNow:
        columns, numbers, owners = self._columns, self._numbers, self._shared["owners"]
        labels, marks = self._shared["labels"], self._shared["group_marks"]
        vetoes = self._shared["vetoes"]
        return PodNow(
            namespace=self._names.known[numbers["namespace"][row]],
            name=columns["name"][row],
            uid=columns["uid"][row],
            node=self._names.known[numbers["node"][row]] or None,
            phase=Phase(numbers["phase"][row]),
            flags=Flag(numbers["flags"][row]),
            owners=owners.values[owners.ids[row]],
            conditions=columns["conditions"][row],
            created=self._created[row],
            labels=labels.values[labels.ids[row]],
            group_marks=marks.values[marks.ids[row]],
            started=self._started[row],
            vetoes=vetoes.values[vetoes.ids[row]],
        )

    def columns(self, nodes: Mapping[str, int], without: Collection[Key] = ()) -> Pods:
        """The pods as they are now, sorted by (namespace, name); ``nodes`` gives the index of each node.

        ``without`` are pods to leave out.
        """
        order, objects = self._order.rows(), {name: self._order.column(name) for name in _OBJECTS}
        if without:
            kept = [at for at, row in enumerate(order.tolist()) if self._key(row) not in without]
            order = order[kept]
            objects = {name: [each[at] for at in kept] for name, each in objects.items()}
        numbers = {name: np.array(each)[order] for name, each in self._numbers.items()}
        namespaces, named = by_appearance(numbers["namespace"])
        shared = {name: each.column(order) for name, each in self._shared.items()}
        shared["held"] = _without_usual(*shared["held"])
        known = self._names.known
        at, unknown_nodes = _places(known, nodes, numbers["node"], numbers["nominated"])
        return Pods(
            names=objects["name"],
            uids=objects["uid"],
            namespace=namespaces,
            node=at[numbers["node"]],
            nominated=at[numbers["nominated"]],
            phase=numbers["phase"],
            qos=_qos(*shared["resources"], numbers["qos"]),
            priority=numbers["priority"],
            has_priority=numbers["has_priority"].astype(bool),
            created=np.array(self._created, dtype=np.int64)[order],
            started=np.array(self._started, dtype=np.int64)[order],
            flags=numbers["flags"],
            replaces=np.full(len(order), NO_POD, dtype=np.int32),
            replaced_by=np.full(len(order), NO_POD, dtype=np.int32),
            rank=ranks(len(order)),
            # Their times make those of every pod different.
            conditions=np.arange(len(order), dtype=np.int32),
            tables=PodTables(
                namespaces=[known[each] for each in named],
                conditions=objects["conditions"],
                **{name: table for name, (_, table) in shared.items()},
            ),
            unknown_nodes=unknown_nodes,
            **{name: ids for name, (ids, _) in shared.items()},
        )

    def _key(self, row: int) -> Key:
        return self._names.known[self._numbers["namespace"][row]], self._columns["name"][row]


def _places(known: Sequence[str], nodes: Mapping[str, int], *used: IntArray) -> tuple[IdArray, list[str]]:
    """What stands for each name in the columns of nodes, and the names used there of nodes that are not there, in order."""
    at = np.array([nodes.get(name, UNKNOWN_NODE) if name else PENDING for name in known], dtype=np.int32)
    is_used = np.zeros(len(known), dtype=bool)
    for numbers in used:
        is_used[numbers] = True
    unknown = sorted(np.flatnonzero(is_used & (at == UNKNOWN_NODE)).tolist(), key=known.__getitem__)
    at[unknown] = UNKNOWN_NODE - np.arange(len(unknown))
    return at, [known[each] for each in unknown]


def _qos(resources: IdArray, table: Sequence[ContainerResources], stated: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """The class that the status states, or that the containers imply."""
    implied = np.array([each.qos for each in table], dtype=np.int8)
    return np.where(stated >= 0, stated, implied[resources])


def _decode_states(key: tuple[Any, ...]) -> PodStates:
    phase, reason, *containers = key
    return PodStates(phase, reason, *(tuple(starmap(ContainerStatus, each)) for each in containers))


def _without_usual(ids: IdArray, table: list[Held | None]) -> tuple[IdArray, list[Held]]:
    """What pods hold, with -1 for those that hold what they request."""
    kept = [identifier for identifier, held in enumerate(table) if held is not None]
    renumbered = np.full(len(table) + 1, -1, dtype=np.int32)
    renumbered[kept] = np.arange(len(kept))
    return renumbered[ids], [held for held in table if held is not None]


def _itself(key: Any) -> Any:
    return key


#: What each shared part decodes to from the key that is interned, in the order of ``_keys``.
_SHARED: dict[str, Callable[[Any], Any]] = {
    "labels": pod_parts.decode_labels,
    "owners": pod_parts.decode_owners,
    "resources": pod_parts.decode_resources,
    "held": decode_held,
    "tolerations": pod_parts.decode_tolerations,
    "rules": pod_parts.decode_rules,
    "spread": pod_parts.decode_spread,
    "images": _itself,
    "init_images": _itself,
    "volume_images": _itself,
    "ports": pod_parts.decode_ports,
    "schedulers": _itself,
    "gates": pod_parts.decode_gates,
    "group_marks": _itself,
    "volumes": _itself,
    "claims": _itself,
    "origins": _itself,
    "vetoes": _itself,
    "states": _decode_states,
}
