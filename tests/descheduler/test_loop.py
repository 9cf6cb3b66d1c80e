"""Cycles one after another, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from descheduler.hearing import Heard
from executing.double import virtually
from restow.descheduler.loop import Loop
from restow.errors import InputError
from restow.executing.deciding import CycleRules
from restow.in_thread import EndlessError
from restow.live.cluster import WatchEndedError
from restow.policies.policy import Policy
from restow.serving.health import Health


def clock() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Policies:
    """A policy that is another whenever it is looked at."""

    current: Policy = field(default_factory=Policy)
    looks: list[float] = field(default_factory=list)

    def refresh(self) -> None:
        self.looks.append(clock())
        self.current = Policy(max_no_of_pods_to_evict_total=len(self.looks))


@dataclass
class Performed:
    """Cycles that take some seconds and may fail."""

    seconds: float = 0.0
    failures: dict[int, Exception] = field(default_factory=dict)
    begun: list[float] = field(default_factory=list)
    rules: list[CycleRules] = field(default_factory=list)
    after: Callable[[int], None] = lambda _: None

    async def perform(self, rules: CycleRules) -> None:
        self.begun.append(clock())
        self.rules.append(rules)
        await asyncio.sleep(self.seconds)
        self.after(len(self.begun))
        if len(self.begun) in self.failures:
            raise self.failures[len(self.begun)]


@dataclass
class Ran:
    """A loop that was stopped after some seconds, or ended by itself."""

    interval: float
    cycles: Performed = field(default_factory=Performed)
    policies: Policies = field(default_factory=Policies)
    health: Health = field(default_factory=Health)
    heard: Heard = field(default_factory=Heard)
    stop_after: float = 1000.0
    ended: float = 0.0

    def run(self) -> Ran:
        virtually(self._run())
        return self

    async def _run(self) -> None:
        stopping = asyncio.Event()
        asyncio.get_running_loop().call_later(self.stop_after, stopping.set)
        rules = CycleRules(Policy(), "upstream")
        loop = Loop(self.cycles, self.policies, rules, self.interval, stopping, self.health, self.heard.log)  # type: ignore[arg-type]
        await loop.run()
        self.ended = clock()


def test_without_an_interval_there_is_one_cycle() -> None:
    ran = Ran(0.0).run()
    assert ran.cycles.begun == [0]
    assert ran.ended == 0


@pytest.mark.parametrize("error", [InputError("no such class"), TimeoutError("too old"), OSError("gone")])
def test_a_single_cycle_raises_what_it_fails_with(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        Ran(0.0, Performed(failures={1: error})).run()


@pytest.mark.parametrize(
    ("seconds", "begun"),
    [(0.0, [0, 60, 120]), (25.0, [0, 60, 120]), (59.5, [0, 60, 120]), (70.0, [0, 70, 140])],
)
def test_the_interval_is_counted_from_the_beginning_of_a_cycle(seconds: float, begun: list[float]) -> None:
    """One that takes longer is followed at once."""
    assert Ran(60.0, Performed(seconds), stop_after=150.0).run().cycles.begun == pytest.approx(begun)


def test_a_failed_cycle_is_told_and_the_next_one_comes() -> None:
    seen: list[str] = []
    ran = Ran(60.0, Performed(failures={1: OSError("gone"), 2: TimeoutError()}), stop_after=150.0)
    ran.cycles.after = lambda _: seen.append(ran.health.waiting_for)
    ran.run()
    assert len(ran.cycles.begun) == 3
    assert ran.heard.of("Descheduling cycle failed") == [{"err": "gone"}, {"err": "TimeoutError"}]
    assert seen == ["it is starting", "the last cycle failed: gone", "the last cycle failed: TimeoutError"]
    assert ran.health.waiting_for == ""


@pytest.mark.parametrize("error", [WatchEndedError("live Pod: KeyError"), EndlessError("too long")])
def test_what_only_a_new_process_can_mend_ends_the_loop(error: Exception) -> None:
    """No news come any more, or the thread that decides hangs."""
    with pytest.raises(type(error)):
        Ran(60.0, Performed(failures={1: error}), stop_after=150.0).run()


def test_a_stop_during_the_pause_ends_it_at_once() -> None:
    assert Ran(600.0, stop_after=77.0).run().ended == pytest.approx(77.0)


def test_a_stop_during_a_cycle_lets_it_end_and_begins_no_other() -> None:
    ran = Ran(10.0, Performed(30.0), stop_after=15.0).run()
    assert ran.cycles.begun == [0]
    assert ran.ended == pytest.approx(30.0)


def test_the_policy_is_looked_at_before_each_cycle_and_every_five_seconds() -> None:
    ran = Ran(12.0, stop_after=20.0).run()
    assert ran.policies.looks == pytest.approx([0, 5, 10, 12, 12, 17, 20])
    assert [each.policy.max_no_of_pods_to_evict_total for each in ran.cycles.rules] == [1, 5]


def test_a_new_policy_leaves_the_rest_of_the_rules() -> None:
    assert {each.asked_placement for each in Ran(12.0, stop_after=20.0).run().cycles.rules} == {"upstream"}
