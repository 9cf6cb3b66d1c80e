"""The workloads of surges: what speaks against one pod more, the number of replicas, and the record of a surge.

The number of replicas belongs to somebody else. So the request that raises it also writes down, in an annotation of the
same object, which pod moves, what the number was and what the pod's deletion cost was. Any restow that finds the annotation
can end the surge (``executing.ending_surges``): forwards if all pods are ready, backwards otherwise. Each request fails,
and changes nothing, where the number is not the expected one any more: then somebody else has changed it, and their number stays.

Not surged are workloads whose number of replicas a program sets (a HorizontalPodAutoscaler, GitOps), which are paused,
or which are not as they should be already.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Final

import msgspec
from msgspec import Struct

from restow.client import objects
from restow.client.errors import Conflict, Forbidden, NotFound, missing_right
from restow.client.objects import ObjectRef, PatchKind
from restow.client.resources import (
    ENDPOINT_SLICES,
    HORIZONTAL_POD_AUTOSCALERS,
    RESOURCES,
    ROLLOUTS,
    ApiResource,
)
from restow.client.transport import Api, Permit
from restow.errors import ClientError
from restow.executing.argo_rollouts import reason_against_rollout
from restow.executing.task import Task
from restow.kube.objects import PodSpec, ResourceQuota
from restow.workloads.controllers import DELETION_COST
from restow.workloads.quotas import without_room

#: The kinds whose number of replicas is raised. The last one is there only where Argo is.
SURGED: Final = (RESOURCES["Deployment"], RESOURCES["ReplicaSet"], ROLLOUTS)
#: What is written down about a surge.
ANNOTATION: Final = "restow.dev/surge"
#: Lower than any other: the type is int32.
FIRST_TO_GO: Final = "-2147483648"
_SERVICE: Final = "kubernetes.io/service-name"
#: The beginnings of the names under which GitOps programs own fields, in lower case.
_GITOPS: Final = ("argocd", "flux", "kustomize-controller", "helm-controller", "fleet", "rancher", "sveltos")
#: Seconds until the controller has seen a deletion cost.
COST_SEEN: Final = 1.0
#: How often it is looked, a second apart, whether the controller takes the old pod away.
_LOOKS: Final = 10


class SurgeRefusedError(Exception):
    """Why a workload gets no pod more, as one clause for people."""


class SurgeRecord(Struct, frozen=True):
    """What the annotation holds, as JSON."""

    #: The pod that moves.
    pod: str
    uid: str
    #: ``spec.replicas`` before the surge.
    replicas: int
    #: When it began, RFC 3339.
    time: str
    #: The pod's deletion cost before the surge; None if it had none.
    cost: str | None = None


class Surge(Struct, frozen=True):
    """A workload that has one pod more than it is to have."""

    resource: ApiResource
    namespace: str
    name: str
    record: SurgeRecord
    #: Seconds that a pod must be ready before it counts as available.
    min_ready: int = 0
    #: The Services of which the old pod was a ready endpoint.
    services: frozenset[str] = frozenset()

    @property
    def pod(self) -> ObjectRef:
        """The pod that moves."""
        return ObjectRef(self.namespace, self.record.pod, self.record.uid)

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.namespace}/{self.name}"


async def workload_of(api: Api, task: Task) -> tuple[ApiResource, dict[str, Any]]:
    """The object whose replicas decide how many pods a task's controller has; SurgeRefusedError where none of restow's kinds does."""
    owner, namespace = task.owner, task.move.pod.namespace
    if owner is None or owner.kind != "ReplicaSet":
        raise SurgeRefusedError(f"a {owner.kind if owner else 'pod without a controller'} gets no pod more")
    found = await read(api, RESOURCES["ReplicaSet"], namespace, owner.name)
    above = next((each for each in found["metadata"].get("ownerReferences") or () if each.get("controller")), None)
    if above is None:
        return RESOURCES["ReplicaSet"], found
    resource = next(
        (each for each in SURGED if (each.api_version, each.kind) == (above["apiVersion"], above["kind"])), None
    )
    if resource is None:
        raise SurgeRefusedError(f"its ReplicaSet {owner.name} belongs to {above['kind']} {above['name']}")
    return resource, await read(api, resource, namespace, above["name"])


def reason_against(kind: str, found: Mapping[str, Any]) -> str | None:
    """Why a workload of a kind that is surged gets no pod more, as it is; None if nothing speaks against it."""
    spec, metadata = found["spec"], found["metadata"]
    replicas = spec.get("replicas", 1)
    if metadata.get("deletionTimestamp"):
        return "is being deleted"
    if ANNOTATION in (metadata.get("annotations") or {}):
        return "has a surge already"
    if spec.get("paused"):
        return "is paused"
    if kind == ROLLOUTS.kind and (why := reason_against_rollout(found)) is not None:
        return why
    if not is_settled(kind, found):
        return f"does not have all of its {replicas} pods available and up to date"
    owner = next(_gitops(metadata.get("managedFields") or ()), None)
    return None if owner is None else f"has its replicas from {owner}, which would take the pod away again"


def is_settled(kind: str, found: Mapping[str, Any]) -> bool:
    """Whether a workload of a kind that is surged has all of its pods available and up to date."""
    status, replicas = found.get("status") or {}, found["spec"].get("replicas", 1)
    counts = ["replicas", "availableReplicas", *(["updatedReplicas"] if kind != "ReplicaSet" else [])]
    is_seen = _generation_seen(status) >= found["metadata"].get("generation", 0)
    return is_seen and all(status.get(count, 0) == replicas for count in counts)


def _generation_seen(status: Mapping[str, Any]) -> int:
    """The generation that its controller has seen. A Rollout has it as text, and before 1.0 a hash, which is none."""
    told = str(status.get("observedGeneration", 0))
    return int(told) if told.isdecimal() else 0


def _gitops(managed: Any) -> Iterator[str]:
    """The GitOps programs among those that own ``spec.replicas``."""
    for each in managed:
        fields = (each.get("fieldsV1") or {}).get("f:spec") or {}
        if "f:replicas" in fields and each.get("manager", "").lower().startswith(_GITOPS):
            yield each["manager"]


async def refuse_autoscaled(api: Api, kind: str, namespace: str, name: str) -> None:
    """SurgeRefusedError if a HorizontalPodAutoscaler sets the number of replicas; KEDA makes one too."""
    found = await read(api, HORIZONTAL_POD_AUTOSCALERS, namespace, "")
    if (why := autoscaled(found.get("items") or (), kind, name)) is not None:
        raise SurgeRefusedError(f"its {kind} {name} {why}")


async def refuse_without_quota(api: Api, namespace: str, pod: Mapping[str, Any]) -> None:
    """SurgeRefusedError if a ResourceQuota has no room for another pod like this one."""
    found = await read(api, RESOURCES["ResourceQuota"], namespace, "")
    quotas = (msgspec.convert(each, ResourceQuota) for each in found.get("items") or ())
    if (why := without_room(quotas, decoded_spec(pod["spec"]))) is not None:
        raise SurgeRefusedError(why)


def decoded_spec(spec: Mapping[str, Any]) -> PodSpec:
    """The spec of a pod as rules read it."""
    return msgspec.json.decode(msgspec.json.encode(spec), type=PodSpec)


def autoscaled(autoscalers: Iterable[Mapping[str, Any]], kind: str, name: str) -> str | None:
    """Why a workload gets no pod more: which of its namespace's HorizontalPodAutoscalers scales it; None if none does."""
    for each in autoscalers:
        target = each["spec"].get("scaleTargetRef") or {}
        if (target.get("kind"), target.get("name")) == (kind, name):
            return f"is scaled by HorizontalPodAutoscaler {each['metadata']['name']}"
    return None


