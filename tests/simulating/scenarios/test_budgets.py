"""For how long disruption budgets let no pod go."""

from __future__ import annotations

from restow.simulating.scenarios.run_record import BlockedBudgetTracker, Downtime
from simulating.scenarios.staging import Staged
from simulating.scenarios.test_event_applier import at, budget, web

KEY = ("shop", "web")


def followed(*changes, end=100):
    blocked_budgets = BlockedBudgetTracker()
    for time, is_blocked in changes:
        blocked_budgets.take(time, {KEY: is_blocked})
    return blocked_budgets.finish(end)


def test_each_blocked_time_counts_and_the_longest_is_known():
    assert followed((5, True), (8, False), (20, True), (27, False)) == {KEY: Downtime(10, 7)}


def test_a_budget_that_is_open_at_the_end_counts_until_then():
    assert followed((90, True)) == {KEY: Downtime(10, 10)}


def test_a_budget_that_always_lets_a_pod_go_is_none_of_them():
    assert followed((0, False)) == {}


def seconds(scene, duration):
    """Whole seconds by budget, after a time in seconds."""
    scene.run(duration)
    scene.observer.finish()
    return {key: each.total // 10**9 for key, each in scene.recorder.finish(duration * 10**9).blocked_budgets.items()}


def test_a_budget_is_blocked_while_the_replacement_of_an_evicted_pod_is_not_ready():
    """The drain evicts the first pod at once; until its replacement is ready the second one has to wait."""
    events = [at(60, drain="n1"), at(300, uncordon="n1")]
    start = [web(2), budget(max_unavailable=1)]
    found = seconds(Staged(start=start, events=events), 600)
    assert 0 < found["default", "web"] < 60


def test_a_budget_that_covers_nothing_holds_nobody_back():
    assert seconds(Staged(start=[budget(max_unavailable=1)]), 60) == {}


def test_a_budget_that_never_lets_a_pod_go_is_blocked_all_the_time():
    found = seconds(Staged(start=[web(2), budget(max_unavailable=0)]), 60)
    assert found["default", "web"] == 59
