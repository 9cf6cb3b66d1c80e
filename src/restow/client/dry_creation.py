"""Asking the API server what would become of a new pod of a controller, in a server-side dry run.

The pod is made of the controller's template as it is now, so every admission plugin, policy and webhook speaks as it would
for the controller's own request, except those that look at who asks. Nothing is written.
Source: ``dryRun=All``, Kubernetes 1.36; the pods that the controllers of 1.36 create.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from restow.client.errors import ClientError, Forbidden, missing_right
from restow.client.resources import RESOURCES
from restow.client.transport import Api, Call, decoded
from restow.kube import nulls
from restow.kube.kinds import API_VERSIONS
from restow.kube.objects import OwnerReference, Pod

#: The kinds whose pods are their template with nothing but a name, an owner and labels added.
KINDS: Final = ("ReplicaSet", "ReplicationController", "Job")
_DRY_RUN: Final = {"dryRun": "All"}
_DECODER: Final = msgspec.json.Decoder(Pod)


async def created(api: Api, namespace: str, owner: OwnerReference) -> Pod:
    """The next pod of a controller, as the API server would keep it.

    ApiError says why it would be refused, NotFound also that the controller is gone.
    """
    controller = await _controller(api, namespace, owner)
    call = Call(
        "POST", RESOURCES["Pod"].path(namespace), _DRY_RUN, msgspec.json.encode(_pod(namespace, controller, owner))
    )
    return decoded(await api.send(call), lambda body: nulls.decode(_DECODER, body), call)


async def _controller(api: Api, namespace: str, owner: OwnerReference) -> dict[str, Any]:
    resource = RESOURCES[owner.kind]
    try:
        found: dict[str, Any] = await api.read(resource.path(namespace, owner.name), {}, msgspec.json.decode)
    except Forbidden as error:
        raise ClientError(missing_right(error, resource, ("get",))) from error
    return found


def why_refused(error: Forbidden) -> str:
    """What to say where the API server forbids the creation: the right that is missing, or what an admission plugin says."""
    if "cannot create resource" in error.answer:
        return missing_right(error, RESOURCES["Pod"], ("create",))
    return error.message


def _pod(namespace: str, controller: dict[str, Any], owner: OwnerReference) -> dict[str, Any]:
    """The request that the controller would send."""
    template = controller["spec"]["template"]
    told = template.get("metadata") or {}
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
        "labels": told.get("labels") or {},
        "annotations": told.get("annotations") or {},
        "ownerReferences": [reference],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