async def services_of(api: Api, namespace: str, pod: str, among: Iterable[str] = ()) -> frozenset[str]:
    """The Services of which a pod (a uid) is a ready endpoint, by their EndpointSlices; of some Services, or of all."""
    labels = {"labelSelector": f"{_SERVICE} in ({','.join(sorted(among))})"} if among else {}
    found = await read(api, ENDPOINT_SLICES, namespace, "", labels)
    return frozenset(
        each["metadata"]["labels"][_SERVICE]
        for each in found.get("items") or ()
        if _SERVICE in (each["metadata"].get("labels") or {}) and _has_ready(each, pod)
    )


def _has_ready(endpoints: Mapping[str, Any], pod: str) -> bool:
    """Whether an EndpointSlice has a pod as a ready endpoint."""
    return any(
        (each.get("targetRef") or {}).get("uid") == pod and (each.get("conditions") or {}).get("ready")
        for each in endpoints.get("endpoints") or ()
    )


async def read(
    api: Api, resource: ApiResource, namespace: str, name: str, query: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """An object, or with an empty name all of a namespace; SurgeRefusedError names the right that is missing."""
    try:
        found: dict[str, Any] = await api.read(resource.path(namespace, name), query, msgspec.json.decode)
    except Forbidden as error:
        raise SurgeRefusedError(missing_right(error, resource, ("get" if name else "list",))) from error
    except NotFound as error:
        raise SurgeRefusedError(f"its {resource.kind} {name} is gone") from error
    return found


async def raise_replicas(api: Api, surge: Surge, found: Mapping[str, Any], permit: Permit) -> None:
    """One replica more, and the record of it; Conflict if the object has changed since it was read."""
    of = ObjectRef(
        surge.namespace, surge.name, found["metadata"]["uid"], resource_version=found["metadata"]["resourceVersion"]
    )
    metadata = {**of.preconditions, "annotations": {ANNOTATION: msgspec.json.encode(surge.record).decode()}}
    change = {"metadata": metadata, "spec": {"replicas": surge.record.replicas + 1}}
    await _patch(api, surge.resource, of, change, permit)


async def retire(api: Api, surge: Surge, permit: Permit | None) -> bool:
    """Have the old pod go; False, and it stays, if somebody else has set another number of replicas."""
    await set_cost(api, surge.pod, FIRST_TO_GO, permit)
    await asyncio.sleep(COST_SEEN)
    is_lowered = await lower_replicas(api, surge, permit)
    if not is_lowered:
        await set_cost(api, surge.pod, surge.record.cost, permit)
    return is_lowered


async def wait_until_gone(api: Api, pod: ObjectRef, cost: str | None, permit: Permit | None) -> None:
    """Give a pod that was to go first its deletion cost back (None: it had none) if its controller does not take it away.

    A controller that has not seen the costs yet, for instance because the API server was away, takes another one.
    """
    for _ in range(_LOOKS):
        if await _is_going(api, pod):
            return
        await asyncio.sleep(COST_SEEN)
    await set_cost(api, pod, cost, permit)


async def _is_going(api: Api, pod: ObjectRef) -> bool:
    try:
        found = await api.read(RESOURCES["Pod"].path(pod.namespace, pod.name), {}, msgspec.json.decode)
    except NotFound:
        return True
    return found["metadata"].get("uid", pod.uid) != pod.uid or "deletionTimestamp" in found["metadata"]


async def lower_replicas(api: Api, surge: Surge, permit: Permit | None) -> bool:
    """The number of replicas before the surge, without its record; False if somebody else has set another one, which stays."""
    raised, key = surge.record.replicas + 1, ANNOTATION.replace("/", "~1")
    test = {"op": "test", "path": "/spec/replicas", "value": raised}
    back = {"op": "replace", "path": "/spec/replicas", "value": surge.record.replicas}
    remove = {"op": "remove", "path": f"/metadata/annotations/{key}"}
    is_lowered = await _changed(api, surge, [test, back, remove], permit)
    if not is_lowered:
        await _changed(api, surge, [remove], permit)
    return is_lowered


async def _changed(api: Api, surge: Surge, steps: list[dict[str, Any]], permit: Permit | None) -> bool:
    """Whether the workload was changed, or is gone; False if it is not as the steps expect it."""
    namespace, name = surge.namespace, surge.name
    try:
        await objects.patch(api, surge.resource, namespace, name, steps, kind=PatchKind.JSON, permit=permit)
    except NotFound:
        return True
    except ClientError as error:
        if objects.is_outdated(error):
            return False
        raise
    return True


async def set_cost(api: Api, pod: ObjectRef, cost: str | None, permit: Permit | None) -> None:
    """Set the deletion cost of a pod, or remove it; nothing if the pod is gone."""
    change = {"metadata": {"uid": pod.uid, "annotations": {DELETION_COST: cost}}}
    with suppress(NotFound, Conflict):
        await _patch(api, RESOURCES["Pod"], pod, change, permit)


async def _patch(api: Api, resource: ApiResource, of: ObjectRef, change: Any, permit: Permit | None) -> None:
    """A merge patch; ClientError names the right that is missing."""
    try:
        await objects.patch(api, resource, of.namespace, of.name, change, kind=PatchKind.MERGE, permit=permit)
    except Forbidden as error:
        raise ClientError(missing_right(error, resource, ("patch",))) from error
