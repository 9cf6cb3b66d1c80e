"""From wire pods to columns, a page at a time.

The intake takes what it needs of each page and keeps no wire object: numbers go into columns, shared parts are looked
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
from typing import Any

import numpy as np
import numpy.typing as npt

from restow.cluster import pod_parts
from restow.cluster.interning import IdArray, Interner, by_appearance
from restow.cluster.pod_holdings import Held, decode_held
from restow.cluster.pod_reading import flags_of, keys_of, qos_code, times_of, title_of
from restow.cluster.pods import (
    NO_POD,
    PENDING,
    PHASES,
    UNKNOWN_NODE,
    ContainerResources,
    Flag,
    Phase,
    Pods,
    PodStates,
    PodTables,
    ranks,
)
from restow.cluster.pods_now import PodNow
from restow.errors import InputError
from restow.kube.objects import ContainerStatus, Pod

#: (namespace, name).
Key = tuple[str, str]
#: Old rows that are not worth the work of dropping them.
_FEW_ROWS = 1000
#: What is read of every pod as it is, in the order of ``_row``.
_COLUMNS = ("name", "namespace", "uid", "node", "nominated", "phase", "qos", "priority", "flags", "conditions")


class PodStore:
    """Collects pods; ``columns`` gives them in canonical order."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self._shared = {name: _Shared(decode) for name, decode in _SHARED.items()}
        self._created = array("q")
        self._started = array("q")
        #: The row that counts, by namespace and name.
        self._last: dict[Key, int] = {}
        #: Every namespace and node name once.
        self._names: dict[str, str] = {}
        #: The pods that name each owner (a uid); made when it is asked for, and kept up to date from then on.
        self._by_owner: defaultdict[str, set[Key]] | None = None
        #: The pods that wait behind the gate of steering.
        self._gated: set[Key] = set()

    def __len__(self) -> int:
        return len(self._last)

    def keys(self) -> Collection[Key]:
        """Namespace and name of the pods."""
        return self._last.keys()

    def add(self, pods: Sequence[Pod]) -> int:
        """Take a page of pods, of which the last of one name counts; returns how many replace one that was there.

        InputError names the first pod with a part that cannot be read, OutOfRangeError says which amount is beyond int64;
        after any exception nothing of the page was taken.
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
        return self._append(rows)

    def remove(self, namespace: str, name: str) -> None:
        """Forget a pod; one that is not there is no error."""
        self._disown((namespace, name))
        self._gated.discard((namespace, name))
        self._last.pop((namespace, name), None)
        self._drop_old_rows()

    def _append(self, rows: Sequence[tuple[Any, ...]]) -> int:
        first, before = len(self._columns["name"]), len(self._last)
        given = dict(zip(_COLUMNS, zip(*rows, strict=True), strict=True))
        for name, values in given.items():
            self._columns[name].extend(values)
        keys = list(zip(given["namespace"], given["name"], strict=True))
        for key in keys if self._by_owner is not None else ():
            self._disown(key)
        self._last.update(zip(keys, range(first, first + len(rows)), strict=True))
        for key in keys if self._by_owner is not None else ():
            self._own(key)
        for key, flags in zip(keys, given["flags"], strict=True):
            if flags & Flag.STEERING_GATE:
                self._gated.add(key)
            elif self._gated:
                self._gated.discard(key)
        replaced = before + len(rows) - len(self._last)
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
        for shared in self._shared.values():
            shared.keep(order)
        self._created = array("q", np.array(self._created)[order].tobytes())
        self._started = array("q", np.array(self._started)[order].tobytes())
        self._last = dict(zip(self._last, range(count), strict=True))
        self._names = {name: name for each in ("namespace", "node") for name in self._columns[each] if name}

    def _row(self, pod: Pod) -> tuple[Any, ...]:
        """The values of ``_COLUMNS`` for one pod."""
        meta, spec, status, names = pod.metadata, pod.spec, pod.status, self._names
        return (
            meta.name,
            names.setdefault(meta.namespace, meta.namespace),
            meta.uid,
            names.setdefault(spec.node_name, spec.node_name) if spec.node_name else None,
            status.nominated_node_name,
            PHASES.get(status.phase, Phase.UNKNOWN),
            qos_code(status.qos_class),
            spec.priority,
            flags_of(pod),
            status.conditions or (),
        )

    def pod(self, namespace: str, name: str) -> PodNow | None:
        """A pod as it is now; None if there is none."""
        row = self._last.get((namespace, name))
        return None if row is None else self._now(row)

    def pods_of(self, owner: str) -> list[PodNow]:
        """The pods that name an owner (a uid), in canonical order."""
        if self._by_owner is None:
            self._by_owner = defaultdict(set)
            for key in self._last:
                self._own(key)
        return [self._now(self._last[key]) for key in sorted(self._by_owner.get(owner, ()))]

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

    def _owners(self, key: Key) -> set[str]:
        """The uids of a pod's owners."""
        owners = self._shared["owners"]
        return {each.uid for each in owners.values[owners.ids[self._last[key]]]}

    def _now(self, row: int) -> PodNow:
        columns, owners = self._columns, self._shared["owners"]
        return PodNow(
            namespace=columns["namespace"][row],
            name=columns["name"][row],
            uid=columns["uid"][row],
            node=columns["node"][row],
            phase=Phase(columns["phase"][row]),
            flags=Flag(columns["flags"][row]),
            owners=owners.values[owners.ids[row]],
            conditions=columns["conditions"][row],
            created=self._created[row],
        )

    def columns(self, nodes: Mapping[str, int], without: Collection[Key] = ()) -> Pods:
        """The pods as they are now, sorted by (namespace, name); ``nodes`` gives the index of each node.

        ``without`` are pods to leave out.
        """
        columns = self._columns
        namespaces = columns["namespace"]
        rows = [self._last[key] for key in sorted(self._last) if key not in without]
        namespace_interner: Interner[str] = Interner()
        namespace_ids = namespace_interner.ids([namespaces[row] for row in rows])
        order = np.array(rows, dtype=np.int64)
        shared = {name: each.column(order) for name, each in self._shared.items()}
        shared["held"] = _without_usual(*shared["held"])
        return Pods(
            names=[columns["name"][row] for row in rows],
            uids=[columns["uid"][row] for row in rows],
            namespace=np.array(namespace_ids, dtype=np.int32),
            node=_nodes(columns["node"], nodes)[order],
            nominated=_nodes(columns["nominated"], nodes)[order],
            phase=_numbers(columns["phase"], np.int8, order),
            qos=_qos(*shared["resources"], _numbers(columns["qos"], np.int8, order)),
            priority=_numbers([value or 0 for value in columns["priority"]], np.int64, order),
            has_priority=_numbers([value is not None for value in columns["priority"]], np.bool_, order),
            created=np.array(self._created, dtype=np.int64)[order],
            started=np.array(self._started, dtype=np.int64)[order],
            flags=_numbers(columns["flags"], np.int16, order),
            replaces=np.full(len(rows), NO_POD, dtype=np.int32),
            replaced_by=np.full(len(rows), NO_POD, dtype=np.int32),
            rank=ranks(len(rows)),
            # Their times make those of every pod different.
            conditions=np.arange(len(rows), dtype=np.int32),
            tables=PodTables(
                namespaces=namespace_interner.keys(),
                conditions=[columns["conditions"][row] for row in rows],
                **{name: table for name, (_, table) in shared.items()},
            ),
            **{name: ids for name, (ids, _) in shared.items()},
        )


