"""Cycles that are stopped, get stuck, or lose sight of the cluster: nothing is evicted that nobody can answer for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from builders import HOSTNAME, a_node
from builders.policies import PLUGINS, as_json, strategy_policy
from descheduler.cycling import DROPPED, Decided, Run, a_town, another_candidate_once, crowd, rules
from descheduler.hearing import sample
from descheduler.town import Town
from executing.double import virtually
from proving.proven import TOLD
from restow.client import eviction
from restow.descheduler import cycles as module
from restow.errors import InputError
from restow.executing.deciding import CycleDecision, CycleRules, decide
from restow.executing.task import Task
from restow.in_thread import EndlessError, in_thread
from restow.policies.load import load_policy

pytestmark = pytest.mark.usefixtures("without_threads")


def test_stop_ends_the_cycle_after_what_was_asked_for(decided: Decided) -> None:
    town = a_town(*crowd("web"), *crowd("api"))
    run = Run(town)
    town.on_ask = lambda _: run.cycles.stop("restow is stopping")
    run.perform(rules())
    assert len(run.asked) == 1
    assert len(run.heard.of("Evicted pod")) == 1
    assert run.heard.of("Replacement was not waited for")[0]["message"] == "restow is stopping"
    assert {each["code"] for each in run.heard.of(DROPPED)} == {"Stopped"}
    assert len(decided.moves) == 1
    run.perform(rules())
    assert len(run.asked) == 1
    assert len(decided.moves) == 1


def test_a_stop_does_not_wait_for_a_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, never = threading.Event(), threading.Event()

    def endless(*_: object, **__: object) -> None:
        begun.set()
        never.wait()

    monkeypatch.setattr(module, "decide", endless)
    monkeypatch.setattr(module, "in_thread", in_thread)
    run = Run(a_town(*crowd("web")))

    async def stopped() -> None:
        performing = asyncio.ensure_future(run.cycles.perform(rules()))
        await asyncio.sleep(0.1)
        assert begun.wait(10)
        run.cycles.stop("restow is stopping")
        async with asyncio.timeout(1):
            await performing

    virtually(stopped())
    never.set()
    assert run.ended() == {}
    assert "Number of evictions/requests" not in run.heard.messages


@dataclass
class Waited(Town):
    """A cluster that never shows what is waited for."""

    on_wait: Callable[[], object] = lambda: None

    async def wait_ready(self, deadline: float) -> bool:
        return await self._never(deadline)

    async def wait_for(self, predicate: Callable[[], bool], deadline: float) -> bool:
        return await self._never(deadline)

    async def _never(self, deadline: float) -> bool:
        self.on_wait()
        await asyncio.sleep(deadline - asyncio.get_running_loop().time())
        return False


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param({"metricsProviders": [{"source": "KubernetesMetrics"}]}, id="metrics to come in"),
        pytest.param({}, id="what was evicted to be seen"),
    ],
)
def test_a_stop_does_not_wait_for(policy: Any) -> None:
    made = [a_node(f"n{number}", cpu="4", pods="110", labels={HOSTNAME: f"n{number}"}) for number in range(3)]
    town = Waited()
    run = Run(town.put(*made, *TOLD, *crowd("web", 2)))
    waits: list[float] = []

    async def stopped() -> float:
        loop = asyncio.get_running_loop()
        town.on_wait = lambda: (waits.append(loop.time()), loop.call_later(1.0, run.cycles.stop, "restow is stopping"))
        await run.cycles.perform(rules(**policy))
        return loop.time()

    ended = virtually(stopped())
    assert [ended - wait for wait in waits] == pytest.approx([1.0])


async def stuck_after(run: Run, by: CycleRules, seconds: float) -> list[str]:
    """What the watchdog finds while a cycle is performed, for so many seconds at most; looked for each second."""
    found: list[str] = []
    performing = asyncio.ensure_future(run.cycles.perform(by))
    while not performing.done() and asyncio.get_running_loop().time() < seconds:
        await asyncio.sleep(1)
        why = run.cycles.watchdog.stuck()
        found += [why] if why and why not in found else []
    performing.cancel()
    await asyncio.wait((performing,))
    assert run.cycles.watchdog.stuck() == ""
    return found


def test_a_long_cycle_is_not_taken_for_a_stuck_one(decided: Decided) -> None:
    """Each replacement takes the longest that the policy allows, one after the other."""
    slow = a_town(*crowd("web", 6))
    slow.ready_after = 299.0
    run = Run(slow)
    assert virtually(stuck_after(run, rules(), 1e6)) == []
    assert len(run.asked) >= 3


def test_a_plan_that_does_not_go_on_is_found_out(decided: Decided) -> None:
    class Hung(Town):
        async def evict(self, task: Task) -> eviction.Outcome:
            await asyncio.Event().wait()
            raise AssertionError

    made = [a_node(f"n{number}", cpu="4", pods="110", labels={HOSTNAME: f"n{number}"}) for number in range(3)]
    run = Run(Hung().put(*made, *TOLD, *crowd("web")))
    patience = {"waitForReady": "5m", "waitForBudget": "10m"}
    told = ["the cycle: no outcome of a move for 1800 s"]
    assert virtually(stuck_after(run, rules(restow=patience), 2_500)) == told


def test_a_decision_without_an_end_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody has ended the process because of it."""
    monkeypatch.setattr(module, "in_thread", lambda *_: asyncio.Event().wait())
    run = Run(a_town(*crowd("web")))
    assert virtually(stuck_after(run, rules(), 3_000)) == ["the cycle: no decision for 1900 s"]


