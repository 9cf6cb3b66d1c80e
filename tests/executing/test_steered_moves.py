"""What an execution does with a replacement that is to be steered, in virtual time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from msgspec import structs

from executing.double import START, Double, a_task, an_execution, carry_out, endings, messages, outcomes, virtually
from executing.steered import Gatekeeper, steered, steered_tasks
from restow.client import eviction
from restow.cluster.nodes import NodeRow
from restow.cluster.pod_values import Flag
from restow.executing.history import EvictionHistory
from restow.executing.task import Dropped, Evicted, Landed, LandingMatch, Settled, Task
from restow.kube.objects import Taint
from restow.policies.policy import VetoSettings
from restow.workloads.replacements import ReplacementPolicy


def scene(count: int = 1, **features: object) -> tuple[list[Task], Double, Gatekeeper]:
    plan = steered_tasks("web", count, **features)
    double = Double.of(plan)
    return plan, double, Gatekeeper(double)


def test_a_replacement_is_announced_before_the_eviction_nominated_and_not_awaited_any_more() -> None:
    plan, double, gates = scene(2)
    told = carry_out(double, plan, steering=gates)
    assert [(each.node, each.match) for each in told if isinstance(each, Landed)] == [("t", LandingMatch.PREDICTED)] * 2
    assert gates.done == [f"{what} web-{at}" for at in range(2) for what in ("announce", "nominate", "withdraw")]
    assert not gates.awaited


@pytest.mark.parametrize("kind", ["StatefulSet", "Job"])
def test_a_replacement_that_comes_after_its_pod_has_gone_is_nominated_too(kind: str) -> None:
    plan, double, gates = scene(2, kind=kind, replacement_policy=ReplacementPolicy.AFTERWARDS)
    told = carry_out(double, plan, steering=gates)
    assert {each.node for each in told if isinstance(each, Landed)} == {"t"}
    assert not gates.awaited


def test_a_move_that_cannot_be_announced_is_not_made() -> None:
    plan, double, gates = scene()
    gates.problem = "its replacement cannot be gated: no"
    told = carry_out(double, plan, steering=gates)
    assert [each.code for each in told if isinstance(each, Dropped)] == ["Unsteered"]
    assert messages(told, Dropped) == ["its replacement cannot be gated: no"]
    assert double.asked == []


def test_a_replacement_without_a_gate_lands_where_the_scheduler_wants_and_is_a_miss() -> None:
    plan, double, gates = scene(2)
    gates.gates, memory = False, EvictionHistory()
    told = carry_out(double, plan, steering=gates, memory=memory)
    assert [(each.node, each.match) for each in told if isinstance(each, Landed)] == [("b", LandingMatch.ELSEWHERE)]
    assert gates.done == ["announce web-0", "withdraw web-0"]
    assert "new-1 landed on b, but the plan predicted t" in messages(told, Dropped)[0]


def test_a_target_that_takes_no_pods_any_more_is_not_nominated() -> None:
    """The pod is not awaited any more, so it is let go; here by hand."""
    plan, double, gates = scene()
    evict = double.evict

    async def cordoned(task: Task) -> eviction.Outcome:
        double.closed.add("t")
        asyncio.get_running_loop().call_later(1.0, gates.let_go, "new-1")
        return await evict(task)

    double.evict = cordoned  # type: ignore[method-assign]
    told = carry_out(double, plan, steering=gates)
    assert gates.done == ["announce web-0", "withdraw web-0"]
    assert [each.match for each in told if isinstance(each, Landed)] == [LandingMatch.ELSEWHERE]


@pytest.mark.parametrize(("switch", "nominated"), [(True, False), (False, True)], ids=["on", "off"])
def test_a_target_that_is_about_to_be_removed_by_now_is_not_nominated(switch: bool, nominated: bool) -> None:
    plan, double, gates = scene()
    evict = double.evict
    taint = Taint(key="ToBeDeletedByClusterAutoscaler", effect="NoSchedule")

    async def tainted(task: Task) -> eviction.Outcome:
        double.rows["t"] = NodeRow("t", {}, {}, {}, unschedulable=False, ready=True, taints=(taint,), images=())
        asyncio.get_running_loop().call_later(1.0, gates.let_go, "new-1")
        return await evict(task)

    double.evict = tainted  # type: ignore[method-assign]
    carry_out(double, plan, steering=gates, vetoes=VetoSettings(leaving_nodes=switch))
    assert ("nominate web-0" in gates.done) == nominated


@pytest.mark.parametrize(
    ("after", "released", "done"),
    [
        (Flag.STEERING_GATE, False, ["announce web-0", "nominate web-0", "withdraw web-0"]),
        (Flag(0), True, ["announce web-0", "withdraw web-0"]),
    ],
    ids=["others take theirs off", "restow has released it meanwhile"],
)
def test_a_replacement_behind_a_gate_of_others_is_not_nominated_before_that_is_gone(
    after: Flag, released: bool, done: list[str]
) -> None:
    """It would hold a place for as long as others like; and nothing waits for restow's gate for more than five seconds."""
    plan, double, gates = scene()
    gates.flags = Flag.STEERING_GATE | Flag.OTHER_GATES
    before: list[str] = []
    evict = double.evict

    def goes_on() -> None:
        before.extend(gates.done)
        double.pods["new-1"] = replace(double.pods["new-1"], flags=after)

    async def evicted(task: Task) -> eviction.Outcome:
        asyncio.get_running_loop().call_later(3.0, goes_on)
        return await evict(task)

    double.evict = evicted  # type: ignore[method-assign]
    told = carry_out(double, plan, steering=gates)
    assert before == ["announce web-0"]
    assert gates.done == done
    assert [each.node for each in told if isinstance(each, Landed)] == ["b" if released else "t"]


