"""Rollouts: a Deployment makes its one pod anew by its own strategy, and the new pod is steered.

Some owners want their own strategy, or have the number of replicas set by a program, so that a surge would be fought. A
rollout changes an annotation of the template, as ``kubectl rollout restart`` does: the Deployment makes a ReplicaSet of the
new template, whose pod comes first, because ``maxUnavailable`` is 0. The old pod goes when that has been available for
``minReadySeconds``. The new pod's controller does not exist before the rollout. So the new pod is gated by the annotation,
which it has from its template, and not by its owner.

Every pod of the workload is made anew, and the plan has proven one place. So only Deployments with one replica are rolled
out. If the new pod lands elsewhere or does not become ready, the template gets its old annotation back, and the ReplicaSet
of before, whose pod is still there, is the current one again; unless the new pod is available by then. A rollout that no
process watches any more goes forwards by itself: nothing is left to end.
Source: the Deployment controller, rolling updates and ``ResolveFenceposts``, Kubernetes 1.36.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct, structs

from restow.client import objects
from restow.client.errors import Forbidden, NotFound, NotPermitted, missing_right
from restow.client.objects import ObjectRef, PatchKind
from restow.client.resources import RESOURCES
from restow.client.transport import Api, Permit
from restow.cluster.pod_values import PodNow
from restow.errors import ClientError
from restow.executing.surged_workloads import (
    SurgeRefusedError,
    is_settled,
    read,
    refuse_without_quota,
    workload_of,
)
from restow.executing.surroundings import elapsed
from restow.executing.task import Task
from restow.kube.objects import OwnerReference

#: The annotation of the template; its value is the uid of the pod that moves.
ANNOTATION: Final = "restow.dev/rollout"
_TEMPLATE: Final = "/spec/template"
_PATH: Final = f"{_TEMPLATE}/metadata/annotations/{ANNOTATION.replace('/', '~1')}"
#: Seconds: between two looks at the Deployment, at the ReplicaSets, and until the new one is there.
_WATCH: Final = 1.0
_PAUSE: Final = 0.1
_NEW: Final = 10.0
_DEPLOYMENT: Final = RESOURCES["Deployment"]


class _Rollout(Struct, frozen=True):
    """A Deployment that is rolled out."""

    namespace: str
    name: str
    uid: str
    #: What the template carries now, and what it carried before; None if nothing.
    mark: str
    before: str | None
    #: The whole template with the mark: any other one is somebody else's.
    template: Mapping[str, Any]
    #: Seconds that the new pod must be ready.
    min_ready: int

    def __str__(self) -> str:
        return f"Deployment {self.namespace}/{self.name}"


@dataclass(slots=True)
class Rolling:
    """Rolls workloads out through an API server; a ``ReplacesFirst``."""

    api: Api
    permit: Permit
    #: Logs a warning.
    warn: Callable[[str], None]
    #: By the number of the task.
    _open: dict[int, _Rollout] = field(default_factory=dict, init=False)

    async def begin(self, task: Task) -> Task | str:
        """Change the template; return the task with the new ReplicaSet as its controller, or why that cannot be done."""
        try:
            rollout = self._open[task.number] = await self._changed(task)
            return structs.replace(task, owner=await self._new_replica_set(rollout), gate="")
        except SurgeRefusedError as refused:
            await self.undo(task, None)
            return str(refused)
        except NotPermitted:
            raise
        except ClientError as error:
            await self.undo(task, None)
            return f"its workload is not rolled out: {error}"

    async def _changed(self, task: Task) -> _Rollout:
        """Write the annotation; SurgeRefusedError says why not."""
        resource, found = await workload_of(self.api, task)
        if resource is not _DEPLOYMENT:
            raise SurgeRefusedError(f"a {resource.kind} is not rolled out")
        if (why := reason_against(found)) is not None:
            raise SurgeRefusedError(f"its Deployment {found['metadata']['name']} {why}")
        pod, metadata = task.move.pod, found["metadata"]
        moving = await read(self.api, RESOURCES["Pod"], pod.namespace, pod.name)
        await refuse_without_quota(self.api, pod.namespace, moving)
        of = ObjectRef(pod.namespace, metadata["name"], metadata["uid"], resource_version=metadata["resourceVersion"])
        change = {"metadata": of.preconditions, "spec": {"template": _marked({}, pod.uid)}}
        try:
            await objects.patch(
                self.api, _DEPLOYMENT, of.namespace, of.name, change, kind=PatchKind.MERGE, permit=self.permit
            )
        except Forbidden as error:
            raise SurgeRefusedError(missing_right(error, _DEPLOYMENT, ("patch",))) from error
        before = _annotations(found).get(ANNOTATION)
        template = _marked(found["spec"]["template"], pod.uid)
        min_ready = int(found["spec"].get("minReadySeconds") or 0)
        return _Rollout(of.namespace, of.name, of.uid, pod.uid, before, template, min_ready)

    async def _new_replica_set(self, rollout: _Rollout) -> OwnerReference:
        """The ReplicaSet of the changed template; SurgeRefusedError if it does not come."""
        deadline = elapsed() + _NEW
        while elapsed() < deadline:
            if (found := await self._replica_set(rollout)) is not None:
                return OwnerReference(
                    "ReplicaSet", found["metadata"]["name"], found["metadata"]["uid"], controller=True
                )
            await asyncio.sleep(_PAUSE)
        raise SurgeRefusedError(f"{rollout} has made no ReplicaSet of its new template within {_NEW:.0f} s")

    async def _replica_set(self, rollout: _Rollout) -> Mapping[str, Any] | None:
        """The ReplicaSet of the changed template, if it is there; SurgeRefusedError and ClientError as ``read``."""
        found = await read(self.api, RESOURCES["ReplicaSet"], rollout.namespace, "")
        items: Iterable[Mapping[str, Any]] = found.get("items") or ()
        marked = (each for each in items if _annotations(each).get(ANNOTATION) == rollout.mark)
        return next((each for each in marked if _is_of(each, rollout.uid)), None)

    async def taken_back(self, task: Task) -> str:
        """Look now and then whether somebody else has changed the template or paused the rollout."""
        rollout = self._open[task.number]
        while True:
            await asyncio.sleep(_WATCH)
            try:
                found = await read(self.api, _DEPLOYMENT, rollout.namespace, rollout.name)
            except SurgeRefusedError as refused:
                return str(refused)
            except ClientError:
                continue
            if found["spec"]["template"] != rollout.template:
                return f"somebody has changed the template of {rollout}"
            if found["spec"].get("paused"):
                return f"somebody has paused the rollout of {rollout}"

    async def finish(self, task: Task, _pod: PodNow) -> str | None:
        """Wait until the new pod is available: then the controller takes the old one away."""
        rollout = self._open.pop(task.number)
        await asyncio.sleep(rollout.min_ready)
        return None

    async def undo(self, task: Task, _pod: PodNow | None) -> None:
        """Give the template its annotation back, so that the new pod goes; what somebody else has written stays.

        Not where the new pod is available already: the controller takes the old one away then, and would take the new one,
        too, by the counts that it has at that moment.
        """
        rollout = self._open.pop(task.number, None)
        if rollout is None or await self._is_through(rollout):
            return
        test = {"op": "test", "path": _TEMPLATE, "value": rollout.template}
        back = {"op": "remove", "path": _PATH}
        if rollout.before is not None:
            back |= {"op": "replace", "value": rollout.before}
        try:
            await objects.patch(
                self.api, _DEPLOYMENT, rollout.namespace, rollout.name, [test, back], kind=PatchKind.JSON
            )
        except NotFound:
            return
        except ClientError as error:
            if not objects.is_outdated(error):
                self.warn(f"{rollout} is rolled out, although the move is given up: {error}")

    async def _is_through(self, rollout: _Rollout) -> bool:
        """Whether the new pod is available; if that cannot be read, it is not."""
        try:
            found = await self._replica_set(rollout)
        except (SurgeRefusedError, ClientError):
            return False
        if found is None or not (found.get("status") or {}).get("availableReplicas"):
            return False
        self.warn(f"{rollout} is rolled out, although the move is given up: its new pod is available already")
        return True

    async def clean(self) -> None:
        """Nothing is left: the controller ends a rollout by itself."""


def _marked(template: Mapping[str, Any], mark: str) -> dict[str, Any]:
    """A template with the annotation."""
    metadata = template.get("metadata") or {}
    annotations = {**(metadata.get("annotations") or {}), ANNOTATION: mark}
    return {**template, "metadata": {**metadata, "annotations": annotations}}


def reason_against(found: Mapping[str, Any]) -> str | None:
    """Why a Deployment is not rolled out, as it is; None if nothing speaks against it."""
    spec = found["spec"]
    if found["metadata"].get("deletionTimestamp"):
        return "is being deleted"
    if spec.get("paused"):
        return "is paused"
    if (replicas := spec.get("replicas", 1)) != 1:
        return f"has {replicas} replicas, and a rollout makes all of them anew"
    if not is_settled("Deployment", found):
        return "does not have its pod available and up to date"
    return _reason_against_strategy(spec.get("strategy") or {})


def _reason_against_strategy(strategy: Mapping[str, Any]) -> str | None:
    """Why the old pod would go before the new one is available."""
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return f"has the strategy {strategy['type']}"
    rolling = strategy.get("rollingUpdate") or {}
    surge, unavailable = (rolling.get(name, "25%") for name in ("maxSurge", "maxUnavailable"))
    if _of_one(surge, math.ceil) >= 1 and _of_one(unavailable, math.floor) == 0:
        return None
    return f"rolls out with maxSurge {surge} and maxUnavailable {unavailable}, so that the old pod may go first"


def _of_one(amount: int | str, rounded: Callable[[float], int]) -> int:
    """How many of one replica a number or a percentage is; surges are rounded up, what may be unavailable down."""
    return amount if isinstance(amount, int) else rounded(int(amount.rstrip("%")) / 100)


def _annotations(found: Mapping[str, Any]) -> Mapping[str, str]:
    """Those of the template."""
    metadata = found["spec"]["template"].get("metadata") or {}
    return metadata.get("annotations") or {}


def _is_of(replica_set: Mapping[str, Any], deployment: str) -> bool:
    owners = replica_set["metadata"].get("ownerReferences") or ()
    return any(each.get("controller") and each.get("uid") == deployment for each in owners)
