"""What is done to a cluster, one step after the other: on the real control plane and in a simulation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.histories import SCENE, Form
from e2e.kinds import path_of
from e2e.rest import RefusedError, name_of
from e2e.workloads import is_ready, pods_of
from restow.kube.manifests import document_of, manifest_of
from restow.simulating.api_server.changes import over, with_condition
from restow.simulating.api_server.eviction import evict
from restow.simulating.api_server.store import BACKGROUND, FOREGROUND, ORPHAN
from restow.simulating.virtual_cluster import VirtualCluster

#: Stands for the namespace of a scene in its objects.
OWN = "@scene"


_PROPAGATIONS = {"Background": BACKGROUND, "Orphan": ORPHAN, "Foreground": FOREGROUND}


class Step(Protocol):
    """Something that a person does."""

    def on_plane(self, plane: ControlPlane, namespace: str) -> None:
        """Do it to the real cluster."""

    def on_simulation(self, simulation: VirtualCluster, namespace: str) -> None:
        """Do it to the simulated one."""


@dataclass(slots=True, frozen=True)
class Apply:
    """Objects come, or their specs change to these."""

    documents: tuple[Object, ...]

    def on_plane(self, plane: ControlPlane, namespace: str) -> None:
        """Create them, or patch their specs."""
        for each in self._here(namespace):
            try:
                plane.admin.patch(each["kind"], name_of(each), {"spec": each["spec"]}, namespace)
            except RefusedError as refused:
                if refused.status != 404:
                    raise
                plane.admin.create(each)

    def on_simulation(self, simulation: VirtualCluster, namespace: str) -> None:
        """Apply them."""
        for each in self._here(namespace):
            simulation.store.apply(manifest_of(each))

    def _here(self, namespace: str) -> list[Object]:
        found = [_named(each, namespace) for each in self.documents]
        return [each | {"metadata": each["metadata"] | {"namespace": namespace}} for each in found]


@dataclass(slots=True, frozen=True)
class Patch:
    """A merge patch of one object."""

    kind: str
    name: str
    change: Object

    def on_plane(self, plane: ControlPlane, namespace: str) -> None:
        """Send it."""
        plane.admin.patch(self.kind, self.name.replace(OWN, namespace), _named(self.change, namespace), namespace)

    def on_simulation(self, simulation: VirtualCluster, namespace: str) -> None:
        """Merge it."""
        place = "" if self.kind == "Node" else namespace
        found = simulation.store.get(self.kind, place, self.name.replace(OWN, namespace))
        simulation.store.update(manifest_of(merged(document_of(found), _named(self.change, namespace))))


@dataclass(slots=True, frozen=True)
class Delete:
    """An object is deleted; what becomes of its dependents is the propagation policy."""

    kind: str
    name: str
    propagation: str = "Background"

    def on_plane(self, plane: ControlPlane, namespace: str) -> None:
        """Ask for it."""
        name = self.name.replace(OWN, namespace)
        options = {"propagationPolicy": self.propagation}
        plane.admin.call("DELETE", path_of(self.kind, name, namespace), options)

    def on_simulation(self, simulation: VirtualCluster, namespace: str) -> None:
        """Delete it."""
        place = "" if self.kind in ("Node", "Namespace") else namespace
        name = self.name.replace(OWN, namespace)
        assert simulation.store.delete(self.kind, place, name, propagation=_PROPAGATIONS[self.propagation])


@dataclass(slots=True, frozen=True)
class DeletePods:
    """The first pods of an app, those that are ready before others, are deleted or evicted."""

    app: str
    count: int = 1
    by_eviction: bool = False
    #: What the eviction API is to answer.
    answers: int = 201

    def on_plane(self, plane: ControlPlane, namespace: str) -> None:
        """Ask for it."""
        pods = sorted(pods_of(plane.admin, self.app, namespace), key=is_ready, reverse=True)
        for pod in pods[: self.count]:
            if self.by_eviction:
                assert plane.admin.evict(name_of(pod), namespace).status == self.answers
            else:
                plane.admin.delete("Pod", name_of(pod), namespace)

    def on_simulation(self, simulation: VirtualCluster, namespace: str) -> None:
        """Delete or evict them."""
        pods = [
            (each.ready_since is None, each.metadata.name)
            for each in simulation.store.list("Pod", namespace)
            if (each.metadata.labels or {}).get("app") == self.app and not each.metadata.is_terminating
        ]
        for _, name in sorted(pods)[: self.count]:
            if self.by_eviction:
                assert evict(simulation.store, namespace, name).code == self.answers
            else:
                simulation.store.delete("Pod", namespace, name)


@dataclass(slots=True, frozen=True)
class Fail:
    """A pod has failed, as its kubelet says."""

    pod: str

    def on_plane(self, plane: ControlPlane, namespace: str) -> None:
        """Say so in its status."""
        conditions = [{"type": each, "status": "False"} for each in ("Ready", "ContainersReady")]
        status = {"phase": "Failed", "conditions": conditions}
        plane.admin.patch("Pod", self.pod, {"status": status}, namespace, part="status")

    def on_simulation(self, simulation: VirtualCluster, namespace: str) -> None:
        """Have it say so."""
        pod = simulation.store.get("Pod", namespace, self.pod)
        simulation.store.update(over(pod, "Failed", simulation.clock.text))


@dataclass(slots=True, frozen=True)
class Unready:
    """A node of the scene says that it is not ready, or that it is again."""

    node: str
    ready: bool = False

    def on_plane(self, plane: ControlPlane, namespace: str) -> None:
        """Have kwok say so."""
        label = None if self.ready else "yes"
        name = self.node.replace(OWN, namespace)
        plane.admin.patch("Node", name, {"metadata": {"labels": {"test/not-ready": label}}})

    def on_simulation(self, simulation: VirtualCluster, namespace: str) -> None:
        """Have its condition say so."""
        node = simulation.store.get("Node", "", self.node.replace(OWN, namespace))
        status = "True" if self.ready else "False"
        simulation.store.update(with_condition(node, "Ready", status, simulation.clock.text))


@dataclass(slots=True, frozen=True)
class After:
    """A step so many seconds after the one before, and not when everything has settled."""

    seconds: float
    step: Step


@dataclass(slots=True, frozen=True)
class Scene:
    """A cluster of some nodes of its own, if any, and what is done to it."""

    steps: Sequence[Step | After]
    #: Nodes that nobody else uses: called ``@scene-1``..., tainted and labelled ``scene: @scene``.
    nodes: int = 0
    form: Form = field(default_factory=Form)
    #: For how many seconds the last step is looked at; None until nothing happens any more.
    lasts: float | None = None
    #: Takes a minute or more.
    long: bool = False
    #: Whether it begins when a minute does.
    from_minute: bool = False


def own_node() -> dict[str, Any]:
    """What a pod template needs to run on the nodes of its scene, and nowhere else."""
    return {"node_selector": {SCENE: OWN}, "tolerations": [{"key": SCENE, "operator": "Exists"}]}


def _named(document: Object, namespace: str) -> Object:
    """A document with the names of a scene."""
    named: Object = json.loads(json.dumps(document).replace(OWN, namespace))
    return named


def merged(document: Object, change: Object) -> Object:
    """A document after a merge patch. Source: RFC 7396."""
    found = dict(document)
    for name, value in change.items():
        if value is None:
            found.pop(name, None)
        elif isinstance(value, dict):
            below = found.get(name)
            found[name] = merged(below if isinstance(below, dict) else {}, value)
        else:
            found[name] = value
    return found
