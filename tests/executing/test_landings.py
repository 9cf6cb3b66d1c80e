"""Where replacements land and whether they get ready, and what that means for their workloads."""

from __future__ import annotations

import asyncio
import re

import pytest

from builders import Owner, a_node, a_pod
from descheduling.trials import suggesting, trial
from executing.double import (
    LATENCY,
    Double,
    an_execution,
    carry_out,
    endings,
    messages,
    outcomes,
    tasks,
    virtually,
)
from restow.executing.deciding import tasks_of
from restow.executing.history import EvictionHistory
from restow.executing.task import (
    Cleared,
    Dropped,
    Landed,
    LandingMatch,
    Missing,
    Outcome,
    Unready,
)
from restow.policies.codes import OutcomeCode, PlacementConstraint
from restow.policies.policy import Policy
from restow.workloads.replacements import ReplacementPolicy


def test_a_stateful_set_is_followed_by_name() -> None:
    plan = tasks("db", 2, kind="StatefulSet", replacement_policy=ReplacementPolicy.AFTERWARDS)
    told = carry_out(Double.of(plan), plan)
    assert [each.pod for each in told if isinstance(each, Landed)] == ["db-0", "db-1"]


def test_a_landing_while_the_news_broke_off_says_nothing_about_the_proof() -> None:
    """The scheduler may have been without the API server just as well, and places pods after others have gone."""
    plan = tasks("web", 1, candidates=["b"])
    double, memory = Double.of(plan), EvictionHistory()

    def land(_: str) -> str:
        double.interruptions += 1
        return "c"

    double.land = land
    told = carry_out(double, plan, memory=memory)
    assert [each.match for each in told if isinstance(each, Landed)] == [LandingMatch.VOID]
    assert not memory.pausing(0.0)


@pytest.mark.parametrize("replacement_policy", [ReplacementPolicy.NONE, ReplacementPolicy.NOT_NEEDED])
def test_nothing_is_waited_for_where_nothing_comes(replacement_policy: ReplacementPolicy) -> None:
    plan = tasks("web", 2, replacement_policy=replacement_policy)
    assert set(endings(carry_out(Double.of(plan), plan)).values()) == {"Cleared"}


def test_nothing_is_evicted_while_its_controller_has_enough_pods_without_it() -> None:
    """Of a rollout that scales its ReplicaSet down, or of a pod that was created twice: no replacement would come."""
    plan = tasks("web", 2)
    double = Double.of(plan, wanted={"web": 1})
    told = carry_out(double, plan)
    assert double.evicted == []
    assert messages(told, Dropped) == ["ReplicaSet web has 1 of 1 replicas without it: none would be created"] * 2
    assert {each.code for each in told if isinstance(each, Dropped)} == {OutcomeCode.SURPLUS}


def test_a_replacement_that_a_controller_does_not_want_any_more_is_not_waited_for() -> None:
    """It is scaled down while a pod is evicted; other moves go on at once instead of after the five minutes of waitForReady."""
    plan = [*tasks("web", 2), *tasks("db", 1, first=2)]
    double = Double.of(plan, wanted={"web": 2})
    double.land = lambda _: "b"

    def scale_down() -> None:
        double.wanted["web"] = 1

    async def scene() -> list[Outcome]:
        asyncio.get_running_loop().call_later(LATENCY / 2, scale_down)
        return await outcomes(an_execution(double), plan)

    told = virtually(scene())
    assert endings(told) == {"web-0": "Cleared", "web-1": "Settled", "db-0": "Settled"}


@pytest.mark.parametrize("candidates", [["b"], []], ids=["proven", "not proven"])
def test_the_proofs_of_later_moves_assume_a_replacement_that_does_not_come(candidates: list[str]) -> None:
    plan = tasks("web", 1, candidates=candidates)
    double = Double.of(plan, wanted={"web": 1})

    async def scene() -> list[Outcome]:
        asyncio.get_running_loop().call_later(LATENCY / 2, double.wanted.update, {"web": 0})
        return await outcomes(an_execution(double), plan)

    (cleared,) = (each for each in virtually(scene()) if isinstance(each, Cleared))
    assert cleared.invalidates_plan == bool(candidates)


