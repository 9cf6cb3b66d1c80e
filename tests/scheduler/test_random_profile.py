"""The scheduler in sixty lines: which pods it binds, where, and what it leaves alone."""

from __future__ import annotations

import asyncio
import inspect
import json
from random import Random
from typing import Any

import pytest

from client.double import Answer, Double, a_status, an_answer
from restow.client.binding import BindingRefused, Bound, Elsewhere, Outcome
from restow.client.errors import Forbidden
from restow.client.objects import ObjectRef
from restow.client.transport import Api, always
from restow.scheduler import random_profile
from restow.scheduler.random_profile import schedule_at_random

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

HANG = Answer((10_000.0,))
DONE = an_answer({"kind": "Status", "status": "Success"}, 201)
NODES, PODS = "/api/v1/nodes", "/api/v1/pods"

Object = dict[str, Any]


def a_node(name: str, *, ready: str = "True", **spec: object) -> Object:
    conditions = [{"type": "Ready", "status": ready}]
    return {"metadata": {"name": name, "uid": f"u-{name}"}, "spec": spec, "status": {"conditions": conditions}}


def a_pod(name: str, **spec: object) -> Object:
    return {"metadata": {"name": name, "namespace": "dev", "uid": f"u-{name}"}, "spec": {"containers": [], **spec}}


def a_list(*items: Object) -> Answer:
    return an_answer({"metadata": {"resourceVersion": "10"}, "items": list(items)})


def a_watch(*events: tuple[str, Object]) -> Answer:
    lines = (
        json.dumps({"type": kind, "object": {**thing, "metadata": {**thing["metadata"], "resourceVersion": "11"}}})
        for kind, thing in events
    )
    return Answer(("".join(f"{line}\n" for line in lines).encode(), 10_000.0))


def binding(name: str) -> str:
    return f"/api/v1/namespaces/dev/pods/{name}/binding"


async def scheduled(api: Api, seconds: float = 30.0, seed: int = 1) -> list[tuple[str, str, Outcome]]:
    """What was told in so many seconds."""
    told: list[tuple[str, str, Outcome]] = []

    def tell(pod: ObjectRef, node: str, outcome: Outcome) -> None:
        told.append((pod.name, node, outcome))

    try:
        async with asyncio.timeout(seconds):
            await schedule_at_random(api, "lottery", Random(seed), always, tell)
    except TimeoutError:
        pass
    return told


async def test_it_asks_for_waiting_pods_of_its_own_name_only(api: Api, double: Double) -> None:
    double.answers("GET", NODES, a_list(a_node("n1")), HANG)
    double.answers("GET", PODS, a_list(), HANG)

    assert await scheduled(api) == []

    selectors = {each.params.get("fieldSelector") for each in double.asked if each.path == PODS}
    assert selectors == {"spec.schedulerName=lottery,spec.nodeName=,status.phase=Pending"}


async def test_pods_go_to_nodes_that_are_ready_and_open_each_once(api: Api, double: Double) -> None:
    double.answers(
        "GET",
        NODES,
        a_list(a_node("n1"), a_node("n2"), a_node("sick", ready="Unknown"), a_node("closed", unschedulable=True)),
        HANG,
    )
    names = [f"web-{number}" for number in range(20)]
    double.answers("GET", PODS, a_list(*map(a_pod, names)), HANG)
    for name in names:
        double.answers("POST", binding(name), DONE)

    told = await scheduled(api)

    assert sorted(name for name, *_ in told) == sorted(names)
    assert {node for _, node, _ in told} == {"n1", "n2"}
    assert {outcome for *_, outcome in told} == {Bound()}


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_seed_draws_the_same_lots(api: Api, double: Double, seed: int) -> None:
    names = [f"web-{number}" for number in range(8)]
    double.answers("GET", NODES, a_list(*(a_node(f"n{number}") for number in range(5))), HANG)
    double.answers("GET", PODS, a_list(*map(a_pod, names)), HANG)
    for name in names:
        double.answers("POST", binding(name), DONE)

    first = await scheduled(api, seed=seed)
    drawn = Random(seed)
    assert [node for _, node, _ in first] == [f"n{drawn.choice(range(5))}" for _ in names]


async def test_a_gated_pod_waits_until_its_gates_are_gone(api: Api, double: Double) -> None:
    gated = a_pod("web", schedulingGates=[{"name": "example.com/wait"}])
    double.answers("GET", NODES, a_list(a_node("n1")), HANG)
    double.answers("GET", PODS, a_list(gated), a_watch(("MODIFIED", gated), ("MODIFIED", a_pod("web"))))
    double.answers("POST", binding("web"), DONE)

    assert await scheduled(api) == [("web", "n1", Bound())]


async def test_a_pod_that_goes_before_a_node_comes_is_forgotten(api: Api, double: Double) -> None:
    double.answers("GET", NODES, a_list(), HANG)
    double.answers("GET", PODS, a_list(a_pod("web")), a_watch(("DELETED", a_pod("web"))))

    assert await scheduled(api) == []


async def test_what_is_refused_is_tried_again_and_what_others_took_is_not(api: Api, double: Double) -> None:
    double.answers("GET", NODES, a_list(a_node("n1")), HANG)
    double.answers("GET", PODS, a_list(a_pod("a"), a_pod("b")), HANG)
    double.answers("POST", binding("a"), a_status(422, message="not now"), DONE)
    double.answers("POST", binding("b"), a_status(409, message="taken"))
    double.answers("GET", "/api/v1/namespaces/dev/pods/b", an_answer(a_pod("b", nodeName="n7")))

    told = await scheduled(api)

    assert told == [
        ("a", "n1", BindingRefused("not now")),
        ("b", "n1", Elsewhere("n7", "taken")),
        ("a", "n1", Bound()),
    ]


async def test_an_object_that_cannot_be_read_stops_nobody(api: Api, double: Double) -> None:
    odd: Object = {"metadata": {"name": "odd", "namespace": "dev", "uid": "u-odd"}, "spec": {"nodeName": 7}}
    double.answers("GET", NODES, a_list(a_node("n1"), {"metadata": {"name": "odd"}, "spec": 7}), HANG)
    double.answers("GET", PODS, a_list(odd), a_watch(("ADDED", odd), ("ADDED", a_pod("web")), ("DELETED", odd)))
    double.answers("POST", binding("web"), DONE)

    assert await scheduled(api) == [("web", "n1", Bound())]


async def test_a_missing_right_ends_it(api: Api, double: Double) -> None:
    double.answers("GET", NODES, a_status(403, "Forbidden", "nodes is forbidden"))
    double.answers("GET", PODS, a_list(), HANG)

    with pytest.raises(ExceptionGroup) as ended:
        await scheduled(api)
    assert isinstance(ended.value.exceptions[0], Forbidden)


async def test_it_has_sixty_lines() -> None:
    """The tutorial says so."""
    assert len(inspect.getsource(random_profile).splitlines()) == 60
