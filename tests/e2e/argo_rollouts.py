"""Argo Rollouts as far as restow sees it: its kind, a Rollout, and who plays its controller.

    with RolloutController(plane.admin) as argo, spread_out(plane, a_rollout("web")):
        ...
    assert min(argo.available) == 1

Each Rollout has one ReplicaSet, which gets its annotations and its number of replicas; the status tells what has become of
that, with the generation as text. Source: Argo Rollouts 1.8.
"""

from __future__ import annotations

import threading
from typing import Any, Final, Self

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.kinds import collection
from e2e.rest import Rest, name_of
from e2e.waiting import wait_until
from e2e.workloads import a_template, replica_set

KIND: Final = "Rollout"
_API: Final = "argoproj.io/v1alpha1"
_NAMESPACE: Final = "default"
#: The hash of the one template, and the label that pods and ReplicaSets have of it.
_HASH, _LABEL = "7f9c8d5b6", "rollouts-pod-template-hash"
_COUNTS: Final = ("replicas", "readyReplicas", "availableReplicas")
#: Seconds between two looks.
_LOOK: Final = 0.05


def install_kind(plane: ControlPlane) -> None:
    """Serve Rollouts, with everything that is written in them."""
    plane.admin.create(_definition())
    wait_until("Rollouts are served", lambda: plane.admin.ask("GET", collection(KIND, None)).status == 200)


def _definition() -> Object:
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.HPAReplicas"}
    version = {
        "name": "v1alpha1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
        "subresources": {"status": {}, "scale": scale},
    }
    names = {"kind": KIND, "plural": "rollouts", "singular": "rollout", "listKind": "RolloutList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "rollouts.argoproj.io"},
        "spec": {"group": "argoproj.io", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def a_rollout(name: str, replicas: int = 1, **pod: Any) -> Object:
    """A Rollout whose pods are labelled ``app: NAME``; ``pod`` are arguments of ``a_template``."""
    return {
        "apiVersion": _API,
        "kind": KIND,
        "metadata": {"name": name, "namespace": _NAMESPACE},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": a_template(name, **pod),
            "strategy": {"canary": {"steps": [{"setWeight": 20}, {"pause": {}}]}},
        },
    }


class RolloutController:
    """Plays Argo's controller until its block ends; then the Rollouts go."""

    def __init__(self, admin: Rest) -> None:
        self._admin = admin
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        #: How many pods were available, and how many there were, at each look.
        self.available: list[int] = []
        self.there: list[int] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for rollout in self._admin.items(KIND, _NAMESPACE):
            self._admin.delete(KIND, name_of(rollout))

    def _run(self) -> None:
        while not self._over.wait(_LOOK):
            for rollout in self._admin.items(KIND, _NAMESPACE):
                self._sync(rollout)

    def _sync(self, rollout: Object) -> None:
        name = f"{name_of(rollout)}-{_HASH}"
        found = self._admin.find("ReplicaSet", name)
        if found is None:
            self._admin.create(_replica_set(rollout, name))
            return
        replicas = rollout["spec"]["replicas"]
        if found["spec"]["replicas"] != replicas:
            told = {"annotations": rollout["metadata"].get("annotations", {})}
            self._admin.patch("ReplicaSet", name, {"metadata": told, "spec": {"replicas": replicas}})
        self._tell(rollout, found["status"])

    def _tell(self, rollout: Object, status: Object) -> None:
        counts = {count: status.get(count, 0) for count in _COUNTS}
        self.available.append(counts["availableReplicas"])
        self.there.append(counts["replicas"])
        hashes = {"stableRS": _HASH, "currentPodHash": _HASH}
        seen = {"observedGeneration": str(rollout["metadata"]["generation"]), "updatedReplicas": counts["replicas"]}
        if (status := counts | hashes | seen) != rollout.get("status"):
            self._admin.patch(KIND, name_of(rollout), {"status": status}, part="status")


def _replica_set(rollout: Object, name: str) -> Object:
    made, template = replica_set(name, rollout["spec"]["replicas"]), rollout["spec"]["template"]
    labels = template["metadata"]["labels"] | {_LABEL: _HASH}
    owner = {"apiVersion": _API, "kind": KIND, "name": name_of(rollout), "uid": rollout["metadata"]["uid"]}
    made["metadata"]["ownerReferences"] = [owner | {"controller": True}]
    made["spec"]["selector"] = {"matchLabels": labels}
    made["spec"]["template"] = template | {"metadata": template["metadata"] | {"labels": labels}}
    return made
