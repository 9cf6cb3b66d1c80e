"""What steering asks of an API server, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from client.double import Answer, Double, a_double, a_status, an_answer, an_api
from executing.double import a_pod, a_task
from executing.steered import steered
from restow.client.transport import Permit, always
from restow.cluster.pod_values import Flag, PodNow
from restow.executing.steering import NoSteering, Steering
from restow.executing.task import Task

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

ENTRIES = "/api/v1/namespaces/kube-system/configmaps/restow-steering"
POD = "/api/v1/namespaces/default/pods/web-0"
OK = an_answer({})
SLOW = Answer((0.5, b"{}"))


@asynccontextmanager
async def a_steering(
    double: Double, said: list[str] | None = None, permit: Permit = always, seconds: float = 3.0
) -> AsyncIterator[Steering]:
    async with an_api(double.url) as api:
        yield Steering(api.within(seconds), permit, "kube-system", (said if said is not None else []).append)


def a_move(number: int = 0, app: str = "web") -> Task:
    return steered(a_task(f"{app}-{number}", app, number=number, candidates=["t"]))


def a_gated_pod() -> PodNow:
    return replace(a_pod(a_move()), node=None, flags=Flag.STEERING_GATE)


def entries(double: Double) -> list[dict[str, str | None] | None]:
    return [each.json["data"] for each in double.asked if each.path == ENTRIES]


async def test_a_controller_is_named_and_taken_out_again() -> None:
    async with a_double() as double, a_steering(double) as steering:
        double.answers("PATCH", ENTRIES, OK)
        assert await steering.announce(a_move()) is None
        assert steering.awaits("uid-web")
        await steering.withdraw(a_move())
        await steering.withdraw(a_move())
    assert not steering.awaits("uid-web")
    assert entries(double) == [{"uid-web": "default/web-0"}, {"uid-web": None}]


async def test_a_controller_stays_named_while_another_replacement_of_it_is_awaited() -> None:
    async with a_double() as double, a_steering(double) as steering:
        double.answers("PATCH", ENTRIES, OK)
        for number in range(2):
            await steering.announce(a_move(number))
        await steering.withdraw(a_move(0))
        assert steering.awaits("uid-web")
        assert None not in [value for each in entries(double) for value in (each or {}).values()]
        await steering.withdraw(a_move(1))
    assert entries(double)[-1] == {"uid-web": None}


async def test_what_changes_while_a_request_is_out_goes_into_one() -> None:
    """So many withdrawals at the end take no longer than two."""
    async with a_double() as double, a_steering(double) as steering:
        double.answers("PATCH", ENTRIES, SLOW)
        moves = [a_move(number, f"app-{number}") for number in range(50)]
        assert set(await asyncio.gather(*map(steering.announce, moves))) == {None}
        await asyncio.gather(*map(steering.withdraw, moves))
    assert len(double.asked) <= 4
    written: dict[str, str | None] = {}
    for each in entries(double):
        written |= each or {}
    assert len(written) == 50
    assert set(written.values()) == {None}


async def test_a_move_that_is_given_up_while_its_entry_is_written_leaves_none() -> None:
    async with a_double() as double, a_steering(double) as steering:
        double.answers("PATCH", ENTRIES, SLOW)
        announcing = asyncio.create_task(steering.announce(a_move()))
        await asyncio.sleep(0.1)
        announcing.cancel()
        await asyncio.gather(announcing, return_exceptions=True)
        await steering.withdraw(a_move())
    assert entries(double) == [{"uid-web": "default/web-0"}, {"uid-web": None}]


async def test_an_announcement_that_fails_says_why_and_is_taken_back() -> None:
    """It may have been written all the same."""
    async with a_double() as double, a_steering(double) as steering:
        double.answers("PATCH", ENTRIES, a_status(403, "Forbidden", "no"), OK)
        problem = await steering.announce(a_move())
        assert problem == "its replacement cannot be gated: the API server answered 403 Forbidden: no"
        assert not steering.awaits("uid-web")
    assert entries(double)[-1] == {"uid-web": None}


async def test_an_entry_that_could_not_be_taken_out_is_told_of_and_goes_with_the_next() -> None:
    said: list[str] = []
    async with a_double() as double, a_steering(double, said) as steering:
        double.answers("PATCH", ENTRIES, OK, a_status(503), OK)
        await steering.announce(a_move())
        await steering.withdraw(a_move())
        assert said == [
            "new pods of ReplicaSet/web are still gated; restow releases them: the API server answered 503: refused with 503"
        ]
        await steering.announce(a_move(1, "api"))
    assert entries(double)[-1] == {"uid-web": None, "uid-api": "default/api-1"}


async def test_an_entry_that_could_not_be_taken_out_is_taken_out_later() -> None:
    async with a_double() as double, a_steering(double) as steering:
        double.answers("PATCH", ENTRIES, OK, a_status(503), OK)
        await steering.announce(a_move())
        await steering.withdraw(a_move())
        for _ in range(3):
            await steering.repair()
    assert entries(double) == [{"uid-web": "default/web-0"}, {"uid-web": None}, {"uid-web": None}]


async def test_without_the_config_map_there_is_nothing_to_take_out() -> None:
    said: list[str] = []
    async with a_double() as double, a_steering(double, said) as steering:
        double.answers("PATCH", ENTRIES, OK, a_status(404, "NotFound"))
        await steering.announce(a_move())
        await steering.withdraw(a_move())
    assert said == []


async def test_nothing_is_announced_without_the_permission_to_write() -> None:
    async with a_double() as double, a_steering(double, permit=lambda: 0.0) as steering:
        problem = await steering.announce(a_move())
    assert problem is not None
    assert "permission" in problem
    assert double.asked == []


async def test_after_the_permission_has_ended_the_rest_is_cleared_without_a_warning_for_each_workload() -> None:
    said: list[str] = []
    remaining = [10.0]
    async with a_double() as double, a_steering(double, said, permit=lambda: remaining[0]) as steering:
        double.answers("PATCH", ENTRIES, OK)
        await steering.announce(a_move())
        remaining[0] = 0.0
        await steering.withdraw(a_move())
        await steering.clear()
    assert said == []
    assert entries(double) == [{"uid-web": "default/web-0"}, None]


async def test_an_api_server_that_is_silent_is_not_waited_for() -> None:
    async with a_double() as double, a_steering(double) as steering:
        double.answers("PATCH", ENTRIES, Answer((60.0, b"{}")))
        began = asyncio.get_running_loop().time()
        assert await steering.announce(a_move()) is not None
        assert asyncio.get_running_loop().time() - began < 7


async def test_a_pod_is_nominated_before_its_gate_comes_off_and_never_another_of_its_name() -> None:
    async with a_double() as double, a_steering(double) as steering:
        double.answers("PATCH", ENTRIES, OK)
        double.answers("PATCH", f"{POD}/status", OK)
        double.answers("PATCH", POD, OK)
        await steering.announce(a_move())
        await steering.nominate(a_move(), a_gated_pod())
    _, nominates, releases, withdraws = double.asked
    assert nominates.path == f"{POD}/status"
    assert nominates.json == {"metadata": {"uid": "uid-web-0"}, "status": {"nominatedNodeName": "t"}}
    assert releases.headers["Content-Type"] == "application/strategic-merge-patch+json"
    assert releases.json == {
        "metadata": {"uid": "uid-web-0"},
        "spec": {"schedulingGates": [{"$patch": "delete", "name": "restow.dev/steer"}]},
    }
    assert withdraws.json["data"] == {"uid-web": None}


@pytest.mark.parametrize("status", [404, 409])
async def test_the_next_pod_is_awaited_where_the_one_to_nominate_has_gone(status: int) -> None:
    async with a_double() as double, a_steering(double) as steering:
        double.answers("PATCH", ENTRIES, OK)
        double.answers("PATCH", f"{POD}/status", a_status(status, {404: "NotFound", 409: "Conflict"}[status]))
        await steering.announce(a_move())
        await steering.nominate(a_move(), a_gated_pod())
        assert steering.awaits("uid-web")


async def test_a_pod_that_cannot_be_nominated_is_not_awaited_any_more_and_so_let_go() -> None:
    said: list[str] = []
    async with a_double() as double, a_steering(double, said) as steering:
        double.answers("PATCH", ENTRIES, OK)
        double.answers("PATCH", f"{POD}/status", a_status(403, "Forbidden", "no"))
        await steering.announce(a_move())
        await steering.nominate(a_move(), a_gated_pod())
        assert not steering.awaits("uid-web")
    assert said == ["default/web-0 was not steered to t: the API server answered 403 Forbidden: no"]


async def test_clearing_takes_out_what_others_have_left() -> None:
    async with a_double() as double, a_steering(double) as steering:
        double.answers("PATCH", ENTRIES, OK)
        await steering.announce(a_move())
        await steering.clear()
        await steering.withdraw(a_move())
    assert entries(double) == [{"uid-web": "default/web-0"}, None]


async def test_where_nothing_is_steered_nothing_can_be_announced() -> None:
    assert await NoSteering().announce(a_move()) is not None
