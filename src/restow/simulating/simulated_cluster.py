"""The objects of a store as one state, for schedulers and deschedulers.

Every pod is a row of one ``ClusterState`` as long as it exists, and so is every node; objects of the other kinds that
decisions read are kept with them. What schedulers keep of a state follows pods and nodes; when other objects change,
and when a state has a long history, they have to start over: then ``epoch`` changes.

Pods of one template differ in name, uid, times and status. What they share is read once for each distinct text, the way
a dump is read; then a row is that with the pod's own values.
"""

from __future__ import annotations

from collections.abc import Hashable
from copy import copy
from functools import lru_cache
from typing import Any, Final

import msgspec

from restow.cluster.node_store import node_columns, node_index, read_node
from restow.cluster.pod_store import PodStore
from restow.cluster.pod_values import NO_TIME, PHASES, Flag, Phase, PodStates
from restow.cluster.pods import PodRow
from restow.cluster.snapshot import TEMPLATED, ClusterSnapshot, Key, with_templates
from restow.cluster.state import ClusterState
from restow.kube import objects
from restow.kube.manifests import Manifest, Metadata, Pod, PodDisruptionBudget, StatefulSet, document_of
from restow.kube.objects import DEVICE_KINDS, KINDS
from restow.kube.timestamps import parse_time
from restow.scheduling.cycle.pod_rows import PodRowBuilder
from restow.simulating.api_server.indexes import key_of
from restow.simulating.api_server.store import ObjectEvent, Store

#: How many texts of pods are remembered.
_CAPACITY: Final = 100_000


