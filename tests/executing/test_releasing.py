"""Nothing waits behind the gate for long, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

import pytest

from client.double import Answer, Double, a_double, a_status, an_answer, an_api
from executing.double import a_pod, a_task
from restow.client.flow_control import AT_A_TIME
from restow.cluster.pod_values import Flag, PodNow
from restow.executing.steering import AWAITED, LEFT_BEHIND, PAUSE, REQUEST, UNAWAITED, Releasing

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


def path(name: str) -> str:
    return f"/api/v1/namespaces/default/pods/{name}"


def now() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Gates:
    """Gated pods, the controllers whose replacements are awaited, and what is counted and said."""

    pods: list[PodNow]
    owners: set[str] = field(default_factory=set)
    released: int = 0
    longest: float = 0.0
    said: list[str] = field(default_factory=list)

    def gated(self) -> list[PodNow]:
        return self.pods

    def awaits(self, owner: str) -> bool:
        return owner in self.owners

    def gate_released(self) -> None:
        self.released += 1

    def gates_wait(self, seconds: float) -> None:
        self.longest = max(self.longest, seconds)


def some_gated(*names: str) -> list[PodNow]:
    return [replace(a_pod(a_task(name)), node=None, flags=Flag.STEERING_GATE) for name in names]


@asynccontextmanager
async def a_keeper(double: Double, gates: Gates, *, leads: bool = True) -> AsyncIterator[Releasing]:
    """One that looks, as long as the context lasts."""
    async with an_api(double.url) as api:
        keeper = Releasing(api.within(REQUEST), gates, gates.said.append, gates, gates if leads else None)
        task = asyncio.create_task(keeper.run())
        yield keeper
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(
    ("leads", "awaited", "patience"),
    [(True, False, UNAWAITED), (True, True, AWAITED), (False, False, LEFT_BEHIND), (False, True, LEFT_BEHIND)],
    ids=["nobody awaits it", "it is awaited", "a leader should have let it go", "another replica's"],
)
async def test_a_pod_is_let_go_after_its_patience(leads: bool, awaited: bool, patience: float) -> None:
    gates = Gates(some_gated("web-0"), {"uid-web"} if awaited else set())
    async with a_double() as double, a_keeper(double, gates, leads=leads):
        double.answers("PATCH", path("web-0"), an_answer({}))
        await asyncio.sleep(patience - 0.1)
        assert double.asked == []
        await asyncio.sleep(0.1 + PAUSE + 0.1)
        assert double.asked[0].json["spec"] == {"schedulingGates": [{"$patch": "delete", "name": "restow.dev/steer"}]}
        assert gates.released >= 1
        assert gates.longest >= patience


async def test_every_patience_ends_within_ten_seconds_of_the_gate() -> None:
    assert max(UNAWAITED, AWAITED, LEFT_BEHIND) + PAUSE + REQUEST < 10


async def test_one_of_two_pods_of_a_controller_is_let_go_when_the_other_is_nominated() -> None:
    """The workload was scaled up while it was announced: who is the replacement is not known, and no matter."""
    gates = Gates(some_gated("web-0", "web-1"), {"uid-web"})
    async with a_double() as double, a_keeper(double, gates):
        double.answers("PATCH", path("web-1"), an_answer({}))
        await asyncio.sleep(1.0)
        gates.pods, gates.owners = gates.pods[1:], set()
        await asyncio.sleep(PAUSE + 0.1)
    assert {each.path for each in double.asked} == {path("web-1")}


async def test_a_pod_whose_request_is_not_answered_keeps_no_other_waiting() -> None:
    gates = Gates(some_gated(*(f"web-{at}" for at in range(5))))
    async with a_double() as double, a_keeper(double, gates):
        for at in range(5):
            double.answers("PATCH", path(f"web-{at}"), Answer((60.0, b"")) if at == 0 else an_answer({}))
        await asyncio.sleep(UNAWAITED + PAUSE + 0.1)
        assert gates.released == 4


@pytest.mark.parametrize("status", [404, 409])
async def test_a_pod_that_has_gone_is_no_trouble(status: int) -> None:
    gates = Gates(some_gated("web-0"))
    async with a_double() as double, a_keeper(double, gates):
        double.answers("PATCH", path("web-0"), a_status(status, {404: "NotFound", 409: "Conflict"}[status]))
        await asyncio.sleep(2.0)
    assert (gates.released, gates.said) == (0, [])


async def test_nothing_is_said_of_a_pod_whose_gate_somebody_else_has_taken_off_meanwhile() -> None:
    """Whoever may only take gates off is refused then, before the watch shows it."""
    gates = Gates(some_gated("web-0"))
    async with a_double() as double, a_keeper(double, gates):
        double.answers("PATCH", path("web-0"), a_status(422, "Invalid", "restow may only change pods that wait"))
        await asyncio.sleep(UNAWAITED + 0.1)
        assert double.asked
        gates.pods = []
        await asyncio.sleep(2 * PAUSE)
    assert gates.said == []


async def test_what_fails_is_said_and_tried_again_until_it_works() -> None:
    gates = Gates(some_gated("web-0"))
    async with a_double() as double, a_keeper(double, gates):
        double.answers("PATCH", path("web-0"), a_status(503), a_status(503), an_answer({}))
        await asyncio.sleep(3.0)
    assert (
        gates.said[0]
        == "default/web-0 waits behind the gate restow.dev/steer: the API server answered 503: refused with 503"
    )
    assert gates.released >= 1


async def test_whatever_breaks_a_look_the_next_one_comes() -> None:
    gates = Gates(some_gated("web-0"))
    gates.gated = lambda: 1 / 0  # type: ignore[assignment, return-value, method-assign]
    async with a_double() as double, a_keeper(double, gates):
        double.answers("PATCH", path("web-0"), an_answer({}))
        await asyncio.sleep(1.0)
        assert "division by zero" in gates.said[0]
        del gates.gated
        await asyncio.sleep(UNAWAITED + 2 * PAUSE)
        assert gates.released >= 1


async def test_all_can_be_let_go_at_once() -> None:
    gates = Gates(some_gated("web-0", "web-1"), {"uid-web"})
    async with a_double() as double, a_keeper(double, gates) as keeper:
        for name in ("web-0", "web-1"):
            double.answers("PATCH", path(name), an_answer({}))
        began = now()
        await keeper.let_all_go()
        assert now() - began < 0.1
    assert gates.released == 2


#: Seconds that the double below takes for each answer.
SLOW = 0.05


async def test_a_thousand_pods_with_the_gate_take_a_bounded_number_of_requests_at_a_time() -> None:
    """Anybody may create pods that carry the gate."""
    names = [f"web-{at}" for at in range(1000)]
    gates = Gates(some_gated(*names))
    async with a_double() as double, a_keeper(double, gates):
        for name in names:
            double.answers("PATCH", path(name), Answer((SLOW, b"{}")))
        while gates.released < len(names):
            await asyncio.sleep(PAUSE)
            gates.pods = [pod for pod in gates.pods if path(pod.name) not in {each.path for each in double.asked}]
        begun = sorted(each.at for each in double.asked)
    within = (sum(at <= other < at + SLOW * 0.9 for other in begun) for at in begun)
    assert max(within) <= AT_A_TIME


async def test_awaited_pods_are_released_before_those_that_somebody_else_has_created() -> None:
    strangers = [replace(pod, owners=()) for pod in some_gated(*(f"stranger-{at}" for at in range(200)))]
    gates = Gates([*strangers, *some_gated("web-0")], {"uid-web"})
    async with a_double() as double, a_keeper(double, gates) as keeper:
        for pod in gates.pods:
            double.answers("PATCH", path(pod.name), an_answer({}))
        await keeper.let_all_go()
    assert path("web-0") in [each.path for each in double.asked][:AT_A_TIME]


async def test_an_awaited_pod_does_not_wait_for_strangers_whose_requests_take_long() -> None:
    """A look ends in time, and the next one begins with the awaited pods."""
    strangers = [replace(pod, owners=()) for pod in some_gated(*(f"stranger-{at}" for at in range(600)))]
    gates = Gates([*strangers, *some_gated("web-0")], {"uid-web"})
    began = now()
    async with a_double() as double, a_keeper(double, gates):
        for pod in gates.pods:
            double.answers("PATCH", path(pod.name), Answer((REQUEST - 0.1, b"{}")))
        await asyncio.sleep(AWAITED + 2 * PAUSE + REQUEST)
        (asked,) = [each.at for each in double.asked if each.path == path("web-0")]
    assert asked - began < AWAITED + PAUSE + REQUEST


async def test_pods_that_cannot_be_released_are_one_line() -> None:
    names = [f"web-{at}" for at in range(40)]
    gates = Gates(some_gated(*names))
    async with a_double() as double, a_keeper(double, gates):
        for name in names:
            double.answers("PATCH", path(name), a_status(403, "Forbidden", "no"))
        await asyncio.sleep(5.0)
    assert gates.said == [
        "40 pods wait behind the gate restow.dev/steer, default/web-0 among them: the API server answered 403 Forbidden: no"
    ]
