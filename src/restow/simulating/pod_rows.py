"""Pods of the store as rows of a state.

Pods of one template differ in name, uid, times and status. What they share is read once for each distinct text, the way
a dump is read; then a row is that with the pod's own values.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from functools import lru_cache

import msgspec

from restow.cluster.pod_store import PodStore
from restow.cluster.pod_values import NO_TIME, PHASES, Flag, Phase, PodStates, PodTables
from restow.cluster.pods import PodRow
from restow.cluster.state import ClusterState
from restow.kube import objects
from restow.kube.manifests import Metadata, Pod
from restow.kube.timestamps import parse_time

#: The column of each table where it has another name.
_COLUMNS = {"namespaces": "namespace"}


class PodRows:
    """The rows of pods for one state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._pods = state.cluster.pods
        self._known: dict[Hashable, PodRow] = {}

    def of(self, pod: Pod) -> PodRow:
        """The row of a pod."""
        key = _shared(pod)
        row = self._known.get(key)
        if row is None:
            row = self._known[key] = self._read(pod)
        return row | {"names": pod.metadata.name} | self._own(pod, int(row["flags"]))

    def changed(self, row: PodRow, pod: Pod) -> PodRow:
        """A row of a pod of which only node and status have changed since, and whether it terminates."""
        return row | self._own(pod, int(row["flags"]) & ~int(Flag.TERMINATING))

    def _own(self, pod: Pod, flags: int) -> PodRow:
        """What no other pod has to have."""
        status = pod.status
        return {
            "uids": pod.metadata.uid,
            "node": self._state.node_called(pod.node),
            "nominated": self._state.node_called(status.nominated_node_name or ""),
            "created": time_of(pod.metadata.creation_timestamp),
            "started": time_of(status.start_time),
            "phase": PHASES.get(status.phase, Phase.UNKNOWN),
            "states": self._pods.intern("states", _states(pod)),
            "conditions": self._pods.intern("conditions", status.conditions or ()),
            "flags": flags | (int(Flag.TERMINATING) if pod.metadata.is_terminating else 0),
        }

    def _read(self, pod: Pod) -> PodRow:
        """The row of a pod, read as one of a dump."""
        document = {"metadata": pod.metadata, "spec": {**pod.spec, "nodeName": None}, "status": {}}
        store = PodStore()
        store.add([msgspec.json.decode(msgspec.json.encode(document), type=objects.Pod)])
        read = store.columns({})
        row = read.row(0)
        for each in fields(PodTables):
            column = _COLUMNS.get(each.name, each.name)
            if row[column] >= 0:
                row[column] = self._pods.intern(each.name, getattr(read.tables, each.name)[row[column]])
        return row | {"flags": row["flags"] & ~int(Flag.TERMINATING)}


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
