"""Work with and without a lease, in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest
from msgspec import structs

from descheduler.hearing import Heard, sample
from restow.client.errors import Conflict, Unreachable
from restow.client.leader_election import Lease, LeaseSpec, Timing
from restow.client.transport import Permit
from restow.daemon import electing
from restow.daemon.electing import LeaseSettings
from restow.descheduler.settings import CycleSettings, Settings
from restow.serving.metrics import Metrics

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]

LEASED = Settings(lease=LeaseSettings(timing=Timing(15.0, 10.0, 2.0)))


def clock() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Store:
    """The lease as the API server keeps it."""

    lease: Lease | None = None
    reachable: bool = True
    version: int = 0

    @property
    def holder(self) -> str:
        return "" if self.lease is None else self.lease.spec.holder_identity or ""

    def write(self, spec: LeaseSpec) -> Lease:
        self.version += 1
        self.lease = Lease({"resourceVersion": str(self.version)}, spec)
        return self.lease

    async def get(self) -> Lease | None:
        if not self.reachable:
            raise Unreachable("no route")
        return self.lease

    async def create(self, spec: LeaseSpec) -> Lease:
        return self.write(spec)

    async def update(self, lease: Lease, spec: LeaseSpec) -> Lease:
        if not self.reachable:
            raise Unreachable("no route")
        if self.lease is None or self.lease.metadata != lease.metadata:
            raise Conflict(409, "Conflict", "the object has been modified")
        return self.write(spec)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Store:
    """Where every election of a test has its lease; its clock is the loop's."""
    store = Store()
    monkeypatch.setattr(electing, "LeaseLock", lambda *_: store)
    real = electing.Election
    monkeypatch.setattr(electing, "Election", lambda *args, **more: real(*args, clock=clock, **more))
    return store


class NoApi:
    """Nobody asks it."""

    def without_limit(self) -> NoApi:
        return self

    def within(self, seconds: float) -> NoApi:
        return self


@dataclass
class Candidate:
    """A run, whose work takes some seconds or forever."""

    seconds: float = 1e6
    settings: Settings = LEASED
    heard: Heard = field(default_factory=Heard)
    metrics: Metrics = field(default_factory=Metrics)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    permit: Permit | None = None
    error: Exception | None = None
    worked: bool = False

    async def run(self) -> None:
        await electing.with_permission(
            electing.lease_unless_dry(self.settings.lease, self.heard.log, dry_run=self.settings.cycles.dry_run),
            self.settings.namespace,
            NoApi(),  # type: ignore[arg-type]
            self._work,
            self.stopping,
            log=self.heard.log,
            leads=self.metrics.leads,
        )

    async def _work(self, permit: Permit) -> None:
        self.permit = permit
        assert self.leads == 1
        try:
            async with asyncio.timeout(self.seconds):
                await self.stopping.wait()
        except TimeoutError:
            pass
        if self.error is not None:
            raise self.error
        self.worked = True

    @property
    def leads(self) -> float | None:
        return sample(self.metrics, "restow_leader")


async def test_without_election_there_is_always_permission() -> None:
    alone = Candidate(5.0, Settings())
    await alone.run()
    assert alone.permit is not None
    assert alone.permit() == float("inf")
    assert (alone.worked, alone.heard.messages) == (True, [])


async def test_a_dry_run_needs_no_lease_and_says_so(store: Store) -> None:
    alone = Candidate(5.0, structs.replace(LEASED, cycles=CycleSettings(dry_run=True)))
    await alone.run()
    assert store.lease is None
    assert alone.heard.messages == [
        "Warning: DryRun is set to True. You need to disable it to use Leader Election.",
    ]


async def test_work_begins_with_the_lease_and_gives_it_back_at_its_end(store: Store) -> None:
    one = Candidate(30.0)
    running = asyncio.ensure_future(one.run())
    await asyncio.sleep(20)
    assert store.holder
    assert one.permit is not None
    assert 0 < one.permit() <= 10
    assert one.leads == 1
    await running
    assert (store.holder, one.worked, one.leads) == ("", True, 0)
    identity = one.heard.messages[0].removeprefix("Assigned unique lease holder id: ")
    assert sorted(one.heard.messages[1:]) == [f"New leader elected: {identity}", "Started leading"]


async def test_the_second_one_waits_and_goes_on_when_the_first_has_ended(store: Store) -> None:
    one, other = Candidate(30.0), Candidate(30.0)
    running = asyncio.gather(one.run(), other.run())
    await asyncio.sleep(20)
    assert (one.permit is None) != (other.permit is None)
    assert {one.leads, other.leads} == {0, 1}
    await running
    assert one.worked
    assert other.worked


async def test_told_to_stop_while_it_waits_it_just_goes(store: Store) -> None:
    one, other = Candidate(1000.0), Candidate()
    leading = asyncio.ensure_future(one.run())
    await asyncio.sleep(1)
    waiting = asyncio.ensure_future(other.run())
    await asyncio.sleep(5)
    other.stopping.set()
    async with asyncio.timeout(1):
        await waiting
    assert (other.permit, other.worked) == (None, False)
    assert "Leader lost" not in other.heard.messages
    assert store.holder
    one.stopping.set()
    await leading
    assert (store.holder, one.worked) == ("", True)


async def test_who_loses_the_lease_is_interrupted_and_says_so(store: Store) -> None:
    one = Candidate()
    running = asyncio.ensure_future(one.run())
    await asyncio.sleep(5)
    store.reachable = False
    before = clock()
    await running
    assert clock() - before <= 10
    assert (one.worked, one.leads) == (False, 0)
    assert one.heard.messages[-1] == "Leader lost"
    assert one.heard.of("Lease was not acquired or renewed")[0] == {"err": "no route"}


async def test_what_the_work_fails_with_is_raised_and_the_lease_is_given_back(store: Store) -> None:
    one = Candidate(5.0, error=OSError("no space"))
    with pytest.raises(OSError, match="no space"):
        await one.run()
    assert (store.holder, one.leads) == ("", 0)
