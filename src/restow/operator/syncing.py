"""One sync: from what the cluster is to what it should be, and a status that says so.

Nothing is remembered from one sync to the next, so it does not matter how many changes one sync answers, nor where the
one before was cut short. Every error reaches the status; one that may pass is raised after that, to be tried again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from restow.client import objects
from restow.client.errors import ApiError, NotFound, NotPermitted
from restow.client.listing import all_objects
from restow.errors import ClientError, InputError
from restow.kube.duration import SECOND
from restow.kube.timestamps import format_time
from restow.operator.applying import MANAGER, Key, Writing, apply_all, made_objects, remove_all, stop_all
from restow.operator.cluster_facts import read_facts
from restow.operator.desired import Desired, desired
from restow.operator.facts import Installation
from restow.operator.metrics import OperatorMetrics
from restow.operator.objects import KUBEDESCHEDULERS, Object, resource_for
from restow.operator.pods import VERBOSITY
from restow.operator.problems import Problem, conditions_of
from restow.operator.reading import resource_of
from restow.operator.resource import API_VERSION, KIND, ResourceMetadata
from restow.operator.revoking import lets_evict, revoke_evictions
from restow.operator.rules import check_name
from restow.operator.soft_tainter import ACCOUNT
from restow.operator.soft_taints import remove_taints
from restow.operator.status import failed, is_written, status_of, summary_in

#: kopf writes it, and removes it once ``leave`` has done its work.
FINALIZER: Final = "restow.dev/operator"


@dataclass(slots=True, frozen=True)
class Operator:
    """What a sync works with."""

    writing: Writing
    installation: Installation
    metrics: OperatorMetrics = field(default_factory=OperatorMetrics)


async def sync(operator: Operator) -> None:
    """Have everything as the resource says; ClientError or NotPermitted for what may be tried again."""
    ours = None
    for each in await _resources(operator):
        if any(check_name(_metadata(each), operator.installation.namespace)):
            misplaced = _misplaced(operator, each)
            await _write_status(operator, each, misplaced, _status(operator, each, misplaced, {}))
        else:
            ours = each
    if ours is None:
        operator.metrics.conditions(())
        # If the finalizer was removed by force, objects that belong to no namespace are left.
        await _without_resource(operator.writing)
    elif ours["metadata"].get("deletionTimestamp"):
        # ``leave`` removes everything.
        return
    elif FINALIZER in ours["metadata"].get("finalizers", ()):
        await _reconcile(operator, ours)
    elif not lets_evict(ours):
        # Without the finalizer nothing may be created: it would never be removed. Kopf is about to write it.
        await revoke_evictions(operator.writing)


async def leave(operator: Operator) -> None:
    """Take soft taints off nodes and remove everything that was made for the resource; ClientError, NotPermitted."""
    try:
        await remove_taints(operator.writing.api)
    finally:
        await remove_all(operator.writing)


async def _resources(operator: Operator) -> list[Object]:
    try:
        return await all_objects(operator.writing.api, KUBEDESCHEDULERS)
    except NotFound as error:
        raise ClientError(f"the cluster does not know {KIND}; install deploy/operator/crd.yaml: {error}") from error


def _metadata(thing: Object) -> ResourceMetadata:
    return ResourceMetadata(thing["metadata"]["name"], thing["metadata"]["namespace"])


def _misplaced(operator: Operator, thing: Object) -> Desired:
    problems = tuple(check_name(_metadata(thing), operator.installation.namespace))
    return Desired("leave", conditions=conditions_of(problems, ()), problems=problems)


async def _reconcile(operator: Operator, thing: Object) -> None:
    writing, wanted = operator.writing, Desired("leave")
    there: dict[Key, Object] = {}
    trouble: Exception | None = None
    try:
        if not lets_evict(thing):
            await revoke_evictions(writing)
        wanted = await _wanted(operator, thing)
        there = await _carry_out(writing, wanted)
    except NotPermitted:
        raise
    except Exception as error:  # noqa: BLE001 - whatever failed, the status shows it
        trouble, wanted = error, failed(wanted, _problem(error))
    status = _status(operator, thing, wanted, there)
    operator.metrics.conditions(status["conditions"])
    await _write_status(operator, thing, wanted, status)
    if trouble is not None:
        raise trouble


async def _wanted(operator: Operator, thing: Object) -> Desired:
    """Return what a resource means; ClientError for facts that cannot be read."""
    writing = operator.writing
    try:
        resource = resource_of(thing)
        writing.log.set_verbosity(VERBOSITY[resource.spec.operator_log_level])
        facts = await read_facts(writing.api, operator.installation.namespace, resource.spec)
        return desired(resource, facts, operator.installation)
    except InputError as error:
        return failed(Desired("leave"), Problem("UnreadableResource", str(error)))


def _problem(error: Exception) -> Problem:
    reason = error.reason if isinstance(error, ApiError) and error.reason else type(error).__name__
    return Problem(reason, str(error) or reason)


async def _carry_out(writing: Writing, wanted: Desired) -> dict[Key, Object]:
    """Carry out what is wanted; returns the objects that exist then."""
    match wanted.action:
        case "apply":
            if not wanted.soft_taints:
                await _untaint(writing)
            return await apply_all(writing, wanted.objects)
        case "stop":
            return await stop_all(writing)
        case "remove":
            await _remove(writing)
            return {}
    return await made_objects(writing.api, writing.namespace)


async def _without_resource(writing: Writing) -> None:
    try:
        await revoke_evictions(writing)
    finally:
        await _remove(writing)


async def _remove(writing: Writing) -> None:
    await _untaint(writing)
    await remove_all(writing)


async def _untaint(writing: Writing) -> None:
    """Take soft taints off nodes as long as there may be some: the soft tainter's account is the last of its objects to go."""
    account = resource_for({"kind": "ServiceAccount"})
    try:
        await objects.find(writing.api, account, writing.namespace, ACCOUNT)
    except NotFound:
        return
    nodes = await remove_taints(writing.api)
    if nodes:
        writing.log.info("Took soft taints off", nodes=nodes)


def _status(operator: Operator, thing: Object, wanted: Desired, there: dict[Key, Object]) -> Object:
    now = format_time(int(operator.writing.api.server_time.now()) * SECOND)
    generation = thing["metadata"].get("generation", 0)
    return status_of(thing.get("status") or {}, generation, wanted, there, plan=summary_in(there), now=now)


async def _write_status(operator: Operator, thing: Object, wanted: Desired, status: Object) -> None:
    """Write the status where it says something else."""
    writing, metadata = operator.writing, thing["metadata"]
    if is_written(thing.get("status") or {}, status):
        return
    for each in wanted.problems:
        writing.log.warning(f"{metadata['namespace']}/{metadata['name']}: {each.message}")
    head = {"name": metadata["name"], "namespace": metadata["namespace"]}
    body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": head, "status": status}
    await objects.apply(
        writing.api, KUBEDESCHEDULERS, head["namespace"], head["name"], body,
        manager=MANAGER, force=True, subresource="status", permit=writing.permit,
    )  # fmt: skip
