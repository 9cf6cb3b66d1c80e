"""A live cluster as files that restow reads: what ``kubectl get --raw`` prints of every kind that matters."""

from __future__ import annotations

import json
from pathlib import Path

from e2e.kinds import collection
from e2e.rest import Rest

#: Everything that placements and evictions depend on.
KINDS = (
    "Node",
    "Namespace",
    "PriorityClass",
    "StorageClass",
    "PersistentVolume",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    "PersistentVolumeClaim",
    "Service",
    "ReplicationController",
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "ControllerRevision",
    "PodDisruptionBudget",
    "Pod",
)


def write_snapshot(rest: Rest, directory: Path) -> Path:
    """Writes a file for each kind, so that it is told too of which there are none; returns the directory.

    Each list is consistent: it holds all that was written before.
    """
    directory.mkdir(exist_ok=True)
    lists = rest.together(rest.call, [("GET", collection(kind, None)) for kind in KINDS])
    for kind, found in zip(KINDS, lists, strict=True):
        (directory / f"{kind}.json").write_text(json.dumps(found))
    return directory