def test_a_decision_without_an_end_fails_and_its_late_answer_moves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, decided = threading.Event(), threading.Event()

    def late(*given: Any, **steering: Any) -> CycleDecision:
        asked.wait()
        try:
            return decide(*given)
        finally:
            decided.set()

    monkeypatch.setattr(module, "decide", late)
    monkeypatch.setattr(module, "in_thread", in_thread)
    run = Run(a_town(*crowd("web")))

    async def performed() -> None:
        with pytest.raises(EndlessError, match="a decision did not finish within 1800 s"):
            await run.cycles.perform(rules())
        assert asyncio.get_running_loop().time() == pytest.approx(1800.0)
        asked.set()
        assert decided.wait(10)
        await asyncio.sleep(3_600)

    virtually(performed())
    assert run.asked == []
    assert run.ended() == {"failed": 1}


def test_whoever_may_not_write_any_more_decides_no_more(decided: Decided) -> None:
    town = a_town(*crowd("web"), *crowd("api"), land=another_candidate_once())
    run = Run(town, permit=lambda: 1.0 - len(town.asked)).perform(rules())
    assert len(run.asked) == 1
    assert len(decided.moves) == 1


def test_nothing_is_decided_on_a_cluster_of_which_nothing_was_heard(decided: Decided) -> None:
    run = Run(a_town(*crowd("web"), silent=181.0))
    with pytest.raises(
        TimeoutError, match="the API server has not reported on nodes for 181 s; restow does not decide"
    ):
        run.perform(rules())
    assert run.ended() == {"failed": 1}
    assert (run.asked, decided.moves) == ([], [])
    run.town.silent = 179.0
    assert run.perform(rules()).ended() == {"failed": 1, "done": 1}


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_where_namespaces_are_not_known_every_pod_stays(placement: Any) -> None:
    """Any of them may have opted out."""
    run = Run(a_town(*crowd("web"), *crowd("api"), hidden=frozenset({"Namespace"}))).perform(rules(placement))
    assert run.asked == []
    assert run.ended() == {"done": 1}
    assert sample(run.metrics, "restow_last_cycle_refusals", stage="evictor", code="Unknown") == 6
    run.town.hidden = frozenset()
    assert len(run.perform(rules(placement)).asked) == 4


@pytest.mark.parametrize(("placement", "evicted"), [("prove", 0), ("upstream", 4)])
def test_where_budgets_are_not_known_no_move_is_proven(placement: Any, evicted: int) -> None:
    """Without proofs the API server alone knows them, as with the Descheduler."""
    run = Run(a_town(*crowd("web"), *crowd("api"), hidden=frozenset({"PodDisruptionBudget"})))
    assert len(run.perform(rules(placement)).asked) == evicted


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_a_cycle_evicts_no_more_when_namespaces_are_lost_on_the_way(placement: Any) -> None:
    town = a_town(*crowd("web"), *crowd("api"))
    town.on_ask = lambda _: setattr(town, "hidden", frozenset({"Namespace"}))
    run = Run(town).perform(rules(placement))
    # Four workloads are asked for at a time; those requests were out.
    assert len(run.asked) <= 2
    assert len(run.heard.of("Evicted pod")) == len(run.asked)
    assert run.ended() == {"done": 1}
    told = len(run.asked)
    assert len(run.perform(rules(placement)).asked) == told


def test_a_cycle_fails_when_pods_are_lost_on_the_way() -> None:
    """What is left of its plan is not decided anew on what was before."""
    town = a_town(*crowd("web"), *crowd("api"))
    town.on_ask = lambda _: setattr(town, "silent", 200.0)
    run = Run(town)
    with pytest.raises(TimeoutError, match="the API server has not reported on nodes for 200 s"):
        run.perform(rules())
    assert len(run.asked) == 1
    assert run.ended() == {"failed": 1}


def test_what_the_policy_names_and_is_not_there_fails_the_cycle() -> None:
    document = strategy_policy("RemoveDuplicates")
    threshold = {"name": "DefaultEvictor", "args": {"priorityThreshold": {"name": "nobody"}}}
    document["profiles"][0]["pluginConfig"].append(threshold)
    run = Run(a_town(*crowd("web")))
    with pytest.raises(InputError, match="nobody"):
        run.perform(CycleRules(load_policy(as_json(document), "policy.json", PLUGINS).policy))
    assert run.ended() == {"failed": 1}