class _Shared:
    """One identifier column and the table of its distinct values."""

    def __init__(self, decode: Callable[[Any], Any]) -> None:
        self._decode = decode
        self._interner: Interner[Any] = Interner()
        self.ids = array("i")
        self.values: list[Any] = []

    def identify(self, keys: Sequence[Any], pods: Sequence[Pod]) -> list[int]:
        """The identifiers of keys; a key that cannot be decoded is forgotten again."""
        try:
            ids = self._interner.ids(keys)
            if len(self._interner) > len(self.values):
                for position, identifier in enumerate(ids):
                    if identifier == len(self.values):
                        self.values.append(self._value(keys[position], pods[position]))
        finally:
            self._interner.forget_after(len(self.values))
        return ids

    def keep(self, order: npt.NDArray[np.int64]) -> None:
        """Keep these rows, in this order, and only what they need of the table."""
        ids, kept = by_appearance(np.array(self.ids, dtype=np.int32)[order])
        keys = self._interner.keys()
        self._interner = Interner()
        self._interner.ids(keys[old] for old in kept)
        self.ids = array("i", ids.tobytes())
        self.values = [self.values[old] for old in kept]

    def column(self, order: npt.NDArray[np.int64]) -> tuple[IdArray, list[Any]]:
        """The column with its rows in this order, and its table; the input's order leaves no trace in either."""
        ids, kept = by_appearance(np.array(self.ids, dtype=np.int32)[order])
        return ids, [self.values[old] for old in kept]

    def _value(self, key: Any, pod: Pod) -> Any:
        try:
            return self._decode(key)
        except pod_parts.PartError as error:
            raise InputError(f"{title_of(pod)}: {error}") from error


def _numbers(values: list[Any], dtype: Any, order: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    numbers: npt.NDArray[Any] = np.array(values, dtype=dtype)[order]
    return numbers


def _qos(resources: IdArray, table: Sequence[ContainerResources], stated: npt.NDArray[np.int8]) -> npt.NDArray[np.int8]:
    """The class that the status states, or that the containers imply."""
    implied = np.array([each.qos for each in table], dtype=np.int8)
    return np.where(stated >= 0, stated, implied[resources])


def _nodes(names: list[str | None], nodes: Mapping[str, int]) -> IdArray:
    numbers = {name: nodes.get(name, UNKNOWN_NODE) if name else PENDING for name in set(names)}
    return np.array([numbers[name] for name in names], dtype=np.int32)


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
    "volumes": _itself,
    "states": _decode_states,
}
