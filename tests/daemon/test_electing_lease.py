"""The lease of ``restow run``, taken for the length of one work, in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from daemon.test_electing import Store, clock
from restow.client.errors import Unreachable
from restow.client.leader_election import Election, Lease, LeaseSpec, micro_time
from restow.client.transport import Permit
from restow.daemon import electing
from restow.daemon.electing import holder_of, under_lease
from restow.errors import ClientError

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

NOW = 1_800_000_000.0


@pytest.fixture(autouse=True)
def _virtual_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(electing, "Election", partial(Election, clock=clock))


@dataclass
class Named(Store):
    """A lock as the API server keeps it."""

    namespace: str = "kube-system"
    name: str = "descheduler"


@dataclass
class Work:
    """Takes so long (seconds)."""

    seconds: float = 1.0
    permits: list[float] = field(default_factory=list)
    is_done: bool = False

    async def __call__(self, permit: Permit) -> None:
        self.permits.append(permit())
        await asyncio.sleep(self.seconds)
        self.is_done = True


def held(by: str, renewed: float = NOW, seconds: int = 137) -> Lease:
    spec = LeaseSpec(holder_identity=by, lease_duration_seconds=seconds, renew_time=micro_time(renewed))
    return Lease({"resourceVersion": "1"}, spec)


async def taken(store: Any, work: Work, stopping: asyncio.Event | None = None) -> list[str]:
    said: list[str] = []
    await under_lease(store, work, stopping or asyncio.Event(), said.append)
    return said


async def test_a_free_lease_is_held_during_the_work_and_given_back() -> None:
    store, work = Named(), Work()
    assert await taken(store, work) == []
    assert work.is_done
    assert work.permits[0] > 100
    assert store.lease is not None
    assert store.holder == ""


@pytest.mark.parametrize(
    ("lease", "sentence"),
    [
        (None, None),
        (held(""), None),
        (held("other"), "the lease kube-system/descheduler is held by other, which evicts pods of this cluster"),
        (held("other", NOW - 136), "the lease kube-system/descheduler is held by other, which evicts pods of this cluster"),
        (held("other", NOW - 138), None),
        (Lease({}, LeaseSpec(holder_identity="other")), "the lease kube-system/descheduler is held by other, which evicts pods of this cluster"),
    ],
    ids=["none", "given back", "held", "old", "over", "no time"],
)  # fmt: skip
async def test_who_holds_a_lease(lease: Lease | None, sentence: str | None) -> None:
    assert await holder_of(Named(lease), NOW) == sentence  # type: ignore[arg-type]


async def test_a_lease_that_cannot_be_read_is_a_sentence() -> None:
    with pytest.raises(ClientError, match="kube-system/descheduler cannot be taken: no route; --no-lease does without"):
        await holder_of(Named(reachable=False), NOW)  # type: ignore[arg-type]


async def test_a_lease_that_was_left_behind_is_taken_when_its_time_is_over() -> None:
    store, work = Named(held("dead")), Work()
    began = asyncio.get_running_loop().time()
    said = await taken(store, work)
    assert work.is_done
    assert 137 <= asyncio.get_running_loop().time() - began < 137 + 20
    assert said == ["the lease kube-system/descheduler was left behind by dead, and is taken once its time is over"]


async def test_a_lease_that_is_renewed_meanwhile_is_left_to_its_holder() -> None:
    store, work = Named(held("alive")), Work()

    async def renew() -> None:
        while True:
            await asyncio.sleep(10)
            store.write(held("alive", NOW + asyncio.get_running_loop().time()).spec)

    renewing = asyncio.create_task(renew())
    with pytest.raises(ClientError, match="somebody else holds it"):
        await taken(store, work)
    renewing.cancel()
    assert work.permits == []
    assert store.holder == "alive"


async def test_what_goes_wrong_before_it_is_taken_ends_it() -> None:
    work = Work()
    with pytest.raises(ClientError, match="cannot be taken: no route"):
        await taken(Named(reachable=False), work)
    assert work.permits == []


async def test_the_wait_for_a_lease_can_be_stopped() -> None:
    stopping, work = asyncio.Event(), Work()
    asyncio.get_running_loop().call_later(5, stopping.set)
    await taken(Named(held("dead")), work, stopping)
    assert work.permits == []


async def test_the_work_is_not_stopped_by_it() -> None:
    stopping, work = asyncio.Event(), Work()
    asyncio.get_running_loop().call_later(0.5, stopping.set)
    await taken(Named(), work, stopping)
    assert work.is_done


async def test_a_lease_that_is_lost_cancels_the_work_and_says_so() -> None:
    store, work = Named(), Work(seconds=1000)
    asyncio.get_running_loop().call_later(2, lambda: store.write(held("thief").spec))
    said = await taken(store, work)
    assert not work.is_done
    assert said[-1] == "the lease kube-system/descheduler was lost"


async def test_what_the_work_fails_with_is_raised_and_the_lease_given_back() -> None:
    store = Named()

    async def fails(_: Permit) -> None:
        raise Unreachable("no answer")

    with pytest.raises(Unreachable):
        await under_lease(store, fails, asyncio.Event(), lambda _: None)  # type: ignore[arg-type]
    assert store.holder == ""
