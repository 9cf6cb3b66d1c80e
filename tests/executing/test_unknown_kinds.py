"""A plan that is being carried out when nobody knows any more what it trusts; in virtual time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from executing.double import LATENCY, START, Double, an_execution, endings, messages, outcomes, tasks, virtually
from restow.client import eviction
from restow.cluster.pod_values import PodNow
from restow.executing.history import EvictionHistory
from restow.executing.task import Dropped, Outcome, Task, Unverified

#: Seconds: after the eviction of the first pod, before its replacement is ready.
SOON = 0.5


def carried_out(
    double: Double, plan: list[Task], hidden: str, *, after: float = SOON, back_after: float = 1e6, **features: Any
) -> Any:
    """What is told of a plan, where a kind is not known from a moment on."""

    async def work() -> list[Outcome]:
        loop = asyncio.get_running_loop()
        loop.call_later(after, double.hidden.add, hidden)
        loop.call_later(back_after, double.hidden.clear)
        return await outcomes(an_execution(double, **features), plan)

    return virtually(work())


def codes(told: list[Outcome]) -> set[str]:
    return {each.code for each in told if isinstance(each, Dropped)}


@pytest.mark.parametrize(
    ("hidden", "features"),
    [
        pytest.param("Node", {}, id="nodes"),
        pytest.param("Pod", {}, id="pods"),
        pytest.param("Namespace", {}, id="any namespace may have opted out"),
        pytest.param("PodDisruptionBudget", {"candidates": ["b"]}, id="budgets, of a proven plan"),
        pytest.param("Job", {"candidates": ["b"], "kind": "Job"}, id="Jobs, of their pods in a proven plan"),
    ],
)
def test_it_stops_before_the_next_eviction(hidden: str, features: Any) -> None:
    plan = tasks("web", 3, **features)
    double = Double.of(plan)
    told = carried_out(double, plan, hidden)
    assert [name for _, name in double.asked] == ["web-0"]
    assert endings(told) == {"web-0": "Settled", "web-1": "Dropped", "web-2": "Dropped"}
    assert codes(told) == {"Unknown"}
    assert set(messages(told, Dropped)) == {f"nobody knows of {hidden}"}


@pytest.mark.parametrize(
    ("hidden", "features"),
    [
        pytest.param("Service", {"candidates": ["b"]}, id="what only shifts scores"),
        pytest.param("PodDisruptionBudget", {}, id="budgets, that only the API server is asked for"),
        pytest.param("Job", {"candidates": ["b"]}, id="Jobs, of other pods"),
    ],
)
def test_it_goes_on_without_what_it_does_not_trust(hidden: str, features: Any) -> None:
    plan = tasks("web", 3, **features)
    double = Double.of(plan)
    assert set(endings(carried_out(double, plan, hidden)).values()) == {"Settled"}


def test_a_pod_that_waits_for_its_budget_is_not_asked_for_again() -> None:
    plan = tasks("web", 1)
    double = Double.of(plan)
    double.answers["web-0"] = [eviction.BudgetExhausted("no", "The disruption budget web needs all", 2.0)]
    told = carried_out(double, plan, "Namespace")
    assert len(double.asked) == 1
    assert codes(told) == {"Unknown"}


def test_an_eviction_without_an_answer_is_not_asked_for_again_and_may_have_happened() -> None:
    plan = tasks("web", 1)
    double = Double.of(plan)
    double.answers["web-0"] = [eviction.EvictionUnanswered("cut")]
    told = carried_out(double, plan, "Pod", after=LATENCY / 2)
    assert endings(told) == {"web-0": "Failed"}
    assert len(double.asked) == 1


def test_a_replacement_that_nobody_could_see_come_is_not_called_missing() -> None:
    """No pods are known when its time is over: the workload is not left alone for what nobody saw."""

    class Idle(Double):
        """Its controllers create nothing."""

        def _create(self, old: PodNow, keeps: bool) -> None:
            pass

    plan, memory = tasks("web", 1), EvictionHistory()
    told = carried_out(Idle(Double.of(plan).pods), plan, "Pod", memory=memory)
    assert endings(told) == {"web-0": "Unverified"}
    assert messages(told, Unverified) == ["nobody knows of Pod"]
    assert memory.pausing(0.0) == {}


def test_what_is_known_again_is_trusted_again() -> None:
    plan = tasks("web", 1)
    double = Double.of(plan)
    double.answers["web-0"] = [eviction.EvictionUnanswered("cut")]
    assert endings(carried_out(double, plan, "Pod", after=LATENCY / 2, back_after=5.0)) == {"web-0": "Settled"}
    assert [at - START > 5.0 for at, _ in double.asked] == [False, True]
