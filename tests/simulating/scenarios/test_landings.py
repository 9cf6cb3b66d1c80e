"""What became of evicted pods."""

from __future__ import annotations

import pytest

from restow.simulating.scenarios.landings import LandingTracker
from restow.simulating.scenarios.observations import Observation, ObservedEviction
from simulating.scenarios.seen import PENDING, a_pod_of_web, at, followed

A, B = a_pod_of_web("a"), a_pod_of_web("b")


def landings(*observations):
    return followed(LandingTracker(), [at(0, A, B), *observations]).finish()


@pytest.mark.parametrize(
    ("come", "landing", "node"),
    [
        ([a_pod_of_web("c", "n2")], "moved", "n2"),
        ([a_pod_of_web("c", "n1")], "returned", "n1"),
        ([a_pod_of_web("c", "", PENDING)], "waiting", ""),
        ([], "unreplaced", ""),
    ],
    ids=["on another node", "on the same node", "nowhere yet", "by nobody"],
)
def test_where_the_replacement_landed(come, landing, node):
    (found,) = landings(at(10, evicted=[A]), at(11, *come, gone="a"))
    assert (found.time, found.landing, found.node) == (10, landing, node)


def test_pods_that_were_evicted_first_are_replaced_first():
    found = landings(at(10, evicted=[A]), at(11, evicted=[B]), at(12, a_pod_of_web("c", "n2")), at(13, gone="ab"))
    assert [(each.pod.name, each.replacement) for each in found] == [("a", "c"), ("b", "")]


def test_a_replacement_lands_where_it_is_first():
    (found,) = landings(
        at(10, evicted=[A]), at(11, a_pod_of_web("c", "", PENDING)), at(12, a_pod_of_web("c", "n2")), at(13, gone="c")
    )
    assert (found.replacement, found.node) == ("c", "n2")


def test_a_replacement_that_is_evicted_is_evicted_again():
    c = a_pod_of_web("c", "n2")
    found = landings(at(10, evicted=[A]), at(11, c, gone="a"), at(20, evicted=[c]), at(21, evicted=[B]))
    assert [(each.pod.name, each.is_again) for each in found] == [("a", False), ("c", True), ("b", False)]


def test_a_replacement_that_came_first_is_named_by_the_eviction():
    """What comes later replaces nobody."""
    eviction = ObservedEviction(A, ("RemoveDuplicates",), "c")
    found = landings(
        at(10, a_pod_of_web("c", "n2")), Observation(11, {}, {}, (eviction,)), at(12, a_pod_of_web("d", "n3"), gone="a")
    )
    assert [(each.replacement, each.node, each.landing) for each in found] == [("c", "n2", "moved")]
