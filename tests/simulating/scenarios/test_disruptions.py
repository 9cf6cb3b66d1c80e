"""For how long workloads have too few ready pods."""

from __future__ import annotations

from restow.simulating.scenarios.run_record import DisruptionTracker, Downtime
from simulating.scenarios.seen import PENDING, WEB, a_pod_of_web, at, followed

A, B, C = (a_pod_of_web(name) for name in "abc")


def below(*observations, end=100):
    return followed(DisruptionTracker(), [at(0, desired={WEB: 2}), *observations]).finish(end).get(WEB)


def test_the_time_until_it_has_all_pods_for_the_first_time_is_none():
    assert below(at(5, A), at(50, B)) is None


def test_each_gap_counts_and_the_longest_is_known():
    assert below(at(5, A, B), at(10, gone="a"), at(13, C), at(20, gone="b"), at(27, B)) == Downtime(10, 7)


def test_a_pod_that_is_not_ready_counts_as_none():
    assert below(at(5, A, B), at(10, a_pod_of_web("a", "n1", PENDING)), at(14, A)) == Downtime(4, 4)


def test_a_gap_that_is_open_at_the_end_counts_until_then():
    assert below(at(5, A, B), at(90, gone="ab"), end=100) == Downtime(10, 10)


def test_what_shall_have_more_pods_than_before_is_not_disrupted():
    assert below(at(5, A, B), at(10, desired={WEB: 3})) is None


def test_what_shall_have_fewer_pods_is_not_disrupted_when_they_go():
    assert below(at(5, A, B), at(10, desired={WEB: 1}), at(11, gone="a")) is None


def test_what_is_gone_lacks_nothing():
    assert below(at(5, A, B), at(10, desired={WEB: 0}, gone="ab")) is None
