"""When the operator takes soft taints off nodes, on an API server in memory."""

from __future__ import annotations

import io
from typing import Any

import pytest

from builders.kubedeschedulers import INSTALLED, an_object
from builders.memory_api import MemoryApi
from restow.client.errors import Forbidden
from restow.client.transport import always
from restow.daemon.logs import Log
from restow.errors import ClientError
from restow.operator.applying import Writing
from restow.operator.objects import LABELS
from restow.operator.operand import SOFT_TAINTER_ACCOUNT
from restow.operator.resource import NAMESPACE
from restow.operator.soft_taints import OVERUTILIZED
from restow.operator.syncing import FINALIZER, Operator, leave, sync

pytestmark = pytest.mark.asyncio

RESOURCE = f"/apis/operator.openshift.io/v1/namespaces/{NAMESPACE}/kubedeschedulers/cluster"
SERVICE_ACCOUNT = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{SOFT_TAINTER_ACCOUNT}"
NODE = "/api/v1/nodes/n1"
SOFT = {"key": OVERUTILIZED, "value": "true", "effect": "PreferNoSchedule"}


def tainted(**spec: Any) -> MemoryApi:
    """A soft tainter has been at work, for a resource that does not need it any more."""
    api = MemoryApi()
    api.put(f"/api/v1/namespaces/{NAMESPACE}", {"metadata": {"name": NAMESPACE}})
    thing = an_object("LongLifecycle", **spec)
    thing["metadata"] |= {"uid": "u-1", "generation": 1, "finalizers": [FINALIZER]}
    api.put(RESOURCE, thing)
    api.put(NODE, {"metadata": {"name": "n1"}, "spec": {"taints": [SOFT]}})
    metadata = {"name": SOFT_TAINTER_ACCOUNT, "namespace": NAMESPACE, "labels": dict(LABELS), "uid": "u-2"}
    api.put(SERVICE_ACCOUNT, {"metadata": metadata})
    return api


def operator_of(api: Any) -> Operator:
    return Operator(Writing(api, NAMESPACE, always, Log(io.StringIO(), "text", 4)), INSTALLED)


def taints(api: MemoryApi) -> list[Any]:
    found: list[Any] = api.stored[NODE]["spec"].get("taints", [])
    return found


async def test_they_go_before_the_soft_tainter_does():
    api = tainted()
    await sync(operator_of(api))
    assert taints(api) == []
    assert SERVICE_ACCOUNT not in api.stored
    assert api.written.index(("PATCH", NODE)) < api.written.index(("DELETE", SERVICE_ACCOUNT))


async def test_the_soft_tainter_stays_until_they_are_gone():
    api = tainted()

    def trouble(method: str, path: str) -> None:
        if (method, path) == ("PATCH", NODE):
            raise Forbidden(403, "Forbidden", "no")

    api.trouble = trouble
    with pytest.raises(ClientError):
        await sync(operator_of(api))
    assert SERVICE_ACCOUNT in api.stored
    (degraded,) = (each for each in api.stored[RESOURCE]["status"]["conditions"] if each["type"] == "Degraded")
    assert "the soft taints of n1 cannot be changed" in degraded["message"]
    api.trouble = lambda *_: None
    await sync(operator_of(api))
    assert taints(api) == []


async def test_without_a_soft_tainter_nodes_are_not_even_read():
    api = tainted()
    del api.stored[SERVICE_ACCOUNT]
    await sync(operator_of(api))
    assert taints(api) == [SOFT]


async def test_they_go_when_the_resource_is_removed():
    api = tainted(managementState="Removed")
    await sync(operator_of(api))
    assert taints(api) == []


async def test_they_go_when_the_resource_is_deleted_whatever_is_left_of_the_soft_tainter():
    api = tainted()
    del api.stored[SERVICE_ACCOUNT]
    await leave(operator_of(api))
    assert taints(api) == []


async def test_where_they_cannot_be_taken_off_everything_else_goes_all_the_same():
    api = tainted()

    def trouble(method: str, path: str) -> None:
        if (method, path) == ("PATCH", NODE):
            raise Forbidden(403, "Forbidden", "no")

    api.trouble = trouble
    with pytest.raises(ClientError):
        await leave(operator_of(api))
    assert SERVICE_ACCOUNT not in api.stored


async def test_they_go_when_the_resource_was_taken_away_by_force():
    api = tainted()
    del api.stored[RESOURCE]
    await sync(operator_of(api))
    assert taints(api) == []
