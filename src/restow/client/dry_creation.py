"""What the API server would make of a new pod of a controller, from a server-side dry run.

Admission plugins, policies and webhooks act as they would for the controller's own request, except those that check the
user. Nothing is written. Source: ``dryRun=All``, Kubernetes 1.36; the pods that the controllers of 1.36 create.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from restow.client.errors import Forbidden, missing_right
from restow.client.resources import RESOURCES
from restow.client.transport import Api, Call, decoded
from restow.errors import ClientError
from restow.kube import nulls
from restow.kube.kinds import API_VERSIONS
from restow.kube.objects import OwnerReference, Pod

_DRY_RUN: Final = {"dryRun": "All"}
_DECODER: Final = msgspec.json.Decoder(Pod)


async def read_whole(api: Api, kind: str, namespace: str, name: str) -> dict[str, Any]:
    """An object with all of its fields; NotFound, or ClientError that names the right which is missing."""
    resource = RESOURCES[kind]
    try:
        found: dict[str, Any] = await api.read(resource.path(namespace, name), {}, msgspec.json.decode)
    except Forbidden as error:
        raise ClientError(missing_right(error, resource, ("get",))) from error
    return found


async def created(api: Api, namespace: str, owner: OwnerReference, template: dict[str, Any]) -> Pod:
    """The pod of a template, as the API server would keep it; ApiError says why it would be refused."""
    body = msgspec.json.encode(_pod(namespace, owner, template))
    call = Call("POST", RESOURCES["Pod"].path(namespace), _DRY_RUN, body)
    return decoded(await api.send(call), lambda answer: nulls.decode(_DECODER, answer), call)


def why_refused(error: Forbidden) -> str:
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
