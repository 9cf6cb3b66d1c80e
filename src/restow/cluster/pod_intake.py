"""From wire pods to columns, a page at a time.

The intake takes what it needs of each page and keeps no wire object: numbers go into columns, shared parts are looked
up by their bytes. Only texts that were never seen before are decoded, at the end of each page, while the page's pods
are still at hand to be named in an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from typing import Any

import numpy as np
import numpy.typing as npt

from restow.cluster import pod_parts
from restow.cluster.interning import IdArray, Interner, by_appearance
from restow.cluster.pod_holdings import Held, decode_held, held_key
from restow.cluster.pods import (
    NO_TIME,
    PENDING,
    PHASES,
    UNKNOWN_NODE,
    ContainerResources,
    Flag,
    Phase,
    Pods,
    PodStates,
    PodTables,
    PodVolume,
)
from restow.errors import InputError
from restow.kube.objects import ABSENT, Container, ContainerStatus, Pod, PodAnnotations, PodSpec, PodStatus, Volume
from restow.kube.qos import QOS_CLASSES
from restow.kube.timestamps import SECOND, parse_time

TimeArray = npt.NDArray[np.int64]

#: ``spec.schedulerName`` of pods that do not name one.
DEFAULT_SCHEDULER = "default-scheduler"

#: An RFC 3339 time in UTC without fractions; 0 stands for any digit.
_PLAIN_TIME = "0000-00-00T00:00:00Z"
#: The last second that int64 nanoseconds hold.
_LAST_SECOND = (1 << 63) // SECOND
_NO_CLAIMS = (b"", b"null", b"[]")
#: What is read of every pod as it is, in the order of ``_row``.
_COLUMNS = ("name", "namespace", "uid", "node", "nominated", "phase", "qos", "priority", "flags", "conditions")


class PodIntake:
    """Collects pods; ``finish`` gives the columns in canonical order."""

    def __init__(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self._shared = {name: _Shared(decode) for name, decode in _SHARED.items()}
        self._created: list[TimeArray] = []
        self._started: list[TimeArray] = []

    def __len__(self) -> int:
        return len(self._columns["name"])

    def add(self, pods: Sequence[Pod]) -> None:
        """Take a page of pods; InputError names the first pod with a part that cannot be read."""
        if not pods:
            return
        for column, values in zip(self._columns.values(), zip(*map(_row, pods), strict=True), strict=True):
            column.extend(values)
        for shared, keys in zip(self._shared.values(), zip(*map(_keys, pods), strict=True), strict=True):
            shared.add(keys, pods)
        self._created.append(
            _times("metadata.creationTimestamp", [pod.metadata.creation_timestamp for pod in pods], pods)
        )
        self._started.append(_times("status.startTime", [pod.status.start_time for pod in pods], pods))

    def finish(self, nodes: Mapping[str, int]) -> tuple[Pods, int]:
        """The columns, sorted by (namespace, name), and how many pods were given twice (the last one counts)."""
        columns = self._columns
        namespaces = columns["namespace"]
        keys = list(zip(namespaces, columns["name"], strict=True))
        last = dict(zip(keys, range(len(keys)), strict=True))
        rows = [last[key] for key in sorted(last)]
        namespace_interner: Interner[str] = Interner()
        namespace_ids = namespace_interner.ids([namespaces[row] for row in rows])
        order = np.array(rows, dtype=np.int64)
        shared = {name: each.column(order) for name, each in self._shared.items()}
        shared["held"] = _without_usual(*shared["held"])
        pods = Pods(
            names=tuple(columns["name"][row] for row in rows),
            uids=tuple(columns["uid"][row] for row in rows),
            namespace=np.array(namespace_ids, dtype=np.int32),
            node=_nodes(columns["node"], nodes)[order],
            nominated=_nodes(columns["nominated"], nodes)[order],
            phase=_numbers(columns["phase"], np.int8, order),
            qos=_qos(*shared["resources"], _numbers(columns["qos"], np.int8, order)),
            priority=_numbers([value or 0 for value in columns["priority"]], np.int64, order),
            has_priority=_numbers([value is not None for value in columns["priority"]], np.bool_, order),
            created=_joined(self._created)[order],
            started=_joined(self._started)[order],
            flags=_numbers(columns["flags"], np.int16, order),
            observed=np.ones(len(rows), dtype=bool),
            # Their times make those of every pod different.
            conditions=np.arange(len(rows), dtype=np.int32),
            tables=PodTables(
                namespaces=tuple(namespace_interner.keys()),
                conditions=tuple(columns["conditions"][row] for row in rows),
                **{name: table for name, (_, table) in shared.items()},
            ),
            **{name: ids for name, (ids, _) in shared.items()},
        )
        return pods, len(keys) - len(rows)


class _Shared:
    """One identifier column and the table of its distinct values."""

    def __init__(self, decode: Callable[[Any], Any]) -> None:
        self._decode = decode
        self._interner: Interner[Any] = Interner()
        self._ids: list[int] = []
        self.values: list[Any] = []

    def add(self, keys: Sequence[Any], pods: Sequence[Pod]) -> None:
        ids = self._interner.ids(keys)
        self._ids.extend(ids)
        if len(self._interner) == len(self.values):
            return
        for position, identifier in enumerate(ids):
            if identifier == len(self.values):
                self.values.append(self._value(keys[position], pods[position]))

    def column(self, order: npt.NDArray[np.int64]) -> tuple[IdArray, tuple[Any, ...]]:
        """The column with its rows in this order, and its table; the input's order leaves no trace in either."""
        ids, kept = by_appearance(np.array(self._ids, dtype=np.int32)[order])
        return ids, tuple(self.values[old] for old in kept)

    def _value(self, key: Any, pod: Pod) -> Any:
        try:
            return self._decode(key)
        except pod_parts.PartError as error:
            raise InputError(f"{_title(pod)}: {error}") from error


