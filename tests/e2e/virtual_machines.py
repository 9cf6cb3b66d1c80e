"""KubeVirt as far as restow sees it: its kinds, a virtual machine with its launcher, and who plays virt-controller.

    with VirtController(plane) as kubevirt:
        ...
    assert kubevirt.ended == ["virt-launcher-vm-0"]

A migration gets a second launcher with the same owner. Once that is ready, and some looks later, the migration succeeds, and
the first launcher ends, but stays as a pod that has succeeded. Source: KubeVirt 1.7.
"""

from __future__ import annotations

import threading
from typing import Final, Literal, Self

from builders import Object, a_pdb
from e2e.control_plane import ControlPlane
from e2e.rest import Rest, name_of
from e2e.waiting import wait_until
from e2e.workloads import a_template, is_ready

MACHINE, MIGRATION = "VirtualMachineInstance", "VirtualMachineInstanceMigration"
#: The machine, and its first launcher.
NAME, LAUNCHER = "vm", "virt-launcher-vm-0"
_NAMESPACE: Final = "default"
_OVER: Final = ("Succeeded", "Failed")
#: Seconds between two looks, and looks at a launcher that is ready until the migration ends.
_LOOK, _TRANSFER = 0.1, 10
#: How migrations end; ``never`` if nobody aborts them.
End = Literal["Succeeded", "Failed", "never"]


def install_kinds(plane: ControlPlane) -> None:
    """Serve both kinds, with everything that is written in their objects."""
    for kind in (MACHINE, MIGRATION):
        plural = f"{kind.lower()}s"
        plane.admin.create(_definition(kind, plural))
        path = f"/apis/kubevirt.io/v1/{plural}"
        wait_until(f"{path} is served", lambda path=path: plane.admin.ask("GET", path).status == 200)


def _definition(kind: str, plural: str) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.kubevirt.io"},
        "spec": {
            "group": "kubevirt.io",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


def start_machine(admin: Rest, **pod: object) -> Object:
    """A machine that runs in its first launcher, with the budget by which KubeVirt keeps it from being evicted."""
    head = {"apiVersion": "kubevirt.io/v1", "kind": MACHINE}
    machine = admin.create({**head, "metadata": {"name": NAME, "namespace": _NAMESPACE}})
    migratable = {"type": "LiveMigratable", "status": "True"}
    admin.patch(MACHINE, NAME, {"status": {"phase": "Running", "conditions": [migratable]}}, part="status")
    admin.create(_launcher(machine, LAUNCHER, **pod))
    selector = {"matchLabels": {"kubevirt.io/created-by": machine["metadata"]["uid"]}}
    budget = a_pdb("kubevirt-disruption-budget", namespace=_NAMESPACE, selector=selector, min_available=1)
    del budget["status"]
    budget["metadata"]["ownerReferences"] = [_owner(machine)]
    admin.create(budget)
    return machine


def forget_machine(admin: Rest) -> None:
    """The machine goes, with all its migrations."""
    for migration in admin.items(MIGRATION, _NAMESPACE):
        admin.delete(MIGRATION, name_of(migration))
    admin.delete(MACHINE, NAME)


def _owner(machine: Object) -> Object:
    told = {"apiVersion": "kubevirt.io/v1", "kind": MACHINE, "name": NAME, "controller": True}
    return told | {"uid": machine["metadata"]["uid"]}


def _launcher(machine: Object, name: str, **pod: object) -> Object:
    labels = {"kubevirt.io": "virt-launcher", "kubevirt.io/created-by": machine["metadata"]["uid"]}
    template = a_template(NAME, labels=labels, **pod)
    told = {"name": name, "namespace": _NAMESPACE, "ownerReferences": [_owner(machine)]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template["metadata"], **told},
        "spec": {**template["spec"], "restartPolicy": "Never"},
    }


class VirtController:
    """Plays virt-controller until its block ends."""

    def __init__(self, plane: ControlPlane, end: End = "Succeeded", **pod: object) -> None:
        """``pod`` are arguments of ``a_template`` for the new launchers."""
        self._admin = plane.admin
        self._end = end
        self._pod = pod
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        #: The launcher of each migration that is under way, and how often it was seen ready.
        self._new: dict[str, str] = {}
        self._seen: dict[str, int] = {}
        #: All migrations that it has heard of, by name.
        self.heard: dict[str, Object] = {}
        #: The launchers that it has ended.
        self.ended: list[str] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_LOOK):
            found = {name_of(each): each for each in self._admin.items(MIGRATION, _NAMESPACE)}
            for name, migration in found.items():
                if migration.get("status", {}).get("phase") not in _OVER:
                    self._advance(name, migration)
            for name in self._new.keys() - found.keys():
                self._take(self._new.pop(name))

    def _advance(self, name: str, migration: Object) -> None:
        self.heard[name] = migration
        if name not in self._new:
            machine = self._admin.get(MACHINE, migration["spec"]["vmiName"])
            self._new[name] = f"virt-launcher-vm-{len(self.heard)}"
            self._admin.create(_launcher(machine, self._new[name], **self._pod))
            self._say(name, "Scheduling")
        elif is_ready(self._admin.get("Pod", self._new[name])):
            self._seen[name] = self._seen.get(name, 0) + 1
            if self._seen[name] == 1:
                self._say(name, "Running")
            elif self._seen[name] == _TRANSFER and self._end != "never":
                self._finish(name)

    def _finish(self, name: str) -> None:
        launcher = self._new.pop(name)
        if self._end == "Succeeded":
            over = {"phase": "Succeeded", "conditions": [{"type": "Ready", "status": "False"}]}
            self._admin.patch("Pod", LAUNCHER, {"status": over}, part="status")
            self.ended.append(LAUNCHER)
        else:
            self._take(launcher)
        self._say(name, self._end)

    def _say(self, name: str, phase: str) -> None:
        state = {"failureReason": "no progress"} if phase == "Failed" else {}
        self._admin.patch(MIGRATION, name, {"status": {"phase": phase, "migrationState": state}}, part="status")

    def _take(self, launcher: str) -> None:
        self._admin.delete("Pod", launcher, at_once=True)
        self.ended.append(launcher)
