"""Reservations: a placeholder pod holds the place of a replacement from before the eviction until that is nominated for it.

Between the eviction and the moment when the replacement exists, another pod may take the room that the plan has for it. A
StatefulSet makes the replacement only when the old pod is gone, so that may be minutes. The placeholder asks for what the
pod asks for, may go to the planned node only, and is scheduled like any pod: if it gets no node, the place is not there, and
nothing is evicted. Its priority is the lowest there is, so it is preempted by whatever has no other place, and autoscalers
add no node for it. It goes once the replacement is nominated (``executing.steering``), which holds the place from then on.

No placeholder stays: it has a deadline, after which the kubelet ends it and its room is free (``activeDeadlineSeconds``),
and each leader deletes those that it finds.
Source: a pod that was nominated counts on its node for pods of its priority and below, Kubernetes 1.36.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from restow.client import objects
from restow.client.errors import Conflict, Forbidden, NotFound, NotPermitted, missing_right
from restow.client.resources import RESOURCES
from restow.client.transport import Api, Permit
from restow.cluster.pod_parts import total_resources
from restow.cluster.pod_reading import resources_key
from restow.errors import ClientError
from restow.executing.surged_workloads import decoded_spec
from restow.executing.surroundings import elapsed
from restow.executing.task import Task

#: The label of placeholders, and the annotation that says whose place they hold.
LABEL: Final = "restow.dev/placeholder"
_FOR: Final = "restow.dev/holds-place-of"
#: The priority class of placeholders; it is installed beforehand.
PRIORITY: Final = "restow-placeholder"
#: It need not run: its place is held as soon as it has a node.
_IMAGE: Final = "registry.k8s.io/pause:3.10"
#: Seconds until a placeholder must have its node, between two looks, and how much longer than the old pod it may stay.
_PATIENCE: Final = 5.0
_PAUSE: Final = 0.1
_LONGER: Final = 60
#: Seconds that a pod may take to end where it does not say so itself.
_GRACE: Final = 30
_SELECTED: Final = {"labelSelector": f"{LABEL}=true"}
_PODS: Final = RESOURCES["Pod"]
#: Of a placeholder's container: what the strictest pod security asks for.
_SECURITY: Final = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "runAsUser": 65535,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


@dataclass(slots=True)
class Reserving:
    """Holds the places of replacements through an API server."""

    api: Api
    permit: Permit
    #: Where placeholders are made.
    namespace: str
    #: Logs a warning.
    warn: Callable[[str], None]
    #: The names of the placeholders that are held, by the number of the task.
    _held: dict[int, str] = field(default_factory=dict, init=False)
    #: The names of those that are to be deleted, and are not yet.
    _left: set[str] = field(default_factory=set, init=False)
    #: Whether placeholders of others were looked for; None: not tried yet.
    _is_clean: bool | None = field(default=None, init=False)

    async def hold(self, task: Task) -> str | None:
        """Hold the place of a task's replacement; return why that fails, and then nothing is held."""
        if task.number in self._held:
            return None
        self._held[task.number] = _name_of(task)
        try:
            await self._make(task)
            problem = await self._without_node(task)
        except NotPermitted:
            raise
        except Forbidden as error:
            problem = missing_right(error, _PODS, ("create", "get", "delete"))
        except ClientError as error:
            problem = str(error)
        if problem is None:
            return None
        await self.give_up(task)
        return f"its place on {task.move.target} cannot be held: {problem}"

    async def give_up(self, task: Task) -> None:
        """Delete the placeholder of a task, if there is one. Failures are warnings: ``repair`` tries again.

        It does so after a cancellation, too: a plan that is over cancels what it is waiting for.
        """
        name = self._held.pop(task.number, None)
        if name is None:
            return
        self._left.add(name)
        try:
            await self._delete(name)
        except ClientError as error:
            self.warn(f"pod {self.namespace}/{name} holds a place that nobody needs any more: {error}")

    async def repair(self) -> None:
        """Delete what could not be deleted before; what fails again stays for the next time."""
        for name in sorted(self._left):
            with suppress(ClientError):
                await self._delete(name)
        if self._is_clean is False:
            await self.clean()

    async def clean(self) -> None:
        """Delete the placeholders that another process has left. Looks once, and again after failures.

        Whoever may not list them cannot have made any.
        """
        if self._is_clean:
            return
        self._is_clean = False
        try:
            await delete_all(self.api, self.namespace)
        except Forbidden:
            pass
        except ClientError as error:
            self.warn(f"pods that hold places for nobody were not looked for: {error}")
            return
        self._is_clean = True

    async def _make(self, task: Task) -> None:
        """Create the placeholder; one that a killed process has left for the same pod goes first."""
        pod = task.move.pod
        path = _PODS.path(pod.namespace, pod.name)
        moving: dict[str, Any] = await self.api.read(path, {}, msgspec.json.decode)
        wanted = _placeholder(task, moving["spec"])
        try:
            await objects.create(self.api, _PODS, self.namespace, wanted, permit=self.permit)
        except Conflict:
            await self._delete(_name_of(task))
            await objects.create(self.api, _PODS, self.namespace, wanted, permit=self.permit)

    async def _without_node(self, task: Task) -> str | None:
        """Wait until the placeholder has its node; why it has none."""
        deadline, path = elapsed() + _PATIENCE, _PODS.path(self.namespace, _name_of(task))
        while True:
            found: dict[str, Any] = await self.api.read(path, {}, msgspec.json.decode)
            if found["spec"].get("nodeName"):
                return None
            if elapsed() > deadline:
                return _why_unscheduled(found) or f"its placeholder has no node after {_PATIENCE:.0f} s"
            await asyncio.sleep(_PAUSE)

    async def _delete(self, name: str) -> None:
        with suppress(NotFound):
            await objects.delete(self.api, _PODS, self.namespace, name)
        self._left.discard(name)


