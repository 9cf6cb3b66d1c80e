"""How many pods a HorizontalPodAutoscaler wants; numbers as the podautoscaler controller comes to them."""

from __future__ import annotations

import pytest

from restow.kube.timestamps import SECOND
from restow.workloads.autoscaling import (
    DOWN,
    UP,
    Bounds,
    MeasuredPod,
    Past,
    ScalingPolicy,
    ScalingRules,
    Tolerance,
    UsageTarget,
    limited,
    replicas_by_usage,
)

HALF = UsageTarget(utilization=50)
MINUTE = 60 * SECOND


def pods(*used, group="ready", requested=1000):
    return [MeasuredPod(group, each, requested) for each in used]


def asked(*measured, target=HALF, current=None):
    flat = [each for group in measured for each in group]
    return replicas_by_usage(len(flat) if current is None else current, flat, target, Tolerance())


@pytest.mark.parametrize(
    ("used", "wanted"),
    [
        ([500, 500], 2),
        ([545, 555], 2),
        ([560, 560], 3),
        ([450, 450], 2),
        ([440, 440], 2),
        ([200, 200, 200], 2),
        ([0], 0),
    ],
)
def test_usage_near_the_target_changes_nothing(used, wanted):
    """A ratio of 0.9 to 1.1 is near; what is needed is rounded up."""
    assert asked(pods(*used)) == wanted


def test_an_average_value_needs_no_requests():
    assert asked(pods(300, 500, requested=0), target=UsageTarget(average=200)) == 4


def test_without_a_pod_that_counts_nothing_can_be_told():
    assert asked(pods(900, group="unready"), pods(0, group="missing")) is None
    assert asked(pods(900, requested=0)) is None


def test_pods_without_metrics_count_as_idle_where_more_are_wanted():
    assert asked(pods(1000, 1000), pods(0, group="missing")) == 4
    assert asked(pods(1000), pods(0, group="missing")) == 2


def test_pods_without_metrics_count_as_busy_where_fewer_are_wanted():
    assert asked(pods(100, 100, 100), pods(0, group="missing")) == 3
    assert asked(pods(100), pods(0, 0, group="missing")) == 3


def test_pods_that_are_not_ready_hold_back_growth_only():
    assert asked(pods(1000, 1000), pods(900, group="unready")) == 4
    assert asked(pods(100, 100), pods(900, group="unready")) == 1


def test_pods_on_their_way_out_do_not_count():
    assert asked(pods(1000), pods(1000, group="ignored"), current=1) == 2


def test_without_a_behavior_it_doubles_at_most_and_starts_with_four():
    assert limited(1, 20, Bounds(1, 30), Past(), 0) == 4
    assert limited(5, 20, Bounds(1, 30), Past(), 0) == 10
    assert limited(5, 20, Bounds(1, 8), Past(), 0) == 8
    assert limited(5, 0, Bounds(2, 8), Past(), 0) == 2


@pytest.mark.parametrize("ruled", [False, True])
def test_it_goes_down_to_the_highest_wish_of_the_last_five_minutes(ruled):
    past, bounds = Past(), Bounds(1, 10, ruled=ruled)
    assert limited(6, 6, bounds, past, 0) == 6
    assert limited(6, 2, bounds, past, 4 * MINUTE) == 6
    assert limited(6, 3, bounds, past, 6 * MINUTE) == 3


def test_policies_limit_the_change_per_period():
    bounds = Bounds(1, 100, ScalingRules(0, (ScalingPolicy("Pods", 2, MINUTE),)), DOWN, ruled=True)
    past = Past(changes=[(0, 1)])
    assert limited(5, 50, bounds, past, 30 * SECOND) == 6
    assert limited(5, 50, bounds, past, 61 * SECOND) == 7


@pytest.mark.parametrize(("select", "up", "down"), [("Max", 20, 5), ("Min", 14, 8), ("Disabled", 10, 10)])
def test_the_policy_that_changes_most_or_least_counts(select, up, down):
    grow = (ScalingPolicy("Pods", 4, MINUTE), ScalingPolicy("Percent", 100, MINUTE))
    shrink = (ScalingPolicy("Pods", 2, MINUTE), ScalingPolicy("Percent", 50, MINUTE))
    bounds = Bounds(1, 100, ScalingRules(0, grow, select), ScalingRules(0, shrink, select), ruled=True)
    assert limited(10, 90, bounds, Past(), 0) == up
    assert limited(10, 1, bounds, Past(), 0) == down


def test_a_window_upwards_waits_for_the_lowest_wish():
    bounds = Bounds(1, 10, ScalingRules(MINUTE, UP.policies), DOWN, ruled=True)
    past = Past()
    assert limited(2, 2, bounds, past, 0) == 2
    assert limited(2, 6, bounds, past, 30 * SECOND) == 2
    assert limited(2, 6, bounds, past, 70 * SECOND) == 6
