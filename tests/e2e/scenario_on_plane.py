"""A scenario's objects and events, done to a real control plane whose kubelets kwok plays.

What takes time is made shorter by one factor: how long pods run until they are over, and for how long they tolerate a
taint. Labels and annotations that tell simulated kubelets what to do become those of ``stages.yaml``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.fake_nodes import a_fake_node
from e2e.kinds import collection, path_of
from e2e.rest import name_of
from restow.kube.duration import format_duration, parse_duration
from restow.simulating.kubelets import EXIT_CODE, READY_DELAY, RUN_FOR
from restow.simulating.scenarios.references import Reference, parse_reference

#: As the simulation creates them: nodes first.
_FIRST = ("Namespace", "PriorityClass", "Node")
_OWNERS = ("CronJob", "Deployment", "ReplicaSet", "ReplicationController", "DaemonSet", "Job")


@dataclass(slots=True, frozen=True)
class OnPlane:
    """Who does it: where the scenario lies, and how many times shorter things are."""

    plane: ControlPlane
    folder: Path
    faster: int

    def start(self, written: list[Any]) -> None:
        """What is there at the start; nodes are ready before there are pods."""
        objects = sorted((each for one in written for each in self._objects(one)), key=_order)
        for each in objects:
            self._apply(each)

    def happen(self, event: Object) -> None:
        """Do one event."""
        match event:
            case {"apply": written}:
                for each in self._objects(written):
                    self._apply(each)
            case {"delete": name}:
                policy = {"propagationPolicy": event.get("cascade", "background").capitalize()}
                self.plane.admin.call("DELETE", _path(parse_reference(name)), policy)
            case {"scale": name, "to": replicas}:
                self._patch(parse_reference(name), {"spec": {"replicas": replicas}})
            case {"label": name, "with": labels}:
                self._patch(parse_reference(name), {"metadata": {"labels": labels}})
            case {"taint": node, "with": taint}:
                self._retaint(node, lambda taints: [*taints, _taint(taint)])
            case {"untaint": node, "with": key}:
                self._retaint(node, lambda taints: [each for each in taints if each["key"] != key])
            case {"failNode": node}:
                self._fail(node)
            case _:
                raise AssertionError(f"not done on a real control plane so far: {event}")

    def _objects(self, written: Any) -> list[Object]:
        if isinstance(written, str):
            return list(yaml.safe_load_all((self.folder / written).read_text(encoding="utf-8")))
        return written if isinstance(written, list) else [written]

    def _apply(self, each: Object) -> None:
        kind, name, namespace = each["kind"], name_of(each), each["metadata"].get("namespace", "default")
        if kind == "Node":
            self.plane.admin.create(_fake(each))
            self.plane.wait_for_nodes([name])
        elif old := self.plane.admin.find(kind, name, namespace):
            # As a whole, as if by kubectl apply: what the manifest does not have goes.
            del old["metadata"]["resourceVersion"]
            self.plane.admin.replace(old | {"spec": self._quick(each)["spec"]})
        else:
            self.plane.admin.create(self._quick(each))
            if kind == "Namespace":
                self.plane.wait_for_accounts(name)

    def _patch(self, target: Reference, change: Object) -> None:
        self.plane.admin.patch(target.kind, target.name, change, target.namespace)

    def _retaint(self, node: str, change: Any) -> None:
        taints = self.plane.admin.get("Node", node)["spec"].get("taints", [])
        self._patch(Reference("Node", "", node), {"spec": {"taints": change(taints)}})

    def _fail(self, node: str) -> None:
        """The node says that it is not ready; its pods are marked as the control plane marks those of a silent one."""
        self._patch(Reference("Node", "", node), {"metadata": {"labels": {"test/not-ready": "yes"}}})
        for pod in self.plane.admin.items("Pod"):
            if pod["spec"].get("nodeName") == node:
                conditions = [
                    each | {"status": "False"} if each["type"] == "Ready" else each
                    for each in pod["status"]["conditions"]
                ]
                change = {"status": {"conditions": conditions}}
                self.plane.admin.patch("Pod", name_of(pod), change, pod["metadata"]["namespace"], part="status")

    def _quick(self, found: Any) -> Any:
        """A manifest in which less time passes."""
        if isinstance(found, list):
            return [self._quick(each) for each in found]
        if not isinstance(found, dict):
            return found
        made = {key: self._quick(each) for key, each in found.items()}
        if "tolerationSeconds" in made:
            made["tolerationSeconds"] = max(1, made["tolerationSeconds"] // self.faster)
        if "annotations" in made:
            made |= self._as_kwok_reads(made)
        return made

    def _as_kwok_reads(self, metadata: Object) -> Object:
        told = metadata["annotations"]
        annotations, labels = dict(told), dict(metadata.get("labels", {}))
        if READY_DELAY in told:
            annotations["test/ready-delay"] = told[READY_DELAY]
        if RUN_FOR in told:
            annotations["test/complete-delay"] = format_duration(parse_duration(told[RUN_FOR]) // self.faster)
        if EXIT_CODE in told:
            annotations["test/exit-code"], labels["test/fails"] = told[EXIT_CODE], "yes"
        return {"annotations": annotations, "labels": labels}


def clear(plane: ControlPlane, namespaces: tuple[str, ...]) -> None:
    """Nothing of a scenario is left but namespaces."""
    for namespace in namespaces:
        for kind in _OWNERS:
            plane.admin.call("DELETE", collection(kind, namespace), {"propagationPolicy": "Background"})
        plane.clear(namespace)
    for kind in ("Node", "PriorityClass"):
        for each in plane.admin.items(kind):
            if not name_of(each).startswith("system-"):
                plane.admin.delete(kind, name_of(each))


def _order(each: Object) -> int:
    return _FIRST.index(each["kind"]) if each["kind"] in _FIRST else len(_FIRST)


def _path(target: Reference) -> str:
    return path_of(target.kind, target.name, target.namespace)


def _fake(node: Object) -> Object:
    """A node whose kubelet kwok plays, with the labels, taints and resources of a manifest and no others."""
    made, allocatable = a_fake_node(name_of(node)), node["status"]["allocatable"]
    metadata = made["metadata"] | {"labels": node["metadata"].get("labels", {})}
    status = made["status"] | {"allocatable": allocatable, "capacity": allocatable}
    return made | {"metadata": metadata, "spec": node.get("spec", {}), "status": status}


def _taint(text: str) -> Object:
    key, _, effect = text.partition(":")
    return {"key": key, "effect": effect}