async def delete_all(api: Api, namespace: str) -> list[str]:
    """Delete all placeholders in a namespace; return whose places they held. ClientError if that fails."""
    found = await api.read(_PODS.path(namespace), _SELECTED, msgspec.json.decode)
    held = []
    for each in found.get("items") or ():
        with suppress(NotFound):
            await objects.delete(api, _PODS, namespace, each["metadata"]["name"])
            held.append((each["metadata"].get("annotations") or {}).get(_FOR, each["metadata"]["name"]))
    return held


def _name_of(task: Task) -> str:
    return f"restow-holds-{task.move.pod.uid}"


def _placeholder(task: Task, moving: Mapping[str, Any]) -> dict[str, Any]:
    """A pod that needs as much room as the one that moves, and goes where its replacement is to go."""
    metadata = {"name": _name_of(task), "labels": {LABEL: "true"}, "annotations": {_FOR: str(task.move.pod)}}
    amounts, _ = total_resources(resources_key(decoded_spec(moving)))
    requests = {name: str(amount) for name, amount in amounts.items()}
    there = {"key": "metadata.name", "operator": "In", "values": [task.move.target]}
    affinity = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": [there]}]}}
    spec = {
        "priorityClassName": PRIORITY,
        "schedulerName": moving.get("schedulerName", "default-scheduler"),
        "affinity": {"nodeAffinity": affinity},
        "tolerations": moving.get("tolerations") or [],
        "activeDeadlineSeconds": (moving.get("terminationGracePeriodSeconds") or _GRACE) + _LONGER,
        "terminationGracePeriodSeconds": 0,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "containers": [_container(requests, moving)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _container(requests: Mapping[str, str], moving: Mapping[str, Any]) -> dict[str, Any]:
    """One container with all that a pod requests. What cannot be overcommitted needs a limit, too: devices and huge pages."""
    limits = {name: amount for name, amount in requests.items() if "/" in name or name.startswith("hugepages-")}
    resources = {"requests": requests, "limits": limits}
    ports = [port for each in moving.get("containers") or () for port in each.get("ports") or () if "hostPort" in port]
    return {
        "name": "placeholder",
        "image": _IMAGE,
        "resources": resources,
        "ports": ports,
        "securityContext": _SECURITY,
    }


def _why_unscheduled(pod: Mapping[str, Any]) -> str | None:
    """What the scheduler says."""
    for each in (pod.get("status") or {}).get("conditions") or ():
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            return str(each.get("message") or "") or None
    return None
