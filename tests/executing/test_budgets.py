"""Disruption budgets while a plan is carried out: waited for, and never exceeded."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from executing.double import (
    START,
    Double,
    carry_out,
    endings,
    messages,
    tasks,
)
from restow.client.flow_control import BackOff
from restow.executing import execution
from restow.executing.task import (
    Blocked,
    Evicted,
    Postponed,
    Task,
)


def test_a_full_budget_is_waited_for_and_told_once() -> None:
    plan = [*tasks("web", 1, budgets=["default/all"]), *tasks("api", 1, 1, budgets=["default/all"])]
    double = Double.of(plan, budgets={"default/all": 1}, ready_after=9.0)
    told = carry_out(double, plan)
    assert endings(told) == {"web-0": "Settled", "api-0": "Settled"}
    assert messages(told, Postponed) == ["The disruption budget default/all needs all"]
    assert double.most["default/all"] == 1


def test_a_budget_that_is_seen_to_be_full_is_not_asked_before_it_has_room() -> None:
    """The controller of budgets counts a replacement a moment after it is ready."""
    plan = [*tasks("web", 1, budgets=["default/all"]), *tasks("api", 1, 1, budgets=["default/all"])]
    double = Double.of(plan, budgets={"default/all": 1}, ready_after=0.5, counts=True)
    told = carry_out(double, plan)
    assert endings(told) == {"web-0": "Settled", "api-0": "Settled"}
    assert [name for _, name in double.asked] == ["web-0", "api-0"]


def test_a_pod_that_waits_long_for_a_budget_says_so_and_asks_only_near_its_deadline() -> None:
    """As long as the budget is seen to be full, the API server would only say so."""
    plan = [*tasks("web", 1, budgets=["default/all"]), *tasks("api", 1, 1, budgets=["default/all"])]
    double = Double.of(plan, budgets={"default/all": 1}, ready_after=60.0, counts=True)
    told = carry_out(double, plan, budget=30.0)
    assert messages(told, Postponed) == ["The disruption budget default/all allows no more disruptions"]
    assert endings(told)["api-0"] == "Blocked"
    assert [name for _, name in double.asked][:2] == ["web-0", "api-0"]
    assert double.asked[1][0] - START > 29.0


def test_a_timer_that_ends_a_moment_early_ends_the_wait_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event loop rounds: what is due by then is not looked for again and again without time going on."""
    looks = itertools.count()

    def elapsed() -> float:
        assert next(looks) < 1_000, "looked for ever"
        return asyncio.get_running_loop().time()

    monkeypatch.setattr(execution, "elapsed", elapsed)
    for at in range(20):
        looks = itertools.count()
        monkeypatch.setattr(execution, "ASK_AGAIN", BackOff(first=0.1 + at / 7e6, cap=0.3, jitter=0))
        plan = tasks("web", 1, budgets=["default/web"])
        assert endings(carry_out(Double.of(plan, budgets={"default/web": 1}), plan, budget=3.0)) == {"web-0": "Blocked"}


def test_a_budget_that_never_allows_blocks_until_the_deadline() -> None:
    plan = tasks("web", 2, budgets=["default/web"])
    double = Double.of(plan, budgets={"default/web": 2})
    told = carry_out(double, plan, budget=20.0)
    assert endings(told) == {"web-0": "Blocked", "web-1": "Blocked"}
    assert messages(told, Blocked)[0] == "The disruption budget default/web needs all; restow has stopped retrying"
    assert double.evicted == []
    # The first one ever more slowly until its deadline, the second one once.
    assert double.asked[-1][0] - START < 21.0
    assert [name for _, name in double.asked].count("web-1") == 1
    assert len(double.asked) < 10


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_budgets_and_limits_hold_and_every_task_has_one_ending(data: st.DataObject) -> None:
    plan: list[Task] = []
    budgets = {}
    for app in data.draw(st.lists(st.sampled_from("uvwxyz"), unique=True, max_size=5)):
        count, limit = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
        over = [f"default/{app}"] if data.draw(st.booleans()) else []
        budgets |= {each: data.draw(st.integers(0, count)) for each in over}
        known = data.draw(st.booleans())
        plan += tasks(app, count, len(plan), limit=limit, budgets=over, candidates=["b"] if known else [])
    fates = data.draw(st.lists(st.sampled_from(["b", "a", "c", None]), min_size=1, max_size=8))
    double = Double.of(plan, budgets=budgets, ready_after=data.draw(st.sampled_from([0.1, 3.0, 90.0])))
    double.land = lambda pod: fates[sum(map(ord, pod)) % len(fates)]
    told = carry_out(double, plan, ready=60.0, budget=30.0)
    assert endings(told).keys() == {each.move.pod.name for each in plan}
    assert len(double.evicted) == len(set(double.evicted)) == sum(isinstance(each, Evicted) for each in told)
    assert all(double.most[each] <= 1 for each in budgets)
    assert all(double.most[f"on the way {each.workload}"] <= max(each.limit, 1) for each in plan)
