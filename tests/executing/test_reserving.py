"""Places that are held for replacements, asked of an API server in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import UNSET, structs

from client.double import Answer, a_double, a_status, an_answer, an_api
from client.double import Double as Server
from executing.double import Double, a_pod, a_task, an_execution, endings, outcomes
from executing.steered import Gatekeeper, steered
from restow.cluster.pod_values import PodNow
from restow.executing.reserving import LABEL, PRIORITY, Reserving, delete_all
from restow.executing.steering import Steering
from restow.executing.task import Task
from restow.policies.codes import OutcomeCode, ReplacementMode

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

MOVING = "/api/v1/namespaces/default/pods/web-0"
PLACES = "/api/v1/namespaces/kube-system/pods"
PLACE = f"{PLACES}/restow-holds-uid-web-0"
ENTRIES = "/api/v1/namespaces/kube-system/configmaps/restow-steering"
OK = an_answer({})
WITH_NODE = an_answer({"spec": {"nodeName": "t"}})
WITHOUT = an_answer(
    {
        "spec": {},
        "status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/5 nodes are available"}]},
    }
)
SPEC: dict[str, Any] = {
    "schedulerName": "mine",
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "terminationGracePeriodSeconds": 120,
    "containers": [
        {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}, "ports": [{"containerPort": 1, "hostPort": 80}]},
        {
            "resources": {"requests": {"cpu": "500m", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}},
            "ports": [{"containerPort": 2}],
        },
    ],
}


class Slow(Gatekeeper):
    """Takes a minute to withdraw, which a plan that is over does not wait for the first time."""

    begun = withdrawn = 0

    async def nominate(self, task: Task, pod: PodNow) -> None:
        self._nominated[pod.name] = str(task.move.target)
        self.let_go(pod.name)

    async def withdraw(self, task: Task) -> None:
        self.begun += 1
        await asyncio.sleep(60)
        self.withdrawn += 1


def reserved(task: Task, *, evicts_instead: bool = False) -> Task:
    """The task, with its place held first."""
    changes = {"replacement": ReplacementMode.RESERVE, "evicts_instead": evicts_instead or UNSET}
    return structs.replace(task, move=structs.replace(task.move, **changes))


def a_move(number: int = 0, **features: Any) -> Task:
    return reserved(steered(a_task(f"web-{number}", number=number, candidates=["t"], **features)))


@asynccontextmanager
async def a_server() -> AsyncIterator[Server]:
    """An API server with the pod that moves, on which a placeholder gets its node."""
    async with a_double() as server:
        server.answers("GET", MOVING, an_answer({"metadata": {"name": "web-0"}, "spec": SPEC}))
        server.answers("POST", PLACES, OK)
        server.answers("GET", PLACE, WITHOUT, WITH_NODE)
        server.answers("DELETE", PLACE, OK)
        yield server


@asynccontextmanager
async def reserving(server: Server, said: list[str] | None = None) -> AsyncIterator[Reserving]:
    async with an_api(server.url) as api:
        yield Reserving(api, lambda: 60.0, "kube-system", (said if said is not None else []).append)


def asked(server: Server) -> list[tuple[str, str]]:
    return [(each.method, each.path) for each in server.asked if each.method != "GET"]


async def test_a_placeholder_asks_for_what_the_pod_asks_for_on_the_planned_node_alone() -> None:
    async with a_server() as server, reserving(server) as places:
        assert await places.hold(a_move()) is None
    (made,) = (each.json for each in server.asked if each.method == "POST")
    spec = made["spec"]
    (container,) = spec["containers"]
    assert container["resources"]["requests"] == {"cpu": "1500m", "memory": "1Gi", "nvidia.com/gpu": "1"}
    assert container["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    assert container["ports"] == [{"containerPort": 1, "hostPort": 80}]
    (term,) = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["t"]}]}
    assert (spec["schedulerName"], spec["tolerations"]) == ("mine", SPEC["tolerations"])
    assert (spec["priorityClassName"], spec["activeDeadlineSeconds"]) == (PRIORITY, 180)
    assert spec["terminationGracePeriodSeconds"] == 0
    assert made["metadata"]["labels"] == {LABEL: "true"}


async def test_a_place_is_held_once_until_it_is_given_up() -> None:
    async with a_server() as server, reserving(server) as places:
        assert await places.hold(a_move()) is None
        assert await places.hold(a_move()) is None
        await places.give_up(a_move())
        await places.give_up(a_move())
    assert asked(server) == [("POST", PLACES), ("DELETE", PLACE)]


async def test_where_the_scheduler_finds_no_room_nothing_is_held() -> None:
    async with a_server() as server, reserving(server) as places:
        server._answers["GET", PLACE][:] = [WITHOUT]
        why = await places.hold(a_move())
    assert why == "its place on t cannot be held: 0/5 nodes are available"
    assert asked(server)[-1] == ("DELETE", PLACE)


async def test_a_right_that_is_missing_is_named() -> None:
    async with a_server() as server, reserving(server) as places:
        forbidden = 'pods is forbidden: User "restow" cannot create resource "pods" in API group ""'
        server._answers["POST", PLACES][:] = [a_status(403, "Forbidden", forbidden)]
        why = await places.hold(a_move())
    assert why is not None
    assert "restow may not create and get and delete pods" in why


async def test_the_placeholder_of_a_killed_process_makes_way() -> None:
    async with a_server() as server, reserving(server) as places:
        server._answers["POST", PLACES][:] = [a_status(409, "AlreadyExists", "there is one"), OK]
        assert await places.hold(a_move()) is None
    assert asked(server) == [("POST", PLACES), ("DELETE", PLACE), ("POST", PLACES)]


async def test_what_cannot_be_deleted_is_told_and_deleted_later() -> None:
    said: list[str] = []
    async with a_server() as server, reserving(server, said) as places:
        await places.hold(a_move())
        server._answers["DELETE", PLACE][:] = [a_status(500, "InternalError", "no"), a_status(503), OK]
        await places.give_up(a_move())
        for _ in range(3):
            await places.repair()
    assert len(said) == 1
    assert "kube-system/restow-holds-uid-web-0 holds a place that nobody needs any more" in said[0]
    assert asked(server)[1:] == [("DELETE", PLACE)] * 3


async def test_a_deletion_that_is_cancelled_is_made_later() -> None:
    """A plan that is over cancels what it waits for; the place must not stay held."""
    async with a_server() as server, reserving(server) as places:
        await places.hold(a_move())
        server._answers["DELETE", PLACE][:] = [Answer((30.0, b"{}")), OK]
        giving_up = asyncio.create_task(places.give_up(a_move()))
        await asyncio.sleep(1)
        giving_up.cancel()
        await places.repair()
        await places.repair()
    assert asked(server)[1:] == [("DELETE", PLACE)] * 2


async def test_a_look_that_failed_is_repeated_before_the_next_cycle() -> None:
    async with a_server() as server, reserving(server) as places:
        left = an_answer({"items": [{"metadata": {"name": "restow-holds-uid-web-0"}}]})
        server.answers("GET", PLACES, a_status(400, "BadRequest", "no"), left)
        await places.repair()
        await places.clean()
        await places.repair()
        await places.repair()
    assert asked(server) == [("DELETE", PLACE)]


async def test_what_is_cancelled_at_the_end_of_a_plan_is_withdrawn_all_the_same() -> None:
    move = a_move()
    double = Double.of([move])
    gatekeeper = Slow(double)
    await outcomes(an_execution(double, steering=gatekeeper), [move])
    assert gatekeeper.begun > gatekeeper.withdrawn == 1


async def test_what_others_have_left_is_looked_for_once_and_again_after_failures() -> None:
    said: list[str] = []
    async with a_server() as server, reserving(server, said) as places:
        left = an_answer({"items": [{"metadata": {"name": "restow-holds-uid-web-0"}}]})
        server.answers("GET", PLACES, a_status(400, "BadRequest", "no"), left)
        for _ in range(3):
            await places.clean()
    assert asked(server) == [("DELETE", PLACE)]
    assert len(said) == 1


async def test_who_may_not_list_placeholders_has_made_none() -> None:
    said: list[str] = []
    async with a_server() as server, reserving(server, said) as places:
        server.answers("GET", PLACES, a_status(403, "Forbidden", "no"))
        await places.clean()
    assert said == []


async def test_those_that_are_left_are_told_by_the_pods_whose_places_they_held() -> None:
    async with a_server() as server, an_api(server.url) as api:
        left = {"name": "restow-holds-uid-web-0", "annotations": {"restow.dev/holds-place-of": "default/web-0"}}
        server.answers("GET", PLACES, an_answer({"items": [{"metadata": left}, {"metadata": left | {"name": "gone"}}]}))
        assert await delete_all(api, "kube-system") == ["default/web-0"]
        assert server.asked[0].params == {"labelSelector": f"{LABEL}=true"}


async def test_the_placeholder_goes_between_the_nomination_and_the_gate() -> None:
    """So the place is held by one of the two all the time."""
    async with a_server() as server, an_api(server.url) as api:
        server.answers("PATCH", ENTRIES, OK)
        server.answers("PATCH", f"{MOVING}/status", OK)
        server.answers("PATCH", MOVING, OK)
        steering = Steering(api, lambda: 60.0, "kube-system", [].append)
        await steering.announce(a_move())
        assert await steering.reserve(a_move()) is None
        await steering.nominate(a_move(), a_pod(a_move()))
    assert asked(server)[2:5] == [("PATCH", f"{MOVING}/status"), ("DELETE", PLACE), ("PATCH", MOVING)]


@pytest.mark.parametrize(
    ("problem", "evicts", "ending", "evictions"),
    [(None, False, "Settled", 1), ("no room", False, "Dropped", 0), ("no room", True, "Settled", 1)],
)
async def test_nothing_is_evicted_where_the_place_cannot_be_held_unless_the_plan_says_so(
    problem: str | None, ending: str, evictions: int, *, evicts: bool
) -> None:
    move = reserved(a_move(), evicts_instead=evicts)
    double = Double.of([move])
    told = await outcomes(an_execution(double, steering=Gatekeeper(double, unreservable=problem)), [move])
    assert endings(told) == {"web-0": ending}
    assert len(double.asked) == evictions
    if ending == "Dropped":
        assert (told[0].code, told[0].message) == (OutcomeCode.NOT_RESERVED, "no room")


async def test_a_place_is_held_for_each_request_and_not_while_the_budget_has_no_room() -> None:
    move = a_move(budgets=["default/web"])
    double = Double.of([move])
    double.budgets["default/web"], double.counts = 1, True
    gatekeeper = Gatekeeper(double)
    await outcomes(an_execution(double, steering=gatekeeper, budget=1.0), [move])
    assert gatekeeper.done.count("reserve web-0") == gatekeeper.done.count("withdraw web-0") == len(double.asked)
