"""Surges that were left half done: the next process ends them, forwards if the new pod is ready and backwards otherwise."""

from __future__ import annotations

import json
from typing import Any

import pytest

from client.double import Double as Server
from client.double import a_status, an_answer, an_api
from executing.surged import (
    DEPLOYMENT,
    NEW,
    POD,
    PODS,
    a_left_surge,
    a_list,
    a_member,
    a_move,
    a_server,
    new_pod,
    patches,
    surging,
)
from restow.executing.ending_surges import end_all
from restow.executing.surged_workloads import ANNOTATION
from restow.workloads.controllers import DELETION_COST

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


async def ended(server: Server, *deployments: Any, pods: Any = (), old: Any = None) -> list[tuple[str, Any]]:
    """What is patched where surges were left; ``pods`` are those of the namespace, ``old`` the pod that moves, if it is there."""
    said: list[str] = []
    server.answers("GET", "/apis/apps/v1/deployments", a_list(*deployments))
    server.answers("GET", "/apis/apps/v1/replicasets", a_list())
    server.answers("GET", PODS, a_list(*pods))
    server._answers["GET", POD][:] = [a_status(404, "NotFound", "gone") if old is None else an_answer(old)]
    async with an_api(server.url) as api:
        found = await end_all(api, said.append)
    assert (found.workloads, found.problems, said) == (["Deployment default/shop"], [], [])
    return patches(server)


@pytest.mark.parametrize(("ready", "cost"), [(2, "-2147483648"), (1, None)])
async def test_a_surge_that_was_left_goes_forwards_if_all_are_ready_and_else_backwards(ready: int, cost: Any) -> None:
    broken = {"metadata": {"name": "x", "namespace": "default", "annotations": {ANNOTATION: "what?"}}}
    others = a_member("other", app="other", cost="-2147483648"), a_member("uid-web-0", cost="-2147483648")
    async with a_server() as server:
        (pod, marked), (workload, lowered) = await ended(server, a_left_surge(ready), broken, pods=others)
    assert (pod, marked["metadata"]["annotations"]) == (POD, {DELETION_COST: cost})
    assert (workload, lowered[0]["value"], lowered[1]["value"]) == (DEPLOYMENT, 2, 1)


async def test_a_surge_that_was_being_undone_goes_backwards_although_all_are_ready() -> None:
    """The new pod is marked already; forwards, the mark would stay on it."""
    async with a_server() as server:
        (pod, marked), _ = await ended(server, a_left_surge(2), pods=[a_member("uid-new-1", cost="-2147483648")])
    assert (pod, marked["metadata"]["annotations"]) == (POD, {DELETION_COST: None})


async def test_a_new_pod_that_does_not_go_loses_its_mark_although_nobody_leads_the_surge_any_more() -> None:
    marked = a_member("uid-new-1", cost="-2147483648")
    marked["metadata"]["name"] = "new-1"
    async with a_server() as server:
        server.answers("GET", NEW, an_answer(marked))
        *_, (pod, unmarked) = await ended(server, a_left_surge(2), pods=[marked])
    assert (pod, unmarked["metadata"]["annotations"]) == (NEW, {DELETION_COST: None})


async def test_where_the_controller_takes_another_pod_the_mark_is_taken_back() -> None:
    async with a_server() as server:
        *_, (pod, unmarked) = await ended(server, a_left_surge(2), old=a_member("uid-web-0"))
    assert (pod, unmarked["metadata"]["annotations"]) == (POD, {DELETION_COST: None})


@pytest.mark.parametrize("old", [a_member("another"), a_member("uid-web-0", deletionTimestamp="2026-01-01T00:00:00Z")])
async def test_a_pod_that_is_on_its_way_out_keeps_its_mark(old: dict[str, Any]) -> None:
    async with a_server() as server:
        assert len(await ended(server, a_left_surge(2), old=old)) == 2


async def test_an_old_pod_that_does_not_go_loses_its_mark() -> None:
    """Its controller has taken another one; the number of replicas is as before."""
    async with a_server(cost="5") as server, surging(server) as surges:
        assert await surges.begin(a_move()) == a_move()
        assert await surges.finish(a_move(), new_pod()) is None
        before = len(patches(server))
        await surges.undo(a_move(), new_pod())
    ((pod, unmarked),) = patches(server)[before:]
    assert (pod, unmarked["metadata"]["annotations"]) == (POD, {DELETION_COST: "5"})


async def test_a_surge_is_ended_on_a_deployment_that_another_object_controls() -> None:
    """Only of ReplicaSets is the annotation a copy."""
    record = {"pod": "web-0", "uid": "uid-web-0", "replicas": 1, "time": "2026-01-01T00:00:00Z"}
    owner = {"apiVersion": "example.com/v1", "kind": "Shop", "name": "shop", "controller": True}
    metadata = {"name": "shop", "namespace": "default", "ownerReferences": [owner]}
    metadata["annotations"] = {ANNOTATION: json.dumps(record)}
    async with a_server() as server, an_api(server.url) as api:
        server.answers("GET", "/apis/apps/v1/deployments", a_list({"metadata": metadata}))
        server.answers("GET", "/apis/apps/v1/replicasets", a_list())
        server.answers("GET", PODS, a_list())
        assert (await end_all(api, pytest.fail)).workloads == ["Deployment default/shop"]


async def test_what_a_deployment_has_copied_to_its_replica_set_is_no_surge() -> None:
    """The copy stays for ever, and the number of replicas may come to be the raised one by chance."""
    record = {"pod": "web-0", "uid": "uid-web-0", "replicas": 1, "time": "2026-01-01T00:00:00Z"}
    owner = {"kind": "Deployment", "name": "shop", "controller": True}
    metadata = {"name": "web", "annotations": {ANNOTATION: json.dumps(record)}, "ownerReferences": [owner]}
    async with a_server() as server, an_api(server.url) as api:
        server.answers("GET", "/apis/apps/v1/deployments", a_list())
        server.answers("GET", "/apis/apps/v1/replicasets", a_list({"metadata": metadata, "spec": {"replicas": 2}}))
        assert (await end_all(api, pytest.fail)).workloads == []
    assert patches(server) == []