def _row(pod: Pod) -> tuple[Any, ...]:
    """The values of ``_COLUMNS`` for one pod."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    return (
        meta.name,
        meta.namespace,
        meta.uid,
        spec.node_name,
        status.nominated_node_name,
        PHASES.get(status.phase, Phase.UNKNOWN),
        _qos_code(status.qos_class),
        spec.priority,
        _flags(pod),
        status.conditions or (),
    )


def _keys(pod: Pod) -> tuple[Any, ...]:
    """The keys of ``_SHARED`` for one pod."""
    meta, spec, status = pod.metadata, pod.spec, pod.status
    resources = _resources_key(spec)
    return (
        bytes(meta.labels),
        bytes(meta.owner_references),
        resources,
        held_key(spec, status, resources),
        bytes(spec.tolerations),
        (bytes(spec.node_selector), bytes(spec.affinity)),
        bytes(spec.topology_spread_constraints),
        tuple([container.image for container in spec.containers]),
        tuple([container.image for container in spec.init_containers]) if spec.init_containers else (),
        tuple([volume.image.reference for volume in spec.volumes if volume.image]) if spec.volumes else (),
        _ports_key(spec),
        spec.scheduler_name or DEFAULT_SCHEDULER,
        b"" if spec.scheduling_gates is ABSENT else bytes(spec.scheduling_gates),
        _volumes(meta.name, spec.volumes) if spec.volumes else (),
        _states_key(status),
    )


def _times(field: str, texts: list[str | None], pods: Sequence[Pod]) -> TimeArray:
    """Nanoseconds since the epoch, or NO_TIME.

    Almost every time is ``2026-11-21T09:30:00Z``, which NumPy reads for a page at once; anything else is read alone.
    """
    given = [text for text in texts if text is not None]
    if _are_plain(given):
        try:
            seconds = np.array([text[:-1] for text in given], dtype="datetime64[s]").astype(np.int64)
            if np.all(np.abs(seconds) < _LAST_SECOND):
                times = np.full(len(texts), NO_TIME)
                times[[text is not None for text in texts]] = seconds * SECOND
                return times
        except ValueError:
            pass
    return np.array([_time(field, text, pod) for text, pod in zip(texts, pods, strict=True)], dtype=np.int64)


def _are_plain(texts: list[str]) -> bool:
    """Whether all texts look like ``_PLAIN_TIME``."""
    joined = "".join(texts)
    if not set(map(len, texts)) <= {len(_PLAIN_TIME)} or not joined.isascii():
        return False
    characters = np.frombuffer(joined.encode(), dtype=np.uint8).reshape(-1, len(_PLAIN_TIME))
    template = np.frombuffer(_PLAIN_TIME.encode(), dtype=np.uint8)
    is_digit = (characters >= ord("0")) & (characters <= ord("9"))
    return bool(np.where(template == ord("0"), is_digit, characters == template).all())


def _time(field: str, text: str | None, pod: Pod) -> int:
    try:
        return NO_TIME if text is None else parse_time(text)
    except ValueError as error:
        raise InputError(f"{_title(pod)}: {field}: {error}") from error


def _joined(pages: list[TimeArray]) -> TimeArray:
    return np.concatenate(pages) if pages else np.zeros(0, dtype=np.int64)


def _title(pod: Pod) -> str:
    return f"Pod {pod.metadata.namespace}/{pod.metadata.name}"


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


def _flags(pod: Pod) -> int:
    meta, spec = pod.metadata, pod.spec
    flags = _annotation_flags(meta.annotations) if meta.annotations else 0
    if meta.deletion_timestamp is not None:
        flags |= Flag.TERMINATING
    for volume in spec.volumes or ():
        if volume.host_path is not None or volume.empty_dir is not None:
            flags |= Flag.LOCAL_STORAGE
        if volume.persistent_volume_claim is not None:
            flags |= Flag.CLAIMS
    if spec.preemption_policy == "Never":
        flags |= Flag.NEVER_PREEMPTS
    if spec.resource_claims is not ABSENT and bytes(spec.resource_claims) not in _NO_CLAIMS:
        flags |= Flag.RESOURCE_CLAIMS
    return int(flags)


def _annotation_flags(annotations: PodAnnotations) -> int:
    flags = Flag(0)
    if annotations.evict is not None:
        flags |= Flag.EVICT
    if annotations.prefer_no_eviction is not None:
        flags |= Flag.PREFER_NO_EVICTION
    if annotations.mirror is not None:
        flags |= Flag.MIRROR
    if annotations.source is not None and annotations.source != "api":
        flags |= Flag.STATIC
    return flags


def _resources_key(spec: PodSpec) -> pod_parts.ResourcesKey:
    return (
        _container_keys(spec.containers),
        _container_keys(spec.init_containers) if spec.init_containers else (),
        bytes(spec.resources),
        bytes(spec.overhead),
    )


def _ports_key(spec: PodSpec) -> tuple[bytes, ...]:
    """The ports of regular containers and sidecars; ordinary init containers hold none."""
    ports = [bytes(each.ports) for each in spec.containers if each.ports is not ABSENT]
    if spec.init_containers:
        sidecars = (each for each in spec.init_containers if each.restart_policy == "Always")
        ports.extend(bytes(each.ports) for each in sidecars if each.ports is not ABSENT)
    return tuple(ports)


def _container_keys(containers: tuple[Container, ...]) -> tuple[pod_parts.ContainerKey, ...]:
    return tuple([(bytes(container.resources), container.restart_policy) for container in containers])


def _volumes(pod: str, volumes: tuple[Volume, ...]) -> tuple[PodVolume, ...]:
    return tuple([found for volume in volumes if (found := _volume(pod, volume)) is not None])


def _volume(pod: str, volume: Volume) -> PodVolume | None:
    if volume.persistent_volume_claim is not None:
        return PodVolume(volume.persistent_volume_claim.claim_name)
    if volume.ephemeral is not None:
        return PodVolume(f"{pod}-{volume.name}", ephemeral=True)
    disk = volume.gce_persistent_disk or volume.aws_elastic_block_store or volume.iscsi or volume.rbd
    return None if disk is None else PodVolume(disk=disk)


def _states_key(status: PodStatus) -> tuple[Any, ...]:
    """The fields of PodStates."""
    return (
        status.phase,
        status.reason or "",
        _states(status.container_statuses),
        _states(status.init_container_statuses),
        _states(status.ephemeral_container_statuses),
    )


def _states(statuses: Sequence[ContainerStatus] | None) -> tuple[tuple[Any, ...], ...]:
    return tuple([(each.restart_count, each.state) for each in statuses]) if statuses else ()


def _decode_states(key: tuple[Any, ...]) -> PodStates:
    phase, reason, *containers = key
    return PodStates(phase, reason, *(tuple(starmap(ContainerStatus, each)) for each in containers))


def _without_usual(ids: IdArray, table: tuple[Held | None, ...]) -> tuple[IdArray, tuple[Held, ...]]:
    """What pods hold, with -1 for those that hold what they request."""
    kept = [identifier for identifier, held in enumerate(table) if held is not None]
    renumbered = np.full(len(table) + 1, -1, dtype=np.int32)
    renumbered[kept] = np.arange(len(kept))
    return renumbered[ids], tuple(held for held in table if held is not None)


def _qos_code(stated: str | None) -> int:
    return QOS_CLASSES.index(stated) if stated in QOS_CLASSES else -1


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