class PodRows:
    """The rows of pods for one state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._pods = state.cluster.pods
        self._builder = PodRowBuilder(state)
        self._known: dict[Hashable, PodRow] = {}

    def on_fork(self, state: ClusterState) -> PodRows:
        """The same rows for a fork of the state."""
        rows = PodRows(state)
        rows._known = dict(self._known)
        return rows

    def of(self, pod: Pod) -> PodRow:
        """The row of a pod."""
        key = _shared(pod)
        row = self._known.get(key)
        if row is None:
            if len(self._known) > _CAPACITY:
                self._known.clear()
            row = self._known[key] = self._read(pod)
        return row | {"names": pod.metadata.name} | self._own(pod, int(row["flags"]))

    def changed(self, row: int, old: Pod, new: Pod) -> PodRow:
        """What may have changed of the row of a pod of which only node and status have, and whether it terminates."""
        found = self._placed(new, int(self._pods.flags[row]) & ~int(Flag.TERMINATING))
        return found if new.status is old.status else found | self._reported(new)

    def _own(self, pod: Pod, flags: int) -> PodRow:
        """What no other pod has to have."""
        named = {"uids": pod.metadata.uid, "created": time_of(pod.metadata.creation_timestamp)}
        return named | self._placed(pod, flags) | self._reported(pod)

    def _placed(self, pod: Pod, flags: int) -> PodRow:
        terminating = int(Flag.TERMINATING) if pod.metadata.is_terminating else 0
        return {"node": self._state.node_called(pod.node), "flags": flags | terminating}

    def _reported(self, pod: Pod) -> PodRow:
        status = pod.status
        return {
            "nominated": self._state.node_called(status.nominated_node_name or ""),
            "started": time_of(status.start_time),
            "phase": PHASES.get(status.phase, Phase.UNKNOWN),
            "states": self._pods.intern("states", _states(pod)),
            "conditions": self._pods.intern("conditions", status.conditions or ()),
        }

    def _read(self, pod: Pod) -> PodRow:
        """The row of a pod, read as one of a dump."""
        document = {"metadata": pod.metadata, "spec": {**pod.spec, "nodeName": None}, "status": {}}
        store = PodStore()
        store.add([msgspec.json.decode(msgspec.json.encode(document), type=objects.Pod)])
        values = store.values(pod.metadata.namespace, pod.metadata.name)
        assert values is not None
        row = self._builder.of(values)
        return row | {"flags": int(row["flags"]) & ~int(Flag.TERMINATING)}


def same_but_for_status(old: Pod, new: Pod) -> bool:
    """Whether of a pod only node and status have changed, and whether it terminates."""
    return _as_given(old.metadata) == _as_given(new.metadata) and (
        old.spec is new.spec or {**old.spec, "nodeName": new.node} == {**new.spec, "nodeName": new.node}
    )


def _as_given(metadata: Metadata) -> tuple[object, ...]:
    return metadata.uid, metadata.labels, metadata.annotations, metadata.owner_references


def _shared(pod: Pod) -> Hashable:
    """What makes pods alike: all that is read of them but names, times, node and status."""
    spec = {name: value for name, value in pod.spec.items() if name != "nodeName"}
    # The claim of a generic ephemeral volume is named after its pod.
    own = pod.metadata.name if any("ephemeral" in each for each in spec.get("volumes") or ()) else ""
    metadata = pod.metadata.labels, pod.metadata.annotations, pod.metadata.owner_references
    as_created = bool(pod.metadata.generation) and pod.metadata.generation - pod.metadata.is_terminating
    return pod.metadata.namespace, own, as_created, msgspec.json.encode((metadata, spec))


def _states(pod: Pod) -> PodStates:
    containers = (
        objects.ContainerStatus(each.restart_count, each.state) for each in pod.status.container_statuses or ()
    )
    return PodStates(pod.status.phase, pod.status.reason or "", tuple(containers), (), ())


@lru_cache(maxsize=4096)
def time_of(text: str | None) -> int:
    """Nanoseconds since the epoch of a time as objects have it; NO_TIME where there is none."""
    return NO_TIME if text is None else parse_time(text)


#: Kinds of whose status decisions read nothing, or the revisions only.
_SPEC_ONLY: Final = frozenset(
    ("ReplicaSet", "ReplicationController", "Deployment", "StatefulSet", "DaemonSet", "CronJob", "Namespace")
)
#: Kinds of which schedulers keep what they have read.
_KEPT: Final = frozenset(
    (
        "Namespace",
        "Service",
        "PersistentVolume",
        "PersistentVolumeClaim",
        "StorageClass",
        "CSINode",
        "CSIDriver",
        "CSIStorageCapacity",
        "VolumeAttachment",
    )
)
#: The kinds that schedulers see besides nodes and pods. No actor makes claims of devices from templates here, or gives
#: devices to them, so pods that have any are left pending.
_OTHERS: Final = tuple(kind for kind in KINDS if kind not in ("Node", "Pod", *DEVICE_KINDS))
#: After this many changes the state goes on without its past.
_LONGEST_PAST: Final = 500_000


class SimulatedCluster:
    """The state of a store's objects, kept up to date."""

    def __init__(self, store: Store, minor: int | None = None, *, longest_past: int = _LONGEST_PAST) -> None:
        self._store = store
        self._minor = minor
        self._longest_past = longest_past
        #: Changes each time what schedulers keep of the state becomes useless.
        self.epoch = 0
        #: How many changes of objects there were.
        self.revision = 0
        #: The row of each pod.
        self._row_of: dict[Key, int] = {}
        self._begin()
        store.subscribe_all(self.on_event)

    def _begin(self) -> None:
        """Make the state of all objects."""
        nodes = {each.metadata.name: read_node(as_read("Node", each)) for each in self._store.list("Node")}
        index = node_index(nodes)
        others: dict[str, dict[Key, Any]] = {kind: {} for kind in _OTHERS}
        for kind, known in others.items():
            known.update((key_of(each), as_read(kind, each)) for each in sorted(self._store.list(kind), key=key_of))
        columns = node_columns(nodes, index, ()), PodStore().columns(index)
        self.state = ClusterState(ClusterSnapshot(*columns, others, server_minor=self._minor))
        self._rows = PodRows(self.state)
        pods = sorted(self._store.list("Pod"), key=key_of)
        self._row_of = {key_of(each): self.state.create(self._rows.of(each)) for each in pods}
        self.state.commit()
        self.epoch += 1

    def fork(self) -> SimulatedCluster:
        """The same cluster as a state of its own, which nothing keeps up to date."""
        fork = copy(self)
        fork._row_of = dict(self._row_of)  # noqa: SLF001  of the same class
        fork._use(self.state.fork())  # noqa: SLF001
        return fork

    def _use(self, state: ClusterState) -> None:
        """Go on with a fork of the state, whose rows are the same."""
        self.state, self._rows = state, self._rows.on_fork(state)
        self.epoch += 1

    def row(self, namespace: str, name: str) -> int:
        """The row of a pod, which must be there."""
        return self._row_of[namespace, name]

    def pod(self, row: int) -> Pod:
        """The pod of a row."""
        pods = self.state.cluster.pods
        found: Pod = self._store.get("Pod", pods.tables.namespaces[pods.namespace[row]], pods.names[row])
        return found

    def on_event(self, event: ObjectEvent) -> None:
        """Take in a change of an object, as it is now in the store."""
        self.revision += 1
        if event.kind == "Pod":
            self._on_pod_event(event)
        elif event.kind == "Node":
            self._on_node_event(event)
        elif event.kind in _OTHERS:
            self._on_other_event(event)
        self.state.commit()
        if len(self.state.changes) + len(self.state.births) > self._longest_past:
            self._use(self.state.without_past())

    def _on_node_event(self, event: ObjectEvent) -> None:
        state, index = self.state, self.state.cluster.nodes.index
        if event.new is None:
            state.delete_node(index[event.old.metadata.name])
            return
        row = read_node(as_read("Node", event.new)).row
        if row.name in index:
            state.update_node(index[row.name], row)
        else:
            state.create_node(row)

    def _on_pod_event(self, event: ObjectEvent) -> None:
        state, old, new = self.state, event.old, event.new
        if new is None:
            state.delete(self._row_of.pop(key_of(old)))
        elif old is None:
            self._row_of[key_of(new)] = state.create(self._rows.of(new))
        else:
            row = self._row_of[key_of(new)]
            if same_but_for_status(old, new):
                state.update(row, self._rows.changed(row, old, new))
            else:
                state.update(row, self._rows.of(new))

    def _on_other_event(self, event: ObjectEvent) -> None:
        state, old, new = self.state, event.old, event.new
        if old is not None and new is not None and event.kind in _SPEC_ONLY and _relevant(old) == _relevant(new):
            return
        state.put(event.kind, key_of(new or old), None if new is None else as_read(event.kind, new))
        if event.kind in _KEPT:
            state.dismiss_followers()
            self.epoch += 1


