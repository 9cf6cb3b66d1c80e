"""No evictions unless the resource asks for them, even if it is otherwise invalid.

A resource allows evictions if it is managed, its mode is Automatic, and it lists a profile. Otherwise a running
Automatic descheduler must end, even if nothing else follows from the resource: because of an unknown PriorityClass, an
unreadable field, or a fact that the operator may not read. So this comes first in a sync, and depends only on these
fields as they are stored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence

from restow.client import objects
from restow.client.errors import NotFound
from restow.client.listing import Selection, all_objects
from restow.client.transport import Api
from restow.operator.applying import Writing, apply, stop
from restow.operator.objects import DEPLOYMENTS, JOBS, Object, resource_for
from restow.operator.operand import DRY_RUN
from restow.operator.rights import OPERAND, role_for


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
