"""Surges of the Rollouts of Argo: what is asked of an API server, and when they are left alone; in virtual time."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from client.double import Double, a_double, a_status, an_answer, an_api
from executing.double import a_pod, a_task
from restow.client.transport import Api
from restow.executing.ending_surges import end_all
from restow.executing.surged_workloads import ANNOTATION, reason_against
from restow.executing.surging import Surging
from restow.executing.task import Task
from restow.policies.codes import ReplacementMode

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

API = "argoproj.io/v1alpha1"
ROLLOUTS = f"/apis/{API}/rollouts"
ROLLOUT = f"/apis/{API}/namespaces/default/rollouts/shop"
WORKLOADS = "/apis/apps/v1"
REPLICA_SET = f"{WORKLOADS}/namespaces/default/replicasets/web"
POD = "/api/v1/namespaces/default/pods/web-0"
LISTS = (
    "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
    "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
    "/api/v1/namespaces/default/resourcequotas",
)
RECORD = json.dumps({"pod": "web-0", "uid": "uid-web-0", "replicas": 1, "time": "2026-01-01T00:00:00Z"})
LEFT = {"name": "shop", "namespace": "default", "annotations": {ANNOTATION: RECORD}}


def a_move() -> Task:
    task = a_task("web-0", candidates=["b"])
    return structs.replace(task, move=structs.replace(task.move, replacement=ReplacementMode.SURGE))


def a_rollout(replicas: int | None = 1, *, spec: Any = None, **status: Any) -> dict[str, Any]:
    """A Rollout with one version and all of its pods, but for the changes; None says nothing of their number."""
    counts = dict.fromkeys(("replicas", "availableReplicas", "updatedReplicas"), replicas or 1)
    hashes = {"stableRS": "7f9c", "currentPodHash": "7f9c", "observedGeneration": "3"}
    return {
        "metadata": {"name": "shop", "uid": "u-shop", "resourceVersion": "7", "generation": 3},
        "spec": ({} if replicas is None else {"replicas": replicas}) | (spec or {}),
        "status": counts | hashes | status,
    }


@asynccontextmanager
async def a_server(rollout: dict[str, Any] | None = None, *, version: str = API) -> AsyncIterator[tuple[Double, Api]]:
    """An API server with one Rollout, its ReplicaSet and its pod."""
    owner = {"apiVersion": version, "kind": "Rollout", "name": "shop", "controller": True}
    async with a_double() as server, an_api(server.url) as api:
        server.answers("GET", REPLICA_SET, an_answer({"metadata": {"name": "web", "ownerReferences": [owner]}}))
        server.answers("GET", ROLLOUT, an_answer(rollout or a_rollout()))
        server.answers("GET", POD, an_answer({"metadata": {"name": "web-0"}, "spec": {"containers": [{}]}}))
        for path in (*LISTS, f"{WORKLOADS}/deployments", f"{WORKLOADS}/replicasets"):
            server.answers("GET", path, an_answer({"metadata": {}, "items": []}))
        for path in (ROLLOUT, POD):
            server.answers("PATCH", path, an_answer({}))
        yield server, api


def surging(api: Api) -> Surging:
    return Surging(api, lambda: 60.0, lambda: 1_800_000_000.0, pytest.fail)


def patches(server: Double) -> list[Any]:
    return [each.json for each in server.asked if each.method == "PATCH" and each.path == ROLLOUT]


@pytest.mark.parametrize("replicas", [1, None, 3])
async def test_a_rollout_gets_one_pod_more_and_its_number_back(replicas: int | None) -> None:
    """One that does not say how many pods it wants has one."""
    wanted = replicas or 1
    async with a_server(a_rollout(replicas)) as (server, api):
        surges = surging(api)
        assert await surges.begin(a_move()) == a_move()
        new = replace(a_pod(a_move()), name="new-1", uid="uid-new-1", node="b")
        assert await surges.finish(a_move(), new) is None
    raised, lowered = patches(server)
    assert raised["spec"] == {"replicas": wanted + 1}
    assert json.loads(raised["metadata"]["annotations"][ANNOTATION])["replicas"] == wanted
    assert [step.get("value") for step in lowered] == [wanted + 1, wanted, None]


@pytest.mark.parametrize(
    ("rollout", "why"),
    [
        (a_rollout(), None),
        (a_rollout(spec={"paused": True}), "is paused"),
        (a_rollout(currentPodHash="55cd"), "has steps under way"),
        (a_rollout(stableRS=None), "has steps under way"),
        (a_rollout(pauseConditions=[{"reason": "CanaryPauseStep"}]), "has steps under way"),
        (a_rollout(abort=True, currentPodHash="55cd"), "has aborted its steps"),
        (a_rollout(2, availableReplicas=1), "does not have all of its 2 pods available and up to date"),
        (a_rollout(updatedReplicas=0), "does not have all of its 1 pods available and up to date"),
        (a_rollout(observedGeneration="2"), "does not have all of its 1 pods available and up to date"),
        (a_rollout(observedGeneration="5d4f8"), "does not have all of its 1 pods available and up to date"),
        (a_rollout() | {"status": {}}, "has steps under way"),
    ],
)
async def test_a_rollout_is_left_alone_while_it_is_not_as_it_should_be(rollout: Any, why: str | None) -> None:
    assert reason_against("Rollout", rollout) == why


async def test_a_rollout_that_is_scaled_by_a_program_is_left_alone() -> None:
    scaled = {"metadata": {"name": "hpa"}, "spec": {"scaleTargetRef": {"kind": "Rollout", "name": "shop"}}}
    async with a_server() as (server, api):
        server._answers["GET", LISTS[0]][:] = [an_answer({"items": [scaled]})]
        assert await surging(api).begin(a_move()) == "its Rollout shop is scaled by HorizontalPodAutoscaler hpa"
    assert patches(server) == []


async def test_a_rollout_of_another_group_is_left_alone() -> None:
    async with a_server(version="rollouts.example/v1") as (server, api):
        assert await surging(api).begin(a_move()) == "its ReplicaSet web belongs to Rollout shop"
    assert patches(server) == []


@pytest.mark.parametrize("ready", [1, 2])
async def test_a_surge_of_a_rollout_that_was_left_is_ended(ready: int) -> None:
    async with a_server() as (server, api):
        left = {"metadata": LEFT, "status": {"readyReplicas": ready, "observedGeneration": "3"}}
        server.answers("GET", f"/apis/{API}", an_answer({}))
        server.answers("GET", ROLLOUTS, an_answer({"metadata": {}, "items": [left]}))
        server.answers("GET", "/api/v1/namespaces/default/pods", an_answer({"metadata": {}, "items": []}))
        server._answers["GET", POD][:] = [a_status(404, "NotFound", "gone")]
        assert (await end_all(api, pytest.fail)).workloads == ["Rollout default/shop"]
    (lowered,) = patches(server)
    assert [step.get("value") for step in lowered] == [2, 1, None]


async def test_without_argo_nothing_is_looked_for_and_nothing_is_said() -> None:
    async with a_server() as (_, api):
        assert (await end_all(api, pytest.fail)).workloads == []


@pytest.mark.parametrize("is_served", [False, True])
async def test_without_the_right_to_rollouts_something_is_said_only_where_there_are_any(*, is_served: bool) -> None:
    """The API server says that the right is missing before it says that the kind is."""
    said: list[str] = []
    words = 'rollouts is forbidden: User "restow" cannot list resource "rollouts" in API group "argoproj.io"'
    async with a_server() as (server, api):
        server.answers("GET", ROLLOUTS, a_status(403, "Forbidden", words))
        if is_served:
            server.answers("GET", f"/apis/{API}", an_answer({"kind": "APIResourceList"}))
        assert (await end_all(api, said.append)).workloads == []
    expected = (
        "surges of Rollouts may be under way, and are not ended: restow may not list rollouts; "
        'add the rule {apiGroups: ["argoproj.io"], resources: ["rollouts"], verbs: [list]} to its ClusterRole'
    )
    assert said == [expected] * is_served