def test_pods_that_come_back_stop_their_workload_after_the_first_and_say_why() -> None:
    plan = tasks("web", 6)
    double, memory = Double.of(plan, land=lambda _: "a"), EvictionHistory()
    told = carry_out(double, plan, memory=memory)
    assert double.evicted == ["web-0"]
    assert [each.match for each in told if isinstance(each, Landed)] == [LandingMatch.BACK]
    assert re.search(r"for 4m5\ds \(once\): new-1 landed on a again", messages(told, Dropped)[0])


@pytest.mark.parametrize("plugin", ["PodLifeTime", "RestartWhatLeaks"])
def test_a_pod_that_was_only_to_be_restarted_may_come_back(plugin: str) -> None:
    """Whoever asks for that, be it a strategy that restow does not know."""
    plan = tasks("web", 3, plugin=plugin, constraint=PlacementConstraint.ANYWHERE)
    told = carry_out(Double.of(plan, land=lambda _: "a"), plan)
    assert [each.match for each in told if isinstance(each, Landed)] == [LandingMatch.UNPREDICTED] * 3


def test_what_an_installed_strategy_asks_for_is_what_its_pods_are_judged_by() -> None:
    """A strategy that wants a restart, and one like it that wants the pod elsewhere, in upstream placement."""
    matches = {constraint: come_back(constraint) for constraint in PlacementConstraint}
    assert matches == {
        PlacementConstraint.ANYWHERE: LandingMatch.UNPREDICTED,
        PlacementConstraint.ELSEWHERE: LandingMatch.BACK,
        PlacementConstraint.BETTER: LandingMatch.BACK,
    }


def come_back(constraint: PlacementConstraint) -> LandingMatch:
    """How the landing of a pod on its own node is judged that an installed strategy wanted to move."""
    cycle = trial(
        {"RestartWhatLeaks": suggesting("p", constraint=constraint)},
        a_node("a"),
        a_node("b"),
        a_pod("p", node="a", owner=Owner("ReplicaSet", "rs")),
    )
    plan = tasks_of(cycle, Policy())
    told = carry_out(Double.of(plan, land=lambda _: "a"), plan)
    return next(each.match for each in told if isinstance(each, Landed))


def test_a_missed_prediction_stops_its_workload() -> None:
    plan = [*tasks("web", 2, candidates=["b"]), *tasks("api", 1, 2)]
    double = Double.of(plan, land=lambda pod: "c" if pod.startswith("web") else "d")
    told = carry_out(double, plan)
    assert double.evicted == ["web-0", "api-0"]
    assert "new-1 landed on c, but the plan predicted b" in messages(told, Dropped)[0]


def test_a_workload_whose_replacement_is_not_ready_is_not_evicted_again() -> None:
    """Not in this plan, nor in a later one, before the replacement is ready."""
    plan, memory = tasks("web", 3), EvictionHistory()
    double = Double.of(plan, ready_after=700.0)
    told = carry_out(double, plan[:2], memory=memory)
    assert messages(told, Unready) == ["new-1, the replacement of default/web-0, was not ready within 5m0s"]
    late = "the last replacement of its workload, default/new-1, is still not ready"
    assert messages(told, Dropped) == [late]
    assert messages(carry_out(double, plan[2:], memory=memory), Dropped) == [late]
    double._become_ready("new-1")
    assert endings(carry_out(double, plan[2:], memory=memory)) == {"web-2": "Unready"}


def test_a_replacement_that_fits_nowhere_and_one_that_never_comes_are_told() -> None:
    plan = tasks("web", 1)
    told = carry_out(Double.of(plan, land=lambda _: None), plan)
    assert messages(told, Unready) == ["new-1, the replacement of default/web-0, was not scheduled within 5m0s"]

    class Scaled(Double):
        def _create(self, *_: object) -> None:
            """Nobody wants the pod any more."""

    told = carry_out(Scaled(Double.of(plan).pods), [*plan])
    assert messages(told, Missing) == ["no replacement of default/web-0 was created within 5m0s"]


def test_after_a_move_went_astray_later_landings_are_no_misses() -> None:
    """The second of two equal candidates won, so the next replacement finds another cluster than it was proven on."""
    plan = [*tasks("web", 1, candidates=["b", "c"]), *tasks("api", 2, 1, candidates=["c"])]
    double = Double.of(plan, land=lambda pod: "c" if pod == "web-0" else "b")
    told = carry_out(double, plan)
    assert [each.match for each in told if isinstance(each, Landed)] == [
        LandingMatch.PREDICTED,
        LandingMatch.VOID,
        LandingMatch.VOID,
    ]
    assert set(endings(told).values()) == {"Settled"}
