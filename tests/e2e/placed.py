"""ReplicaSets whose pods are on the nodes that a test wants, however many there are: nothing is left to the scheduler.

    place(plane, [Placed(replica_set("web", 3), ["node-1", "node-1", "node-2"])])

kube-controller-manager is stopped meanwhile, and finds the pods there when it starts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.rest import name_of
from e2e.waiting import wait_until

#: Seconds for one pod to become ready among many, on busy cores.
_SECONDS_A_POD = 0.05
_PATIENCE = 60.0


@dataclass(slots=True, frozen=True)
class Placed:
    """A ReplicaSet and the node of each of its pods, which are called NAME-0, NAME-1..."""

    replica_set: Object
    nodes: Sequence[str]


def place(plane: ControlPlane, workloads: Sequence[Placed]) -> None:
    """Creates all of them, and returns when every pod is ready and counted as ready."""
    plane.kill("kube-controller-manager")
    owners = plane.admin.create_all([each.replica_set for each in workloads])
    pods = [pod for owner, each in zip(owners, workloads, strict=True) for pod in pods_of(owner, each.nodes)]
    plane.admin.create_all(pods)
    plane.restart("kube-controller-manager")
    patience = _PATIENCE + _SECONDS_A_POD * len(pods)
    wait_until(f"{len(pods)} pods are ready", lambda: all(map(is_complete, plane.admin.items("ReplicaSet"))), patience)


def pods_of(owner: Object, nodes: Sequence[str]) -> Iterator[Object]:
    """The pods of a ReplicaSet, one on each of the nodes."""
    reference = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": name_of(owner),
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    template = owner["spec"]["template"]
    for number, node in enumerate(nodes):
        metadata = {key: template["metadata"][key] for key in ("labels", "annotations") if key in template["metadata"]}
        named = {"name": f"{name_of(owner)}-{number}", "namespace": owner["metadata"]["namespace"]}
        yield {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": metadata | named | {"ownerReferences": [reference]},
            "spec": template["spec"] | {"nodeName": node},
        }


def is_complete(replica_set: Object) -> bool:
    """Whether kube-controller-manager has counted all of its pods as ready."""
    return bool(replica_set["status"].get("readyReplicas", 0) == replica_set["spec"]["replicas"])
