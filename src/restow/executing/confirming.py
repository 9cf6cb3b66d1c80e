"""Evictions that are asked for only once the API server has confirmed the replacement (``--confirm-replacements``).

A plan assumes what the replacement requests. Webhooks and policies may make another pod of it, or refuse it, and no dump
shows that. So the next pod of the controller is created in a dry run first, and what the scheduler would read of it is
compared with what the plan assumes. A pod whose eviction is asked for again is not confirmed again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from restow.client import eviction
from restow.client.errors import Forbidden, NotFound, missing_right
from restow.client.resources import RESOURCES
from restow.client.transport import Api, Call, decoded
from restow.cluster.pod_classes import Aspect, columns_of
from restow.cluster.pod_store import PodStore
from restow.errors import ClientError, InputError
from restow.executing.surroundings import Evicting
from restow.executing.task import Task
from restow.kube import decoding
from restow.kube.objects import API_VERSIONS, OwnerReference, Pod, Workload
from restow.workloads import controllers
from restow.workloads.made_of import next_revision

_DRY_RUN: Final = {"dryRun": "All"}
_DECODER: Final = msgspec.json.Decoder(Pod)
_WORKLOAD: Final = msgspec.json.Decoder(Workload)
#: The kinds whose pods are their template with nothing but names, labels and claims added.
KINDS: Final = ("ReplicaSet", "ReplicationController", "Job", controllers.STATEFUL_SET)
#: Labels that distinguish the pods of one controller; the dry run leaves them out.
_OF_ONE_POD: Final = (
    "apps.kubernetes.io/pod-index",
    "batch.kubernetes.io/job-completion-index",
    "controller-revision-hash",
    "statefulset.kubernetes.io/pod-name",
)
#: The API's names of what the columns of a pod hold.
_FIELDS: Final = {
    "labels": "metadata.labels",
    "resources": "resources",
    "tolerations": "spec.tolerations",
    "rules": "spec.nodeSelector or spec.affinity",
    "spread": "spec.topologySpreadConstraints",
    "images": "containers[].image",
    "init_images": "initContainers[].image",
    "volume_images": "volumes[].image",
    "ports": "hostPort",
    "schedulers": "spec.schedulerName",
    "volumes": "spec.volumes",
    "priority": "spec.priority",
}


async def _read_whole(api: Api, kind: str, namespace: str, name: str) -> dict[str, Any]:
    """An object with all of its fields; NotFound, or ClientError that names the right which is missing."""
    resource = RESOURCES[kind]
    try:
        found: dict[str, Any] = await api.read(resource.path(namespace, name), {}, msgspec.json.decode)
    except Forbidden as error:
        raise ClientError(missing_right(error, resource, ("get",))) from error
    return found


async def _created(api: Api, namespace: str, owner: OwnerReference, template: dict[str, Any]) -> Pod:
    """The pod of a template, as the API server would keep it; ApiError says why it would be refused."""
    body = msgspec.json.encode(_pod(namespace, owner, template))
    call = Call("POST", RESOURCES["Pod"].path(namespace), _DRY_RUN, body)
    return decoded(await api.send(call), lambda answer: decoding.decode(_DECODER, answer), call)


def _why_refused(error: Forbidden) -> str:
    """What to say where the API server forbids the creation: the right that is missing, or what an admission plugin says."""
    if "cannot create resource" in error.answer:
        return missing_right(error, RESOURCES["Pod"], ("create",))
    return error.message


def _pod(namespace: str, owner: OwnerReference, template: dict[str, Any]) -> dict[str, Any]:
    """The request that a controller would send, except for the name: that of the running pod may be taken."""
    given = template.get("metadata") or {}
    reference = {
        "apiVersion": API_VERSIONS[owner.kind],
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    metadata = {
        "generateName": f"{owner.name}-",
        "namespace": namespace,
        "labels": given.get("labels") or {},
        "annotations": given.get("annotations") or {},
        "ownerReferences": [reference],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


@dataclass(slots=True)
class ConfirmedEvictions:
    """An ``Evicting`` that has replacements confirmed first; one for each plan."""

    evicting: Evicting
    api: Api
    #: The moves (their numbers) whose replacements are as planned.
    _confirmed: set[int] = field(default_factory=set, init=False)

    async def evict(self, task: Task) -> eviction.Outcome:
        """What the other one answers; Unconfirmed, and nothing was asked for, where the replacement would be another pod."""
        if task.number not in self._confirmed:
            problem = await self._problem(task)
            if problem is not None:
                return eviction.Unconfirmed(problem)
            self._confirmed.add(task.number)
        return await self.evicting.evict(task)

    async def _problem(self, task: Task) -> str | None:
        """Why the replacement is not confirmed; None if it is, if there will be none, or if its kind cannot be checked."""
        if task.owner is None or not task.is_replaced or task.owner.kind not in KINDS:
            return None
        namespace, owner = task.move.pod.namespace, task.owner
        try:
            template = await self._template(namespace, owner, task.move.pod.name)
            pod = await _created(self.api, namespace, owner, template)
        except NotFound:
            return f"its {owner.kind} {owner.name} is gone"
        except Forbidden as error:
            return f"its replacement would be refused: {_why_refused(error)}"
        except ClientError as error:
            return f"its replacement is not confirmed: {error}"
        return difference(task.replacement, pod)

    async def _template(self, namespace: str, owner: OwnerReference, pod: str) -> dict[str, Any]:
        """What the next pod with this name is made of."""
        controller = await _read_whole(self.api, owner.kind, namespace, owner.name)
        template: dict[str, Any] = controller["spec"]["template"]
        if owner.kind != controllers.STATEFUL_SET:
            return template
        wire = decoding.decode(_WORKLOAD, msgspec.json.encode(controller))
        revision = next_revision(wire, pod)
        if revision != wire.status.update_revision:
            kept = await _read_whole(self.api, "ControllerRevision", namespace, revision)
            template = kept["data"]["spec"]["template"]
        return _with_claims(template, controller["spec"].get("volumeClaimTemplates") or (), pod)


def _with_claims(template: dict[str, Any], claims: Sequence[dict[str, Any]], pod: str) -> dict[str, Any]:
    """The template with a volume for each claim that a StatefulSet makes for a pod; it replaces one of the same name."""
    names = [each["metadata"]["name"] for each in claims]
    others = [each for each in template["spec"].get("volumes") or () if each["name"] not in names]
    mounted = [{"name": name, "persistentVolumeClaim": {"claimName": f"{name}-{pod}"}} for name in names]
    return {**template, "spec": {**template["spec"], "volumes": [*others, *mounted]}}


def difference(planned: Mapping[str, Any], pod: Pod) -> str | None:
    """What the scheduler would read otherwise of a pod than a plan assumes; None if nothing."""
    store = PodStore()
    try:
        store.add((pod,))
    except InputError as error:
        return f"its replacement cannot be read: {error}"
    made = store.values(pod.metadata.namespace, pod.metadata.name) or {}
    found = list(_differences(planned, made))
    return f"its replacement would not be as planned: {'; '.join(found)}" if found else None


def _differences(planned: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[str]:
    for column in columns_of(Aspect.SCHEDULING):
        if column not in planned:
            continue
        before, now = planned[column], made[column]
        if column == "labels":
            before, now = map(_of_the_template, (before, now))
        elif column in ("tolerations", "volumes"):
            before, now = set(before), set(now)
        if before != now and column == "resources":
            yield f"it would request {_amounts(now)}, not {_amounts(before)}"
        elif before != now:
            yield f"its {_FIELDS.get(column, column)} would differ"


def _of_the_template(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key not in _OF_ONE_POD}


def _amounts(resources: Any) -> str:
    """Amounts as ``cluster.amounts`` has them: CPU in milli."""
    units = {"cpu": "m"}
    asked = [f"{name} {amount}{units.get(name, '')}" for name, amount in sorted(resources.requests.items())]
    return ", ".join(asked) or "nothing"
