"""Whole executions on a cluster in memory, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from executing.double import (
    START,
    Double,
    a_pod,
    an_execution,
    carry_out,
    endings,
    messages,
    now,
    outcomes,
    tasks,
    virtually,
)
from restow.client import eviction
from restow.client.errors import NotPermitted
from restow.cluster.pod_values import Flag, PodNow
from restow.executing.execution import LEADERSHIP_ENDED
from restow.executing.history import EvictionHistory
from restow.executing.replanning import DryRun
from restow.executing.surroundings import ExecutionSettings
from restow.executing.task import (
    Dropped,
    Evicted,
    Failed,
    Landed,
    LandingMatch,
    Outcome,
    Postponed,
    Settled,
    Task,
    Unverified,
)
from restow.policies.policy import Window
from restow.workloads.replacements import ReplacementPolicy


def test_an_eviction_is_told_from_the_answer_to_the_ready_replacement() -> None:
    plan = tasks("web", 1, candidates=["b"])
    told = carry_out(Double.of(plan), plan)
    assert told == [Evicted(plan[0]), Landed(plan[0], "new-1", "b", LandingMatch.PREDICTED), Settled(plan[0])]


def test_workloads_go_side_by_side_and_their_pods_one_after_the_other() -> None:
    plan = [task for at in range(8) for task in tasks(f"app{at}", 2, 2 * at)]
    double = Double.of(plan)
    told = carry_out(double, plan)
    assert set(endings(told).values()) == {"Settled"}
    assert double.most["requests"] == 4
    assert all(double.most[f"on the way uid-app{at}"] == 1 for at in range(8))
    assert double.asked[-1][0] - START < 3.0


def test_so_many_pods_of_a_workload_go_at_a_time_as_its_limit_says() -> None:
    plan = tasks("web", 6, limit=3)
    double = Double.of(plan)
    assert set(endings(carry_out(double, plan)).values()) == {"Settled"}
    assert double.most["on the way uid-web"] == 3


@pytest.mark.parametrize(
    "answer",
    [eviction.Misconfigured("two budgets"), eviction.Denied("add the rule"), eviction.EvictionFailed("odd", 400)],
)
def test_a_refusal_that_does_not_pass_ends_the_task(answer: eviction.Outcome) -> None:
    plan = tasks("web", 2)
    double = Double.of(plan)
    double.answers["web-0"] = [answer]
    told = carry_out(double, plan)
    assert endings(told) == {"web-0": "Failed", "web-1": "Settled"}
    assert messages(told, Failed) == [answer.message]  # type: ignore[union-attr]


def test_a_pod_that_the_server_no_longer_has_is_dropped() -> None:
    plan = tasks("web", 1)
    double = Double.of(plan)
    double.answers["web-0"] = [eviction.AlreadyGone("not found")]
    assert messages(carry_out(double, plan), Dropped) == ["not found"]


def test_after_a_lost_answer_the_pod_is_not_evicted_again() -> None:
    class Deaf(Double):
        async def evict(self, task: Task) -> eviction.Outcome:
            await super().evict(task)
            return eviction.EvictionUnanswered("no answer")

    plan = tasks("web", 1)
    double = Deaf({each.move.pod.name: pod for each, pod in zip(plan, Double.of(plan).pods.values(), strict=True)})
    told = carry_out(double, plan)
    assert [type(each) for each in told] == [Postponed, Evicted, Landed, Settled]
    assert double.evicted == ["web-0"]
    assert len(double.asked) == 1


def test_after_a_lost_answer_nothing_is_given_up_before_it_is_known_what_was_done() -> None:
    """The watches are slow, and meanwhile there is an objection to asking again."""
    plan = tasks("web", 1, candidates="b")

    class Slow(Double):
        async def evict(self, task: Task) -> eviction.Outcome:
            await super().evict(task)
            self.closed.add("b")
            return eviction.EvictionUnanswered("no answer")

        def pod(self, namespace: str, name: str) -> PodNow | None:
            return a_pod(plan[0]) if name == "web-0" and now() < START + 5 else super().pod(namespace, name)

    told = carry_out(Slow(Double.of(plan).pods), plan)
    assert [type(each) for each in told] == [Postponed, Evicted, Landed, Settled]


def test_a_busy_server_is_asked_again_when_it_says_so() -> None:
    plan = tasks("web", 1)
    double = Double.of(plan)
    double.answers["web-0"] = [eviction.Busy("too many requests", 10.0)]
    assert endings(carry_out(double, plan)) == {"web-0": "Settled"}
    assert double.asked[1][0] - double.asked[0][0] >= 10.0


def gone(double: Double) -> None:
    del double.pods["web-0"]


def another(double: Double) -> None:
    double.pods["web-0"] = replace(double.pods["web-0"], uid="other")


def leaving(double: Double) -> None:
    double.pods["web-0"] = replace(double.pods["web-0"], flags=Flag.TERMINATING)


def moved(double: Double) -> None:
    double.pods["web-0"] = replace(double.pods["web-0"], node="c")


def shut(double: Double) -> None:
    double.closed = {"b"}


def starting(double: Double) -> None:
    double.pods["web-1"] = replace(double.pods["web-1"], conditions=(), created=int(START * 1e9))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (gone, "it is already gone"),
        (another, "it is already gone, and another pod has its name"),
        (leaving, "it is already being deleted"),
        (moved, "it is on c, but the plan moves it from a"),
        (shut, "b, where it would land, no longer accepts pods"),
        (starting, "1 of ReplicaSet web's pods are not ready yet, such as web-1"),
    ],
)
def test_a_move_that_the_newest_state_forbids_is_dropped(change: Callable[[Double], None], reason: str) -> None:
    known = tasks("web", 2, candidates=["b"])
    double = Double.of(known)
    change(double)
    assert messages(carry_out(double, known[:1]), Dropped) == [reason]
    assert double.asked == []


@pytest.mark.parametrize(("chosen", "value"), [("all", "disabled"), ("all", "off"), ("annotated", None)])
def test_a_namespace_that_opts_out_after_the_plan_was_made_keeps_its_pods(chosen: Any, value: str | None) -> None:
    plan = tasks("web", 2)
    double = Double.of(plan)
    double.annotations = {} if value is None else {"default": value}
    told = carry_out(double, plan, namespaces=chosen)
    assert {each.code for each in told if isinstance(each, Dropped)} == {"OptedOut"}
    assert not double.asked


def test_a_namespace_that_opts_in_lets_its_pods_go() -> None:
    plan = tasks("web", 2)
    double = Double.of(plan, annotations={"default": "enabled"})
    assert set(endings(carry_out(double, plan, namespaces="annotated")).values()) == {"Settled"}


def test_nothing_is_begun_when_leadership_has_ended_and_the_rest_is_dropped() -> None:
    plan = tasks("web", 5)
    double = Double.of(plan)
    told = carry_out(double, plan, permit=lambda: START + 2.0 - now())
    assert list(endings(told).values()) == ["Settled", "Settled", "Dropped", "Dropped", "Dropped"]
    assert all(at <= START + 2.0 for at, _ in double.asked)
    assert set(messages(told, Dropped)) == {LEADERSHIP_ENDED}


def test_leadership_that_ends_between_the_look_and_the_request_stops_everything() -> None:
    class Fenced(Double):
        async def evict(self, task: Task) -> eviction.Outcome:
            raise NotPermitted("ended")

    plan = tasks("web", 2)
    told = carry_out(Fenced(Double.of(plan).pods), plan)
    assert messages(told, Dropped) == [LEADERSHIP_ENDED] * 2


def test_stop_lets_requests_end_and_begins_no_other() -> None:
    plan = [*tasks("web", 2), *tasks("api", 2, 2, budgets=["default/api"])]
    double = Double.of(plan, budgets={"default/api": 2})
    execution = an_execution(double)

    async def stopped() -> list[Outcome]:
        asyncio.get_running_loop().call_later(0.05, execution.stop, "SIGTERM")
        return await outcomes(execution, plan)

    told = virtually(stopped())
    assert endings(told) == {"web-0": "Unverified", "web-1": "Dropped", "api-0": "Dropped", "api-1": "Dropped"}
    assert messages(told, Unverified) == ["SIGTERM"]
    assert len(double.asked) == 2


def test_outside_its_windows_nothing_is_evicted() -> None:
    window = Window(start="0 22 * * *", duration=3600 * 10**9)
    plan = tasks("web", 1)
    told = carry_out(Double.of(plan), plan, windows=(window,))
    assert messages(told, Dropped) == [
        "no window of the policy is open; the next opens at 2027-01-15T22:00:00+00:00",
    ]


def test_a_dry_run_reports_the_moves_and_makes_none() -> None:
    plan = tasks("web", 3)
    dry_run = DryRun(ExecutionSettings(), EvictionHistory(), lambda: START)

    async def told() -> list[Outcome]:
        return [each async for each in dry_run.carry_out(plan)]

    assert endings(virtually(told())) == dict.fromkeys(["web-0", "web-1", "web-2"], "WouldEvict")


def test_a_pod_without_owner_is_its_own_workload() -> None:
    plan = [
        structs.replace(each, workload=each.move.pod.uid)
        for each in tasks("x", 3, replacement_policy=ReplacementPolicy.NONE)
    ]
    double = Double.of(plan)
    carry_out(double, plan)
    assert double.most["requests"] == 3


EVACUATION = eviction.Busy('admission webhook "x" denied the request: Eviction triggered evacuation of VMI', None)


def test_with_the_gate_open_a_pod_that_asks_for_it_may_be_evicted_by_somebody_else() -> None:
    """It is not asked for again, and other pods of its workload do not wait for it."""
    plan = [structs.replace(each, request_only=True) for each in tasks("web", 2)]
    double, memory = Double.of(plan), EvictionHistory()
    double.answers["web-0"] = [EVACUATION]
    assert endings(carry_out(double, plan, memory=memory, in_background=True)) == {
        "web-0": "Requested",
        "web-1": "Settled",
    }
    assert messages(carry_out(double, plan[:1], memory=memory, in_background=True), Dropped) == [
        "its eviction was requested 0s ago"
    ]
    assert len(double.asked) == 2


@pytest.mark.parametrize(
    ("gate", "asks", "answer"),
    [(False, True, EVACUATION), (True, False, EVACUATION), (True, True, eviction.Busy("too many requests", None))],
    ids=["gate closed", "no annotation", "another refusal"],
)
def test_otherwise_such_an_answer_is_a_busy_server(gate: bool, asks: bool, answer: eviction.Outcome) -> None:
    plan = [structs.replace(each, request_only=asks) for each in tasks("web", 1)]
    double = Double.of(plan)
    double.answers["web-0"] = [answer]
    assert endings(carry_out(double, plan, in_background=gate)) == {"web-0": "Settled"}
