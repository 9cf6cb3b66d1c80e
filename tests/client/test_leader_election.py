"""Who leads, and for how long, in virtual time, with clocks that disagree and processes that stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from msgspec import structs

from restow.client.errors import Conflict, Unreachable
from restow.client.leader_election import Election, Leadership, Lease, LeaseSpec, Timing, lead
from restow.errors import ClientError, InputError

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

TIMING = Timing(lease=15, renew=10, retry=2)


def now() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Store:
    """The lease as the API server keeps it."""

    lease: Lease | None = None
    version: int = 0
    #: (time, holder) of each write.
    written: list[tuple[float, str]] = field(default_factory=list)

    def write(self, spec: LeaseSpec) -> Lease:
        self.version += 1
        self.lease = Lease({"name": "restow", "resourceVersion": str(self.version)}, spec)
        self.written.append((now(), spec.holder_identity or ""))
        return self.lease


@dataclass
class Wire:
    """One candidate's way to the store."""

    store: Store
    #: None while the way is open; "hang" and an error otherwise.
    trouble: Exception | str | None = None

    async def _pass(self) -> None:
        await asyncio.sleep(0.01)
        if self.trouble == "hang":
            await asyncio.sleep(10_000)
        if isinstance(self.trouble, Exception):
            raise self.trouble

    async def get(self) -> Lease | None:
        await self._pass()
        return self.store.lease

    async def create(self, spec: LeaseSpec) -> Lease:
        await self._pass()
        if self.store.lease is not None:
            raise Conflict(409, "AlreadyExists", "already exists")
        return self.store.write(spec)

    async def update(self, lease: Lease, spec: LeaseSpec) -> Lease:
        await self._pass()
        if self.store.lease is None or self.store.lease.metadata != lease.metadata:
            raise Conflict(409, "Conflict", "the object has been modified")
        return self.store.write(spec)


def election(wire: Wire, identity: str, **settings: Any) -> Election:
    return Election(wire, identity, settings.pop("timing", TIMING), settings.pop("clock", now), **settings)


async def forever(leadership: Leadership) -> None:
    await asyncio.Event().wait()


class Candidate:
    """An election that goes on in the background, and takes part again when it has lost."""

    def __init__(self, store: Store, identity: str, clock: Callable[[], float] = now) -> None:
        self.wire = Wire(store)
        self.election = election(self.wire, identity, clock=clock)
        self.leads = self.election.leadership.held
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            await lead(self.election, forever)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])


async def test_the_first_one_creates_the_lease() -> None:
    store, heard = Store(), []
    await election(Wire(store), "a", on_leader=heard.append, wall_clock=lambda: 1_800_000_000.5).acquire()

    assert store.lease is not None
    assert store.lease.spec == LeaseSpec(
        holder_identity="a",
        lease_duration_seconds=15,
        acquire_time="2027-01-15T08:00:00.500000Z",
        renew_time="2027-01-15T08:00:00.500000Z",
        lease_transitions=0,
    )
    assert heard == ["a"]


async def test_the_leader_renews_every_retry_period_and_the_other_one_waits() -> None:
    store = Store()
    one, other = Candidate(store, "a"), Candidate(store, "b")
    await asyncio.sleep(60)

    assert one.leads() != other.leads()
    times = [at for at, _ in store.written]
    assert len({holder for _, holder in store.written}) == 1
    assert all(2 <= after - before <= 2.1 for before, after in pairwise(times))
    await one.stop()
    await other.stop()


async def test_an_expired_lease_is_taken_over_and_counted() -> None:
    store = Store()
    store.write(LeaseSpec(holder_identity="dead", lease_duration_seconds=15, lease_transitions=3))
    candidate = election(Wire(store), "b")
    await candidate.acquire()

    # Expired is what has not changed for 15 s before our own eyes, however old it says it is.
    assert 15 <= now() <= 15 + 2 * 2.2
    assert store.lease is not None
    assert (store.lease.spec.holder_identity, store.lease.spec.lease_transitions) == ("b", 4)