def test_a_pod_is_nominated_once_however_late_the_news_come() -> None:
    plan, double, gates = scene()
    gates.let_go = lambda name: asyncio.get_running_loop().call_later(0.4, Gatekeeper.let_go, gates, name)  # type: ignore[assignment, return-value, misc]
    carry_out(double, plan, steering=gates)
    assert gates.done.count("nominate web-0") == 1


@pytest.mark.parametrize(
    ("answer", "ending"),
    [
        (eviction.BudgetExhausted("no", "web", None), "Settled"),
        (eviction.Denied("no"), "Failed"),
        (eviction.AlreadyGone("gone"), "Dropped"),
    ],
    ids=["blocked once", "denied", "gone"],
)
def test_nothing_is_awaited_after_an_answer_by_which_no_replacement_comes(
    answer: eviction.Outcome, ending: str
) -> None:
    plan, double, gates = scene()
    double.answers["web-0"].append(answer)
    told = carry_out(double, plan, steering=gates)
    assert endings(told) == {"web-0": ending}
    assert gates.done[:2] == ["announce web-0", "withdraw web-0"]
    assert not gates.awaited


def test_while_nobody_knows_whether_a_pod_goes_its_replacement_is_awaited() -> None:
    """The request was fulfilled, and its answer lost: the replacement is nominated all the same."""
    plan, double, gates = scene()
    evict = double.evict

    async def lost(task: Task) -> eviction.Outcome:
        await evict(task)
        return eviction.EvictionUnanswered("no answer")

    double.evict = lost  # type: ignore[method-assign]
    told = carry_out(double, plan, steering=gates)
    assert gates.done == ["announce web-0", "nominate web-0", "withdraw web-0"]
    assert [each.node for each in told if isinstance(each, Landed)] == ["t"]


def test_nothing_is_awaited_of_a_pod_that_was_asked_for_in_vain_for_too_long() -> None:
    plan, double, gates = scene()
    double.answers["web-0"] += [eviction.EvictionUnanswered("no answer")] * 50
    assert endings(carry_out(double, plan, steering=gates, budget=5.0)) == {"web-0": "Failed"}
    assert gates.done[-1] == "withdraw web-0"
    assert not gates.awaited


