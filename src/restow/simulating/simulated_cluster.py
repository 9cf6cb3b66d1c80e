"""The objects of a store as one state, for schedulers and deschedulers.

Every pod is a row of one ``ClusterState`` as long as it exists, and so is every node; objects of the other kinds that
decisions read are kept with them. What schedulers keep of a state follows pods and nodes; when other objects change,
and when a state has a long history, it has to be rebuilt: then ``epoch`` changes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from restow.cluster.node_store import node_columns, node_index, read_node
from restow.cluster.pod_store import PodStore
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.cluster.state import ClusterState
from restow.cluster.templates import TEMPLATED, with_templates
from restow.kube import objects
from restow.kube.kinds import KINDS
from restow.kube.manifests import Manifest, Pod, PodDisruptionBudget, StatefulSet
from restow.kube.manifests.documents import document_of
from restow.simulating.indexes import key_of
from restow.simulating.pod_rows import PodRows, same_but_for_status
from restow.simulating.store import ObjectEvent, Store

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
#: After this many changes the state is rebuilt.
_LONGEST_PAST: Final = 500_000


class SimulatedCluster:
    """The state of a store's objects, kept up to date."""

    def __init__(self, store: Store, longest_past: int = _LONGEST_PAST) -> None:
        self._store = store
        self._longest_past = longest_past
        #: Changes each time what schedulers keep of the state becomes useless.
        self.epoch = 0
        #: The row of each pod.
        self._row_of: dict[Key, int] = {}
        self._renew()
        store.subscribe_all(self._on_event)

    def _renew(self) -> None:
        """Rebuild the state, without its past."""
        nodes = {each.metadata.name: read_node(as_read("Node", each)) for each in self._store.list("Node")}
        index = node_index(nodes)
        others: dict[str, dict[Key, Any]] = {kind: {} for kind in KINDS if kind not in ("Node", "Pod")}
        for kind, known in others.items():
            known.update((key_of(each), as_read(kind, each)) for each in sorted(self._store.list(kind), key=key_of))
        self.state = ClusterState(ClusterSnapshot(node_columns(nodes, index, ()), PodStore().columns(index), others))
        self._rows = PodRows(self.state)
        pods = sorted(self._store.list("Pod"), key=key_of)
        self._row_of = {key_of(each): self.state.create(self._rows.of(each)) for each in pods}
        self.state.commit()
        self.epoch += 1

    def row(self, namespace: str, name: str) -> int:
        """The row of a pod, which must be there."""
        return self._row_of[namespace, name]

    def pod(self, row: int) -> Pod:
        """The pod of a row."""
        pods = self.state.cluster.pods
        found: Pod = self._store.get("Pod", pods.tables.namespaces[pods.namespace[row]], pods.names[row])
        return found

    def _on_event(self, event: ObjectEvent) -> None:
        if event.kind == "Pod":
            self._on_pod_event(event)
        elif event.kind == "Node":
            self._on_node_event(event)
        elif event.kind in KINDS:
            self._on_other_event(event)
        self.state.commit()
        if len(self.state.changes) + len(self.state.births) > self._longest_past:
            self._renew()

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
                state.update(row, self._rows.changed(state.cluster.pods.row(row), new))
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
