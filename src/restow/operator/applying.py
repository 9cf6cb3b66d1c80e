"""Makes the cluster have exactly the objects that the operator wants, and no descheduler evict that should not.

Level-based: the cluster is read each time, and only differences are written, so a sync that finds everything as it
should be writes nothing, and the next one completes a sync that was interrupted.

A resource allows evictions if it is managed, its mode is Automatic, and it lists a profile. Otherwise a running Automatic
descheduler must end, even if nothing else follows from the resource: because of an unknown PriorityClass, an unreadable
field, or a fact that the operator may not read. So ``revoke_evictions`` comes first in a sync, and depends only on these
fields as they are stored.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from restow.client import objects
from restow.client.errors import BadRequest, NotFound
from restow.client.listing import Selection, all_objects
from restow.client.resources import ApiResource
from restow.client.transport import Api, Permit
from restow.daemon.logs import Log
from restow.operator.objects import DEPLOYMENTS, JOBS, SELECTOR, WRITTEN, Object, resource_for
from restow.operator.operand import DRY_RUN
from restow.operator.rights import OPERAND, role_for

#: Kind, namespace and name.
Key: TypeAlias = tuple[str, str, str]
_UNPROCESSABLE: Final = 422

#: The field manager of an operator.
MANAGER: Final = "restow-operator"
_HASH: Final = "restow.dev/spec-hash"
#: Others may annotate and label what an operator makes.
_SHARED: Final = frozenset({"apiVersion", "kind", "metadata", "status"})


@dataclass(slots=True, frozen=True)
class Writing:
    """What writing objects needs: a client, a permission and a log."""

    api: Api
    namespace: str
    permit: Permit
    log: Log


def key_of(thing: Object) -> Key:
    """Return what identifies an object."""
    metadata = thing["metadata"]
    return thing["kind"], metadata.get("namespace", ""), metadata["name"]


async def made_objects(api: Api, namespace: str) -> dict[Key, Object]:
    """Read every object that an operator of a namespace has made; ClientError."""
    return {key_of(each): each for resource in WRITTEN for each in await _made(api, resource, namespace)}


async def _made(api: Api, resource: ApiResource, namespace: str) -> list[Object]:
    selection = Selection(namespace if resource.namespaced else "", labels=SELECTOR)
    try:
        found = await all_objects(api, resource, selection)
    except NotFound:
        # The cluster has no such kind.
        return []
    version = f"{resource.group}/{resource.version}" if resource.group else resource.version
    # Items of a list have neither apiVersion nor kind.
    return [{"apiVersion": version, "kind": resource.kind, **each} for each in found if isinstance(each, dict)]


async def apply_all(writing: Writing, wanted: Sequence[Object]) -> dict[Key, Object]:
    """Write the wanted objects and remove all others; returns their current state. ClientError, NotPermitted."""
    live = await made_objects(writing.api, writing.namespace)
    now = {key_of(each): await apply(writing, each, live.get(key_of(each))) for each in wanted}
    await _remove(writing, [each for key, each in live.items() if key not in now])
    return now


async def stop_all(writing: Writing) -> dict[Key, Object]:
    """Stop every descheduler, and change nothing else; returns the current objects."""
    live = await made_objects(writing.api, writing.namespace)
    for each in live.values():
        if each["kind"] in (JOBS.kind, DEPLOYMENTS.kind):
            await stop(writing, each)
    return live


async def stop(writing: Writing, workload: Object) -> None:
    """Stop the pods of a Deployment or Job, if there are any. ClientError, NotPermitted."""
    if workload["kind"] == JOBS.kind:
        await _remove(writing, [workload])
    elif workload["spec"].get("replicas") != 0:
        name = workload["metadata"]["name"]
        writing.log.info("Stopping", v=1, kind=workload["kind"], name=name)
        await objects.patch(
            writing.api,
            DEPLOYMENTS,
            writing.namespace,
            name,
            {"spec": {"replicas": 0}},
            kind=objects.PatchKind.MERGE,
            subresource="scale",
            permit=writing.permit,
        )


async def remove_all(writing: Writing) -> None:
    """Remove all objects; ClientError, NotPermitted."""
    live = await made_objects(writing.api, writing.namespace)
    await _remove(writing, list(live.values()))


async def _remove(writing: Writing, things: Sequence[Object]) -> None:
    """Remove objects, those first that use others."""
    for each in reversed(things):
        metadata = each["metadata"]
        if metadata.get("deletionTimestamp"):
            continue
        writing.log.info("Deleting", v=1, kind=each["kind"], name=metadata["name"])
        try:
            await _delete(writing, each)
        except NotFound:
            continue


async def _delete(writing: Writing, thing: Object) -> None:
    metadata = thing["metadata"]
    await objects.delete(
        writing.api,
        resource_for(thing),
        metadata.get("namespace", ""),
        metadata["name"],
        uid=metadata["uid"],
        permit=writing.permit,
    )


async def apply(writing: Writing, wanted: Object, live: Object | None) -> Object:
    """Write one object, if it differs; returns its current state. ClientError, NotPermitted."""
    if live is not None and wanted["kind"] == JOBS.kind:
        # A Job that has begun is not changed; a new generation of the resource gets a new one.
        return live
    hashed = with_hash(wanted)
    if live is None or not covers(live, hashed):
        live = await _written(writing, hashed, live)
    kept = without_additions(live, hashed)
    if kept == live:
        return live
    writing.log.info(
        "Removing fields that others have added", v=1, kind=wanted["kind"], name=wanted["metadata"]["name"]
    )
    return await _replaced(writing, kept)


async def _written(writing: Writing, wanted: Object, live: Object | None) -> Object:
    name = wanted["metadata"]["name"]
    writing.log.info("Applying", v=1, kind=wanted["kind"], name=name, new=live is None)
    try:
        return await _applied(writing, wanted)
    except BadRequest as error:
        if live is None or error.status != _UNPROCESSABLE:
            raise
        # Some fields can never be changed, such as the role of a binding.
        writing.log.info("Making anew what cannot be changed", kind=wanted["kind"], name=name, message=error.message)
        await _delete(writing, live)
        return await _applied(writing, wanted)


async def _applied(writing: Writing, wanted: Object) -> Object:
    metadata = wanted["metadata"]
    return await objects.apply(
        writing.api,
        resource_for(wanted),
        metadata.get("namespace", ""),
        metadata["name"],
        wanted,
        manager=MANAGER,
        # A field that was changed by hand is changed back.
        force=True,
        permit=writing.permit,
    )


async def _replaced(writing: Writing, thing: Object) -> Object:
    metadata = thing["metadata"]
    return await objects.replace(
        writing.api,
        resource_for(thing),
        metadata.get("namespace", ""),
        metadata["name"],
        thing,
        # The default that the API server sets for a removed field is ours, and not one more addition.
        manager=MANAGER,
        permit=writing.permit,
    )


# The API server fills in defaults, so an object is as it should be if it has every wanted field with its value. A field
# that is no longer wanted is noticed by the annotation with the hash of all wanted fields. Additions by hand are
# noticed by ``managedFields``, which record who set what; defaults have no manager.
def with_hash(wanted: Object) -> Object:
    """Return an object with an annotation that changes with any of its fields."""
    text = json.dumps(wanted, sort_keys=True)
    metadata = wanted["metadata"]
    annotations = {**metadata.get("annotations", {}), _HASH: hashlib.sha256(text.encode()).hexdigest()}
    return {**wanted, "metadata": {**metadata, "annotations": annotations}}


def covers(live: Any, wanted: Any) -> bool:
    """Whether a value has everything that is wanted of it; lists have nothing else."""
    match wanted:
        case dict():
            return isinstance(live, dict) and all(key in live and covers(live[key], wanted[key]) for key in wanted)
        case list():
            is_as_long = isinstance(live, list) and len(live) == len(wanted)
            return is_as_long and all(map(covers, live, wanted))
    return bool(live == wanted)


def without_additions(live: Object, wanted: Object) -> Object:
    """Return an object without the additions of others to wanted fields; the same object if there are none."""
    entries = [each for each in live["metadata"].get("managedFields", ()) if each.get("subresource") != "status"]
    ours = _merged(each.get("fieldsV1", {}) for each in entries if each.get("manager") == MANAGER)
    theirs = _merged(each.get("fieldsV1", {}) for each in entries if each.get("manager") != MANAGER)
    kept = dict(live)
    for key in wanted.keys() - _SHARED:
        added, own = theirs.get(f"f:{key}"), ours.get(f"f:{key}", {})
        if added is not None:
            kept[key] = _kept(live[key], added, own)
    return kept


def _merged(sets: Iterator[Object]) -> Object:
    """Return one set of fields of several."""
    merged: Object = {}
    for each in sets:
        for key, inner in each.items():
            merged[key] = _merged(iter((merged[key], inner))) if key in merged else inner
    return merged


def _kept(value: Any, theirs: Object, ours: Object) -> Any:
    """Return a value without the fields that are theirs alone."""
    if isinstance(value, dict):
        named = ((key, f"f:{key}", inner) for key, inner in value.items())
        return {key: _kept(inner, theirs.get(name, {}), ours.get(name, {})) for key, name, inner in named
                if name not in theirs or name in ours}  # fmt: skip
    if isinstance(value, list):
        items = ((item, _name(item, theirs), _name(item, ours)) for item in value)
        return [_kept(item, theirs.get(name, {}), ours.get(own, {})) for item, name, own in items if own or not name]
    return value


def _name(item: Any, fields: Object) -> str:
    """Return the name that an item of a list has in a set of fields; empty where it is not there."""
    for name in fields:
        kind, _, text = name.partition(":")
        if kind == "v" and json.loads(text) == item:
            return name
        if kind == "k" and isinstance(item, dict) and json.loads(text).items() <= item.items():
            return name
    return ""


def lets_evict(thing: Object) -> bool:
    """Whether a stored KubeDescheduler allows evictions.

    It does if ``mode`` is Automatic, ``profiles`` is not empty, and ``managementState`` is not Removed; or if
    ``managementState`` is Unmanaged, with which the operator changes nothing.
    """
    spec = _spec(thing)
    state = spec.get("managementState")
    return state == "Unmanaged" or (
        spec.get("mode") == "Automatic" and bool(spec.get("profiles")) and state != "Removed"
    )


def _spec(thing: Object) -> Object:
    spec = thing.get("spec")
    return spec if isinstance(spec, dict) else {}


async def revoke_evictions(writing: Writing) -> None:
    """Take the right to evict from the descheduler, and end each that was started with it.

    Writes only what differs. Every step is tried even if another one fails. ClientError, NotPermitted.
    """
    await _all([_revoke(writing), _stop_deschedulers(writing)])


async def _revoke(writing: Writing) -> None:
    role = role_for("Predictive")
    try:
        live = await objects.get(writing.api, resource_for(role), "", OPERAND, Object)
    except NotFound:
        return
    await apply(writing, role, live)


async def _stop_deschedulers(writing: Writing) -> None:
    await _all([stop(writing, each) for each in await _workloads(writing.api, writing.namespace) if evicts(each)])


async def _workloads(api: Api, namespace: str) -> list[Object]:
    """Return the Deployments and Jobs of a namespace, with or without the labels of those that an operator makes."""
    return [
        {"kind": resource.kind, **each}
        for resource in (JOBS, DEPLOYMENTS)
        for each in await all_objects(api, resource, Selection(namespace))
    ]


def evicts(workload: Object) -> bool:
    """Whether a Deployment or Job runs a descheduler that evicts, and does not only log what it would evict."""
    pod = workload["spec"]["template"]["spec"]
    if pod.get("serviceAccountName") != OPERAND or workload["spec"].get("replicas") == 0:
        return False
    return not all(DRY_RUN in (each.get("args") or ()) for each in pod["containers"])


async def _all(steps: Sequence[Awaitable[None]]) -> None:
    """Take every step; raises the first error once all are tried."""
    for outcome in await asyncio.gather(*steps, return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
