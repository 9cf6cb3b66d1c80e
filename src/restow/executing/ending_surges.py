"""Ends surges that a restow which is not there any more has begun, by what it has written down on the workloads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct, field

from restow.client.errors import Forbidden, NotFound, missing_right
from restow.client.flow_control import for_each
from restow.client.listing import all_objects
from restow.client.objects import ObjectRef
from restow.client.resources import RESOURCES, ROLLOUTS, ApiResource
from restow.client.transport import Api, Permit
from restow.errors import ClientError
from restow.executing.surged_workloads import (
    ANNOTATION,
    FIRST_TO_GO,
    SURGED,
    Surge,
    SurgeRecord,
    SurgeRefusedError,
    lower_replicas,
    read,
    retire,
    set_cost,
    wait_until_gone,
)
from restow.kube.labels import selector_from
from restow.kube.objects import LabelSelector, OwnerReference
from restow.workloads.controllers import DELETION_COST


class _Metadata(Struct, frozen=True, rename="camel"):
    name: str
    namespace: str = ""
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None


class _Status(Struct, frozen=True, rename="camel"):
    ready_replicas: int = 0


class _Spec(Struct, frozen=True):
    selector: LabelSelector | None = None


class _Marked(Struct, frozen=True):
    """What ending a surge needs to know of a workload."""

    metadata: _Metadata
    spec: _Spec = _Spec()
    status: _Status = _Status()

    def surge(self, resource: ApiResource) -> Surge | None:
        """The surge that is written down; None if none is, or what is written is not restow's.

        The controllers of Deployments and Rollouts copy annotations to ReplicaSets and leave them there (Kubernetes 1.36,
        Argo Rollouts 1.8): no surge.
        """
        written = (self.metadata.annotations or {}).get(ANNOTATION)
        if written is None or (resource is RESOURCES["ReplicaSet"] and self._has_controller):
            return None
        try:
            record = msgspec.json.decode(written, type=SurgeRecord)
        except msgspec.DecodeError:
            return None
        return Surge(resource, self.metadata.namespace, self.metadata.name, record)

    @property
    def _has_controller(self) -> bool:
        return any(each.controller for each in self.metadata.owner_references or ())


class EndedSurges(Struct, frozen=True):
    """What has become of the surges that were under way."""

    #: Workloads whose surge has ended.
    workloads: list[str] = field(default_factory=list)
    #: A sentence for each whose surge could not be ended.
    problems: list[str] = field(default_factory=list)


async def end_all(api: Api, warn: Callable[[str], None], permit: Permit | None = None) -> EndedSurges:
    """End every surge that is under way in the cluster.

    A surge whose pods are all ready goes forwards, unless it was being undone; any other one goes backwards. ClientError
    if workloads cannot be listed; where only Rollouts may not be listed, that is a warning.
    """
    ended = EndedSurges()
    left = [
        (surge, each)
        for resource in SURGED
        for each in await _listed(api, resource, warn)
        if isinstance(each, _Marked) and (surge := each.surge(resource)) is not None
    ]
    await for_each(left, lambda each: _end(api, *each, ended, permit))
    return ended


async def _listed(api: Api, resource: ApiResource, warn: Callable[[str], None]) -> list[Any]:
    """All objects of a kind; of Rollouts none where Argo is not, and a warning where they may not be listed."""
    if resource is ROLLOUTS and not await _is_served(api, resource):
        return []
    try:
        return await all_objects(api, msgspec.structs.replace(resource, type=_Marked))
    except Forbidden as error:
        if resource is not ROLLOUTS:
            raise
        warn(f"surges of Rollouts may be under way, and are not ended: {missing_right(error, resource, ('list',))}")
        return []


async def _is_served(api: Api, resource: ApiResource) -> bool:
    try:
        await api.read(f"/apis/{resource.api_version}", {}, lambda _: None)
    except NotFound:
        return False
    return True


async def _end(api: Api, surge: Surge, found: _Marked, ended: EndedSurges, permit: Permit | None) -> None:
    try:
        unwanted = await _unwanted(api, surge, found)
        if found.status.ready_replicas > surge.record.replicas and not unwanted:
            if await retire(api, surge, permit):
                await wait_until_gone(api, surge.pod, surge.record.cost, permit)
        else:
            await set_cost(api, surge.pod, surge.record.cost, permit)
            await lower_replicas(api, surge, permit)
            for each in unwanted:
                await wait_until_gone(api, each, None, permit)
    except (ClientError, SurgeRefusedError, ValueError) as error:
        ended.problems.append(f"{surge} may have one pod more than it is to have: {error}")
    else:
        ended.workloads.append(str(surge))


async def _unwanted(api: Api, surge: Surge, found: _Marked) -> list[ObjectRef]:
    """The pods of the workload other than the one that moves that are to go first: the new one, if the surge was being undone."""
    selector = selector_from(found.spec.selector)
    listed = await read(api, RESOURCES["Pod"], surge.namespace, "")
    others = (each["metadata"] for each in listed.get("items") or () if each["metadata"]["uid"] != surge.record.uid)
    return [
        ObjectRef(surge.namespace, each["name"], each["uid"])
        for each in others
        if (each.get("annotations") or {}).get(DELETION_COST) == FIRST_TO_GO
        and selector.matches(each.get("labels") or {})
    ]
