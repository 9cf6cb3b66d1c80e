"""Removing an operator, on an API server in memory: in which order, and what happens to what cannot be removed."""

from __future__ import annotations

from typing import Any

import pytest

from builders.kubedeschedulers import an_object
from builders.memory_api import MemoryApi
from restow.client.errors import Forbidden
from restow.operator.objects import LABELS
from restow.operator.resource import NAMESPACE
from restow.operator.soft_taints import OVERUTILIZED
from restow.operator.syncing import FINALIZER
from restow.operator.uninstalling import Item, Uninstalling, inventory

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

RBAC = "/apis/rbac.authorization.k8s.io/v1"
RESOURCE = f"/apis/operator.openshift.io/v1/namespaces/{NAMESPACE}/kubedeschedulers/cluster"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/descheduler-operator"
DEFINITION = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/kubedeschedulers.operator.openshift.io"
ROLE = f"{RBAC}/clusterroles/openshift-descheduler-operand"
SPACE = f"/api/v1/namespaces/{NAMESPACE}"
SOFT = {"key": OVERUTILIZED, "value": "true", "effect": "PreferNoSchedule"}
FOREIGN = {"key": "a", "effect": "NoSchedule"}


def installed(*finalizers: str, space: str = NAMESPACE) -> MemoryApi:
    """A cluster with an operator, with what it made, and with somebody else's things."""
    api = MemoryApi()
    thing = an_object("LongLifecycle")
    thing["metadata"] |= {"finalizers": [*finalizers], "resourceVersion": "1", "namespace": space}
    api.put(RESOURCE.replace(NAMESPACE, space), thing)
    api.put(DEPLOYMENT.replace(NAMESPACE, space), {"metadata": {"name": "descheduler-operator", "namespace": space}})
    for plural in ("clusterroles", "clusterrolebindings"):
        api.put(
            f"{RBAC}/{plural}/openshift-descheduler-operator", {"metadata": {"name": "openshift-descheduler-operator"}}
        )
    api.put(ROLE, {"metadata": {"name": "openshift-descheduler-operand", "labels": dict(LABELS)}})
    api.put(f"/api/v1/namespaces/{space}", {"metadata": {"name": space}})
    api.put(DEFINITION, {"metadata": {"name": DEFINITION.rpartition("/")[2]}})
    return beside(api)


def beside(api: MemoryApi) -> MemoryApi:
    api.put("/api/v1/nodes/n1", {"metadata": {"name": "n1"}, "spec": {"taints": [FOREIGN, SOFT]}})
    api.put("/api/v1/namespaces/shop", {"metadata": {"name": "shop"}})
    api.put(f"{RBAC}/clusterroles/view", {"metadata": {"name": "view"}})
    return api


async def removal(api: MemoryApi, namespace: str = NAMESPACE, patience: float = 60.0) -> tuple[Uninstalling, list[str]]:
    said: list[str] = []
    given: Any = api
    uninstalling = Uninstalling(given, namespace, await inventory(given, namespace), patience, said.append)
    await uninstalling.run()
    return uninstalling, said


async def test_what_there_is_in_the_order_of_its_removal():
    given: Any = installed()
    assert [(each.step, each.kind, each.name) for each in await inventory(given, NAMESPACE)] == [
        ("resource", "KubeDescheduler", "cluster"),
        ("objects", "ClusterRole", "openshift-descheduler-operand"),
        ("taints", "Node", "n1"),
        ("operator", "Deployment", "descheduler-operator"),
        ("operator", "ClusterRoleBinding", "openshift-descheduler-operator"),
        ("operator", "ClusterRole", "openshift-descheduler-operator"),
        ("namespace", "Namespace", NAMESPACE),
        ("definition", "CustomResourceDefinition", "kubedeschedulers.operator.openshift.io"),
    ]


async def test_everything_goes_and_nothing_else_does():
    api = installed()
    uninstalling, said = await removal(api)
    assert uninstalling.problems == []
    assert await uninstalling.left() == ()
    assert set(api.stored) == {f"{RBAC}/clusterroles/view", "/api/v1/namespaces/shop", "/api/v1/nodes/n1"}
    assert api.stored["/api/v1/nodes/n1"]["spec"]["taints"] == [FOREIGN]
    deleted = [path for method, path in api.written if method == "DELETE"]
    assert deleted[0] == RESOURCE
    assert deleted[-2:] == [SPACE, DEFINITION]
    assert said[0].startswith("deleting the KubeDescheduler")


async def test_where_no_operator_lets_the_resource_go_it_is_freed_after_everything_else():
    api = installed(FINALIZER)
    uninstalling, _ = await removal(api)
    assert await uninstalling.left() == ()
    assert len(uninstalling.problems) == 1
    assert "not done within 60 s" in uninstalling.problems[0]
    freed = api.written.index(("PATCH", RESOURCE))
    assert api.written.index(("PATCH", "/api/v1/nodes/n1")) < freed
    assert api.written.index(("DELETE", ROLE)) < freed < api.written.index(("DELETE", SPACE))


async def test_somebody_elses_finalizer_is_kept():
    api = installed(FINALIZER, "example.com/backup")
    uninstalling, _ = await removal(api)
    assert api.stored[RESOURCE]["metadata"]["finalizers"] == ["example.com/backup"]
    assert Item("resource", "KubeDescheduler", "cluster", NAMESPACE) in await uninstalling.left()
    assert any(each.startswith("freeing the KubeDescheduler: not done") for each in uninstalling.problems)


async def test_what_is_refused_is_told_and_the_rest_is_removed():
    api = installed()

    def trouble(method: str, path: str) -> None:
        if (method, path) == ("DELETE", ROLE):
            raise Forbidden(403, "Forbidden", "no")

    api.trouble = trouble
    uninstalling, _ = await removal(api)
    assert [each.name for each in await uninstalling.left()] == ["openshift-descheduler-operand"]
    assert "deleting what the operator has left: the API server answered 403 Forbidden: no" in uninstalling.problems


async def test_it_can_be_repeated():
    api = installed()
    await removal(api)
    api.written.clear()
    uninstalling, said = await removal(api)
    assert (api.written, said, uninstalling.problems) == ([], [], [])


async def test_a_namespace_in_which_there_is_no_operator_stays():
    api = beside(MemoryApi())
    del api.stored["/api/v1/nodes/n1"]
    given: Any = api
    assert await inventory(given, "shop") == ()
    await removal(api, "shop")
    assert "/api/v1/namespaces/shop" in api.stored


async def test_an_operator_in_a_namespace_of_another_name_goes_with_it():
    api = installed(space="tools")
    uninstalling, _ = await removal(api, "tools")
    assert await uninstalling.left() == ()
    assert "/api/v1/namespaces/tools" not in api.stored


async def test_in_an_empty_cluster_there_is_nothing():
    given: Any = MemoryApi()
    assert await inventory(given, NAMESPACE) == ()