async def test_a_released_lease_is_free_at_once() -> None:
    store = Store()
    first = election(Wire(store), "a")
    await first.acquire()
    await first.release()

    assert not first.leadership.held()
    await election(Wire(store), "b").acquire()
    assert now() < 1
    assert store.lease is not None
    assert store.lease.spec.lease_transitions == 1


@pytest.mark.parametrize("leads", [True, False], ids=["the leader", "a candidate"])
async def test_giving_the_lease_back_does_not_wait_for_a_server_that_does_not_answer(*, leads: bool) -> None:
    """The kubelet does not wait for ever either, and the others get the lease by waiting."""
    store = Store()
    one = Candidate(store, "a")
    await asyncio.sleep(1)
    other = Candidate(store, "b")
    await asyncio.sleep(20)
    told = one if leads else other
    told.wire.trouble = "hang"
    await asyncio.sleep(3)
    asked = now()
    await told.stop()

    assert now() - asked <= 5.1
    await asyncio.gather(one.stop(), other.stop())


async def test_nobody_releases_the_lease_of_another() -> None:
    store = Store()
    await election(Wire(store), "a").acquire()
    await election(Wire(store), "b").release()

    assert [holder for _, holder in store.written] == ["a"]


async def test_a_restarted_candidate_of_the_same_name_leads_at_once() -> None:
    store = Store()
    await election(Wire(store), "a").acquire()
    await election(Wire(store), "a").acquire()

    assert now() < 1


async def test_of_two_that_write_at_once_one_waits() -> None:
    store = Store()
    one, other = Candidate(store, "a"), Candidate(store, "b")
    await asyncio.sleep(1)

    assert [one.leads(), other.leads()].count(True) == 1
    assert len(store.written) == 1
    await one.stop()
    await other.stop()


@pytest.mark.parametrize("trouble", [Unreachable("no route"), "hang"], ids=["no answer", "silence"])
async def test_a_leader_that_is_cut_off_stops_before_another_begins(trouble: Exception | str) -> None:
    store = Store()
    one = Candidate(store, "a")
    await asyncio.sleep(1)
    other = Candidate(store, "b")
    await asyncio.sleep(20)
    last = store.written[-1][0]
    one.wire.trouble = trouble

    both, stopped, began = False, 0.0, 0.0
    while not began:
        await asyncio.sleep(0.05)
        both = both or (one.leads() and other.leads())
        stopped = stopped or (0.0 if one.leads() else now())
        began = now() if other.leads() else 0.0
    assert not both
    assert last + 9.9 <= stopped <= last + 10.1
    assert began >= last + 15
    one.wire.trouble = None
    await one.stop()
    await other.stop()


async def test_work_is_cancelled_when_the_lease_cannot_be_renewed() -> None:
    wire = Wire(Store())
    task = asyncio.create_task(lead(election(wire, "a"), forever))
    await asyncio.sleep(1)
    wire.trouble = Unreachable("no route")

    assert await task is None
    assert now() == pytest.approx(10, abs=0.2)


async def test_short_trouble_costs_nothing() -> None:
    problems: list[str] = []
    wire = Wire(Store())
    candidate = election(wire, "a", on_problem=problems.append)
    task = asyncio.create_task(lead(candidate, forever))
    await asyncio.sleep(1)
    wire.trouble = Unreachable("no route")
    await asyncio.sleep(7)
    wire.trouble = None
    await asyncio.sleep(30)

    assert candidate.leadership.held()
    assert "no route" in problems
    task.cancel()
    await asyncio.wait([task])


async def test_a_lease_touched_by_others_is_read_again_and_kept() -> None:
    store = Store()
    one = Candidate(store, "a")
    await asyncio.sleep(1)
    assert store.lease is not None
    store.lease = structs.replace(store.lease, metadata=store.lease.metadata | {"resourceVersion": "other"})
    await asyncio.sleep(60)

    assert one.leads()
    assert {holder for _, holder in store.written} == {"a"}
    await one.stop()