class TrailingCluster:
    """A cluster as a state of its own, brought up to date when it is asked for: what is tried there is seen nowhere else.

    Much that happens in between has come and gone by then, and is never taken in.
    """

    def __init__(self, store: Store, cluster: SimulatedCluster) -> None:
        self._store = store
        self._cluster = cluster.fork()
        #: The objects that have changed, as the state has them.
        self._outdated: dict[tuple[str, Key], Any] = {}
        store.subscribe_all(self._note)

    def caught_up(self) -> SimulatedCluster:
        """The cluster as it is now."""
        outdated, self._outdated = self._outdated, {}
        for (kind, key), old in outdated.items():
            new = self._store.get(kind, *key)
            if new is not old:
                self._cluster.on_event(ObjectEvent(kind, old, new))
        return self._cluster

    def _note(self, event: ObjectEvent) -> None:
        self._outdated.setdefault((event.kind, key_of(event.new or event.old)), event.old)


def as_read(kind: str, manifest: Manifest) -> Any:
    """An object as decisions read it."""
    if isinstance(manifest, PodDisruptionBudget):
        metadata = objects.ObjectMeta(manifest.metadata.name, manifest.metadata.namespace, manifest.metadata.uid)
        return objects.PodDisruptionBudget(metadata, manifest.spec, manifest.status)
    if kind in TEMPLATED or kind == "ControllerRevision":
        # Parts of templates are kept as texts, which only a decoder of texts makes.
        read = msgspec.json.decode(msgspec.json.encode(document_of(manifest)), type=KINDS[kind])
        return with_templates(kind, (read,))[0]
    return msgspec.convert(document_of(manifest), KINDS[kind])


def _relevant(manifest: Any) -> tuple[Any, ...]:
    """What decisions read of an object of which they read no status."""
    metadata = manifest.metadata
    spec = getattr(manifest, "spec", None)
    revisions = (
        (manifest.status.current_revision, manifest.status.update_revision)
        if isinstance(manifest, StatefulSet)
        else None
    )
    return (
        metadata.labels,
        metadata.annotations,
        metadata.owner_references,
        metadata.deletion_timestamp,
        spec,
        revisions,
    )