@pytest.mark.parametrize("replacement_policy", [ReplacementPolicy.NOT_NEEDED, ReplacementPolicy.NONE])
def test_nothing_is_awaited_where_nothing_comes(replacement_policy: ReplacementPolicy) -> None:
    plan, double, gates = scene(replacement_policy=ReplacementPolicy.NOT_NEEDED)
    plan = [structs.replace(task, replacement_policy=replacement_policy) for task in plan]
    assert endings(carry_out(double, plan, steering=gates)) == {"web-0": "Cleared"}
    assert gates.done == ["announce web-0", "withdraw web-0"]


@pytest.mark.parametrize("at", [0.0, 0.06, 0.1, 0.2])
def test_nothing_is_awaited_after_a_stop(at: float) -> None:
    plan, double, gates = scene(3, limit=3)

    async def stopped() -> list[str]:
        execution = an_execution(double, steering=gates)
        asyncio.get_running_loop().call_later(at, execution.stop, "told to")
        return list(endings(await outcomes(execution, plan)).values())

    assert "Settled" not in virtually(stopped())
    assert not gates.awaited


@pytest.mark.parametrize("at", [0.05, 0.11, 0.16])
def test_nothing_is_awaited_after_nobody_listens_any_more(at: float) -> None:
    """Whoever carries a plan out has failed, or has lost the lease."""
    plan, double, gates = scene(3, limit=3)
    double.answers["web-0"].append(eviction.EvictionUnanswered("no answer"))

    async def cancelled() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(at):
                await outcomes(an_execution(double, steering=gates), plan)

    virtually(cancelled())
    assert gates.done
    assert not gates.awaited


def test_a_plan_that_is_concluded_still_brings_what_it_evicted_to_its_target() -> None:
    plan, double, gates = scene(3)

    async def concluded() -> list[object]:
        execution = an_execution(double, steering=gates)
        asyncio.get_running_loop().call_later(0.12, execution.conclude, "planned anew")
        return list(await outcomes(execution, plan))

    told = virtually(concluded())
    assert [type(each) for each in told if isinstance(each, Evicted | Settled)] == [Evicted, Settled]
    assert [each.node for each in told if isinstance(each, Landed)] == ["t"]
    assert not gates.awaited


def test_landings_that_gain_nothing_leave_a_workload_alone_for_a_while() -> None:
    """One of two likely nodes is as hot as the one that the pod left."""
    plan = steered_tasks("web", 2, candidates=["t", "b"])
    plan = [structs.replace(each, move=structs.replace(each.move, steering=None, in_vain=("b",))) for each in plan]
    told = carry_out(Double.of(plan), plan)
    assert [each.match for each in told if isinstance(each, Landed)] == [LandingMatch.IN_VAIN]
    assert "new-1 landed on b, where LowNodeUtilization gains nothing" in messages(told, Dropped)[0]


def brought(count: int) -> list[Task]:
    """Moves of as many workloads, that no rule connects with other pods."""
    plan = [steered(a_task(f"app-{at}", f"app-{at}", number=at, candidates=["t"])) for at in range(count)]
    return [structs.replace(task, is_independent=True) for task in plan]


def test_moves_of_different_workloads_are_brought_to_their_targets_side_by_side() -> None:
    plan = brought(8)
    double = Double.of(plan)
    gates = Gatekeeper(double)
    told = carry_out(double, plan, steering=gates)
    assert [(each.node, each.match) for each in told if isinstance(each, Landed)] == [("t", LandingMatch.PREDICTED)] * 8
    assert double.most["requests"] > 1
    assert not gates.awaited


def test_a_scheduler_that_places_nothing_costs_a_few_pods_and_not_all_of_the_plan() -> None:
    """None of the replacements lands, so those of the first moves are all that is missing."""
    plan = brought(40)
    double = Double.of(plan)
    gates = Gatekeeper(double)
    double._place = lambda name, old: None  # type: ignore[method-assign]
    told = carry_out(double, plan, steering=gates, ready=60.0)
    evicted_by_then = [each for at, each in double.asked if at < START + 60]
    assert len(evicted_by_then) <= 16
    assert not any(isinstance(each, Landed) for each in told)