async def test_a_leader_whose_lease_was_taken_stops_at_its_next_renewal() -> None:
    store = Store()
    one = Candidate(store, "a")
    await asyncio.sleep(1)
    store.write(LeaseSpec(holder_identity="thief", lease_duration_seconds=15))
    await asyncio.sleep(2.1)

    assert not one.leads()
    await one.stop()


async def test_a_paused_process_finds_its_time_over() -> None:
    """Time goes on while the process stands still: SIGSTOP, or a machine asleep."""
    asleep = 0.0
    candidate = election(Wire(Store()), "a", clock=lambda: now() + asleep)
    task = asyncio.create_task(lead(candidate, forever))
    await asyncio.sleep(1)
    assert candidate.leadership.held()

    asleep = 300.0

    # Before any timer of the election itself has fired.
    assert not candidate.leadership.held()
    assert await task is None


@pytest.mark.parametrize("offset", [-3_600.0, 3_600.0], ids=["an hour behind", "an hour ahead"])
@pytest.mark.parametrize("since", [0.0, 30.0], ids=["always", "set while it leads"])
async def test_wall_clocks_may_differ_by_any_amount(offset: float, since: float) -> None:
    store = Store()
    leader = election(Wire(store), "a", wall_clock=lambda: 1_800_000_000 + now() + (offset if now() >= since else 0))
    working = asyncio.create_task(lead(leader, forever))
    await asyncio.sleep(1)
    other = Candidate(store, "b")
    await asyncio.sleep(100)

    assert leader.leadership.held()
    assert not other.leads()
    working.cancel()
    await other.stop()
    await asyncio.wait([working])


@pytest.mark.parametrize(
    ("slow", "fast"), [(0.85, 1.0), (1.0, 1.15)], ids=["the leader's is slow", "the other's is fast"]
)
async def test_clocks_may_run_at_speeds_15_percent_apart(slow: float, fast: float) -> None:
    """The lease outlasts the leader's permission by half of it, so the leader stops first."""
    store = Store()
    one = Candidate(store, "a", clock=lambda: slow * now())
    await asyncio.sleep(1)
    other = Candidate(store, "b", clock=lambda: fast * now())
    await asyncio.sleep(30)
    assert one.leads()
    one.wire.trouble = Unreachable("no route")

    for _ in range(1_000):
        await asyncio.sleep(0.05)
        assert not (one.leads() and other.leads())
    assert other.leads()
    one.wire.trouble = None
    await one.stop()
    await other.stop()


async def test_work_that_ends_releases_the_lease() -> None:
    store = Store()

    async def work(leadership: Leadership) -> int:
        assert leadership.held()
        return 7

    assert await lead(election(Wire(store), "a"), work) == 7
    assert store.lease is not None
    assert store.lease.spec.holder_identity == ""


async def test_work_that_fails_releases_the_lease_and_says_why() -> None:
    store = Store()

    async def work(leadership: Leadership) -> None:
        raise ClientError("broken")

    with pytest.raises(ClientError, match="broken"):
        await lead(election(Wire(store), "a"), work)
    assert store.written[-1][1] == ""


@pytest.mark.parametrize(
    ("timing", "message"),
    [
        pytest.param(Timing(10, 10, 2), "leaseDuration must be greater than renewDeadline", id="lease"),
        pytest.param(Timing(15, 10, 9), r"renewDeadline must be greater than retryPeriod\*JitterFactor", id="renew"),
        pytest.param(Timing(15, 10, 0), "retryPeriod must be greater than zero", id="retry"),
    ],
)
async def test_durations_that_do_not_go_together(timing: Timing, message: str) -> None:
    with pytest.raises(InputError, match=message):
        election(Wire(Store()), "a", timing=timing)
