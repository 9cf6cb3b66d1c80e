"""After an accident every gate can be taken off by hand."""

from __future__ import annotations

import pytest

from builders import a_node, a_pod
from client.double import Answer, Double, a_double, a_status, an_answer, an_api
from restow.descheduler.steering import Released, release_all
from restow.errors import ClientError

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

ENTRIES = "/api/v1/namespaces/tools/configmaps/restow-steering"
PODS = "/api/v1/pods"
NODES = "/api/v1/nodes"
PLACES = "/api/v1/namespaces/tools/pods"
GATED = {"schedulingGates": [{"name": "restow.dev/steer"}, {"name": "other"}]}


def path(name: str) -> str:
    return f"/api/v1/namespaces/default/pods/{name}"


def pods(*gated: str) -> Answer:
    items = [a_pod("free", node="a"), *(a_pod(name, spec=GATED) for name in gated)]
    return an_answer({"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": items})


def nodes(*fenced: str) -> Answer:
    taints = ["other:NoSchedule", "restow.dev/fence=somebody:NoSchedule"]
    items = [a_node("open"), *(a_node(name, taints=taints) for name in fenced)]
    return an_answer({"kind": "NodeList", "metadata": {"resourceVersion": "1"}, "items": items})


async def released(double: Double) -> Released:
    if not double._answers["GET", NODES]:
        double.answers("GET", NODES, nodes())
    for kind in ("deployments", "replicasets"):
        double.answers("GET", f"/apis/apps/v1/{kind}", an_answer({"metadata": {}, "items": []}))
    double.answers("GET", PLACES, an_answer({"items": []}))
    async with an_api(double.url) as api:
        return await release_all(api, "tools")


async def test_the_config_map_is_emptied_first_and_pods_that_are_gated_meanwhile_are_let_go_too() -> None:
    async with a_double() as double:
        double.answers("PATCH", ENTRIES, an_answer({}))
        double.answers("GET", PODS, pods("web-0", "web-1"), pods("web-2"), pods())
        for at in range(3):
            double.answers("PATCH", path(f"web-{at}"), an_answer({}))
        done = await released(double)
    assert (double.asked[0].path, double.asked[0].json) == (ENTRIES, {"data": None})
    assert done == Released(
        "ConfigMap tools/restow-steering is empty: no new pods are gated",
        ["default/web-0", "default/web-1", "default/web-2"],
    )


async def test_without_a_config_map_pods_are_let_go_all_the_same() -> None:
    async with a_double() as double:
        double.answers("GET", PODS, pods("web-0"), pods())
        double.answers("PATCH", path("web-0"), an_answer({}))
        done = await released(double)
    assert done.entries == "there is no ConfigMap tools/restow-steering: no new pods are gated"
    assert done.pods == ["default/web-0"]


async def test_places_that_nobody_needs_are_freed() -> None:
    held = {"metadata": {"name": "restow-holds-u1", "annotations": {"restow.dev/holds-place-of": "shop/web-0"}}}
    async with a_double() as double:
        double.answers("PATCH", ENTRIES, an_answer({}))
        double.answers("GET", PODS, pods())
        double.answers("GET", PLACES, an_answer({"items": [held]}))
        double.answers("DELETE", f"{PLACES}/restow-holds-u1", an_answer({}))
        done = await released(double)
    assert done.places == ["shop/web-0"]


async def test_a_pod_that_cannot_be_let_go_is_named_once() -> None:
    async with a_double() as double:
        double.answers("PATCH", ENTRIES, an_answer({}))
        double.answers("GET", PODS, pods("web-0"))
        double.answers("PATCH", path("web-0"), a_status(403, "Forbidden", "no"))
        done = await released(double)
    assert done.failures == ["default/web-0 is still gated: the API server answered 403 Forbidden: no"]


async def test_without_the_right_to_empty_the_config_map_nothing_is_done() -> None:
    """New pods would be gated as fast as the others are let go."""
    async with a_double() as double:
        double.answers("PATCH", ENTRIES, a_status(403, "Forbidden", "no"))
        with pytest.raises(ClientError, match="no"):
            await released(double)
    assert len(double.asked) == 1


async def test_fences_are_taken_off_and_other_taints_stay() -> None:
    async with a_double() as double:
        double.answers("PATCH", ENTRIES, an_answer({}))
        double.answers("GET", PODS, pods())
        double.answers("GET", NODES, nodes("b", "a"), nodes("b"), nodes())
        for name in ("a", "b"):
            double.answers("PATCH", f"{NODES}/{name}", an_answer({}))
        done = await released(double)
    assert done.nodes == ["a", "b"]
    assert done.failures == []
    assert [each.json for each in double.asked if each.path == f"{NODES}/a"] == [
        [
            {"op": "test", "path": "/spec/taints/1/key", "value": "restow.dev/fence"},
            {"op": "remove", "path": "/spec/taints/1"},
        ]
    ]


async def test_a_fence_that_cannot_be_taken_off_is_named() -> None:
    async with a_double() as double:
        double.answers("PATCH", ENTRIES, an_answer({}))
        double.answers("GET", PODS, pods())
        double.answers("GET", NODES, nodes("a"))
        double.answers("PATCH", f"{NODES}/a", a_status(403, "Forbidden", "no"))
        done = await released(double)
    assert done.nodes == []
    assert done.failures == ["a is still fenced: the API server answered 403 Forbidden: no"]


async def test_whoever_may_not_list_nodes_hears_of_the_pods_that_were_let_go() -> None:
    async with a_double() as double:
        double.answers("PATCH", ENTRIES, an_answer({}))
        double.answers("GET", PODS, pods("web-0"), pods())
        double.answers("PATCH", path("web-0"), an_answer({}))
        double.answers("GET", NODES, a_status(403, "Forbidden", "no"))
        done = await released(double)
    assert done.pods == ["default/web-0"]
    assert len(done.failures) == 1
    assert "nodes may still be fenced: " in done.failures[0]
