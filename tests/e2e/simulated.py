"""One cluster twice: on the real control plane and simulated, and what of the two must be equal.

Names that the two generate differently (hashes of templates, suffixes) are left out; what counts is how many there are of
what, what they are made of, and what is reported of them.
"""

from __future__ import annotations

from typing import Any

from builders import Object, a_node
from e2e.control_plane import ControlPlane
from e2e.rest import RefusedError
from restow.kube.manifests import document_of, manifest_of
from restow.kube.timestamps import SECOND
from restow.simulating.actors import start_actors
from restow.simulating.kubelets import EXIT_CODE, READY_DELAY, RUN_FOR, KubeletSettings
from restow.simulating.virtual_cluster import VirtualCluster

_START = 1_767_225_600 * SECOND
#: As kwok plays the kubelets: everything happens at once.
_AT_ONCE = KubeletSettings(start=0, ready=0, run=0, delete=0)
_REVISION = "deployment.kubernetes.io/revision"
_COUNTS = {
    "Deployment": ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "observedGeneration"),
    "ReplicaSet": ("replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"),
    "ReplicationController": ("replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"),
    "StatefulSet": ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "currentReplicas"),
    "DaemonSet": (
        "currentNumberScheduled",
        "desiredNumberScheduled",
        "numberReady",
        "numberAvailable",
        "updatedNumberScheduled",
        "numberMisscheduled",
    ),
    "Job": ("active", "succeeded", "failed", "ready", "terminating"),
    "PodDisruptionBudget": ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"),
}
_REASONED = frozenset(
    ("Complete", "Failed", "SuccessCriteriaMet", "FailureTarget", "Available", "Progressing", "Suspended")
)


class Both:
    """The same manifests in a namespace of the real control plane and in a simulation of so many nodes."""

    def __init__(self, plane: ControlPlane, namespace: str, nodes: int) -> None:
        self._admin, self._namespace = plane.admin, namespace
        self.simulation = VirtualCluster.at(_START, seed=1)
        start_actors(self.simulation, kubelet_settings=_AT_ONCE)
        for number in range(nodes):
            self.simulation.store.load(manifest_of(a_node(f"node-{number}", cpu="32", memory="64Gi")))

    def apply(self, document: Object) -> None:
        """An object comes, or changes to this."""
        self.simulation.store.apply(manifest_of(document))
        kind, name = document["kind"], document["metadata"]["name"]
        try:
            self._admin.patch(kind, name, {"spec": document["spec"]}, self._namespace)
        except RefusedError as refused:
            if refused.status != 404:
                raise
            self._admin.create(document)

    def expected(self, minutes: int = 60) -> Object:
        """What the simulation comes to."""
        clock = self.simulation.clock
        assert clock.settle(clock.now + minutes * 60 * SECOND)
        listed = {kind: self.simulation.store.list(kind, self._namespace) for kind in (*_COUNTS, "Pod")}
        return picture({kind: [document_of(each) for each in found] for kind, found in listed.items()})

    def real(self) -> Object:
        """What the real control plane has come to so far."""
        return picture({kind: self._admin.items(kind, self._namespace) for kind in (*_COUNTS, "Pod")})


def slow(ready: str = "0s", run: str = "0s") -> dict[str, str]:
    """Annotations that make pods slow in both."""
    return {"test/ready-delay": ready, "test/complete-delay": run, READY_DELAY: ready, RUN_FOR: run}


def failing() -> Object:
    """Labels and annotations of pods that fail in both as soon as they run."""
    return {"labels": {"test/fails": "yes"}, "annotations": {"test/exit-code": "1", EXIT_CODE: "1"}}


def picture(objects: dict[str, list[Object]]) -> Object:
    """What must be equal."""
    found: Object = {kind: sorted(map(_workload, objects[kind]), key=repr) for kind in _COUNTS}
    return found | {"Pod": sorted(map(_pod, objects["Pod"]), key=repr)}


def _workload(each: Object) -> Object:
    status, metadata = each.get("status", {}), each["metadata"]
    told: Object = {name: status.get(name, 0) for name in _COUNTS[each["kind"]]}
    told["indexes"] = (status.get("completedIndexes", ""), status.get("failedIndexes", ""))
    told["conditions"] = sorted(
        (one["type"], one["status"], one.get("reason", ""))
        for one in status.get("conditions", ())
        if one["type"] in _REASONED
    )
    told["revision"] = metadata.get("annotations", {}).get(_REVISION, "")
    told["replicas wanted"] = each["spec"].get("replicas", 1) if each["kind"] == "ReplicaSet" else None
    # Those of a Deployment are named after its template.
    told["name"] = None if metadata.get("ownerReferences") else metadata["name"]
    return told


def _pod(each: Object) -> tuple[Any, ...]:
    metadata = each["metadata"]
    owner = next((one for one in metadata.get("ownerReferences", ()) if one.get("controller")), {})
    kind = owner.get("kind", "")
    named = metadata["name"] if kind in ("", "StatefulSet") else ""
    index = metadata.get("annotations", {}).get("batch.kubernetes.io/job-completion-index", "")
    image = each["spec"]["containers"][0].get("image", "")
    ready = [one["status"] for one in each["status"].get("conditions", ()) if one["type"] == "Ready"]
    return kind, named, index, image, each["status"].get("phase"), ready, "nodeName" in each["spec"]
