"""Evictions by others: when they are seen, what is foretold of them, and what they came to."""

from __future__ import annotations

import pytest

from builders import a_node
from restow.policies.codes import Certainty
from restow.shadowing.outcomes import PENDING_AFTER, UNREPLACED_AFTER, EvictionOutcome
from shadowing.scenes import WatchedCluster, a_web_pod, evicted, web

NODES = (a_node("n1", cpu="1"), a_node("n2", cpu="1"))


def test_a_pod_that_fits_elsewhere_is_foretold_to_move_there():
    """The pod that terminates holds its place, so the emptier node wins."""
    cluster = WatchedCluster(*NODES, web(), a_web_pod("web-1", "n1"))
    eviction = cluster.evict(a_web_pod("web-1", "n1"))
    assert (eviction.source, eviction.workload, eviction.reason) == ("n1", "ReplicaSet/web", "EvictionByEvictionAPI")
    assert (eviction.forecast.node, eviction.forecast.certainty) == ("n2", Certainty.CERTAIN), eviction.forecast
    assert (eviction.forecast.moved, eviction.forecast.in_vain, eviction.forecast.pending) == (1.0, 0.0, 0.0)

    cluster.put(a_web_pod("web-2"), a_web_pod("web-2", "n2"), after=1.0)

    assert eviction.outcome(cluster.now) is EvictionOutcome.MOVED
    assert (eviction.replacement, eviction.node, eviction.landed) == ("web-2", "n2", cluster.now)
    assert cluster.watch.evictions == [eviction]


def test_a_pod_that_fits_nowhere_else_is_foretold_to_come_back():
    cluster = WatchedCluster(a_node("n1", cpu="1"), web(), a_web_pod("web-1", "n1"))
    eviction = cluster.evict(a_web_pod("web-1", "n1"))
    assert (eviction.forecast.node, eviction.forecast.in_vain) == ("n1", 1.0)
    cluster.put(a_web_pod("web-2"), a_web_pod("web-2", "n1"))
    assert eviction.outcome(cluster.now) is EvictionOutcome.IN_VAIN


def test_the_eviction_of_a_replacement_repeats_the_one_before():
    cluster = WatchedCluster(*NODES, web(), a_web_pod("web-1", "n1"))
    first = cluster.evict(a_web_pod("web-1", "n1"))
    cluster.delete(a_web_pod("web-1", "n1"))
    cluster.put(a_web_pod("web-2"), a_web_pod("web-2", "n2"))
    second = cluster.evict(a_web_pod("web-2", "n2"))
    assert (first.is_repeated, second.is_repeated) == (False, True)


def test_a_replacement_without_a_node_is_pending_after_a_while():
    cordoned = a_node("n1", cpu="1", unschedulable=True)
    cluster = WatchedCluster(cordoned, web(), a_web_pod("web-1", "n1"))
    eviction = cluster.evict(a_web_pod("web-1", "n1"))
    assert eviction.forecast.pending == 1.0
    assert "unschedulable" in eviction.forecast.message
    cluster.put(a_web_pod("web-2"))
    later = cluster.now + PENDING_AFTER + 1
    assert eviction.outcome(later) is EvictionOutcome.OPEN, "the old pod may still make room"
    cluster.delete(a_web_pod("web-1", "n1"))
    assert eviction.outcome(cluster.now) is EvictionOutcome.OPEN
    assert eviction.outcome(later) is EvictionOutcome.PENDING


def test_a_pod_may_wait_for_the_room_of_the_old_one():
    """What waits until the old pod is gone is not left pending by the eviction; it comes back."""
    cluster = WatchedCluster(a_node("n1", cpu="150m"), web(), a_web_pod("web-1", "n1"))
    eviction = cluster.evict(a_web_pod("web-1", "n1"))
    assert (eviction.forecast.node, eviction.forecast.in_vain) == ("n1", 1.0)
    cluster.put(a_web_pod("web-2"))
    cluster.now += PENDING_AFTER * 2
    cluster.delete(a_web_pod("web-1", "n1"))
    cluster.put(a_web_pod("web-2", "n1"), after=1.0)
    assert eviction.outcome(cluster.now) is EvictionOutcome.IN_VAIN


def test_a_replacement_that_goes_before_it_has_a_node_is_followed_by_the_next_one():
    cluster = WatchedCluster(*NODES, web(), a_web_pod("web-1", "n1"))
    eviction = cluster.evict(a_web_pod("web-1", "n1"))
    cluster.put(a_web_pod("web-2"))
    cluster.delete(a_web_pod("web-2"))
    cluster.put(a_web_pod("web-3"), a_web_pod("web-3", "n2"), after=2.0)
    assert (eviction.replacement, eviction.node, eviction.landed) == ("web-3", "n2", cluster.now)
    assert eviction.outcome(cluster.now) is EvictionOutcome.MOVED


def test_what_is_forgotten_is_not_waited_for():
    cluster = WatchedCluster(*NODES, web(), a_web_pod("web-1", "n1"))
    cluster.evict(a_web_pod("web-1", "n1"))
    cluster.watch.forget(cluster.now + 1)
    assert (cluster.watch.evictions, cluster.watch._awaiting, cluster.watch._expected) == ([], {}, {})


def test_another_pod_than_the_known_one_may_come():
    """Pod and template disagree about what is requested, and nothing explains it."""
    cluster = WatchedCluster(*NODES, web(), a_web_pod("web-1", "n1", cpu="300m"))
    eviction = cluster.evict(a_web_pod("web-1", "n1", cpu="300m"))
    assert eviction.forecast.certainty is Certainty.LIKELY
    assert eviction.forecast.message


def test_a_pod_without_a_successor():
    cluster = WatchedCluster(*NODES, web(replicas=0), a_web_pod("web-1", "n1"))
    eviction = cluster.evict(a_web_pod("web-1", "n1"))
    assert (eviction.forecast.certainty, eviction.forecast.message) == (
        None,
        "no controller creates another pod in its place",
    )
    assert eviction.outcome(cluster.now) is EvictionOutcome.OPEN
    assert eviction.outcome(cluster.now + UNREPLACED_AFTER + 1) is EvictionOutcome.UNREPLACED


def test_a_pod_with_the_condition_that_does_not_terminate_was_not_evicted():
    """The API server sets the condition, and the caller goes before it deletes the pod."""
    cluster = WatchedCluster(*NODES, web(), a_web_pod("web-1", "n1"))
    condemned, terminating = evicted(a_web_pod("web-1", "n1"))
    cluster.put(condemned)
    assert cluster.watch.evictions == []
    cluster.put(terminating, after=60.0)
    (eviction,) = cluster.watch.evictions
    assert (eviction.at, eviction.forecast.certainty) == (cluster.now, Certainty.CERTAIN)


def test_a_pod_that_vanishes_at_once_is_counted():
    cluster = WatchedCluster(*NODES, web(), a_web_pod("web-1", "n1"))
    cluster.put(evicted(a_web_pod("web-1", "n1"))[0])
    cluster.delete(a_web_pod("web-1", "n1"))
    cluster.put(a_web_pod("web-2"), a_web_pod("web-2", "n2"))
    (eviction,) = cluster.watch.evictions
    assert eviction.forecast.message == "it ended at once"
    assert eviction.outcome(cluster.now) is EvictionOutcome.MOVED


def test_a_pod_that_the_kubelet_ends_fails_and_does_not_terminate():
    cluster = WatchedCluster(*NODES, web(), a_web_pod("web-1", "n1"))
    failed = evicted(a_web_pod("web-1", "n1"))[0]
    cluster.put(failed | {"status": failed["status"] | {"phase": "Failed"}})
    (eviction,) = cluster.watch.evictions
    assert (eviction.forecast.candidates, eviction.forecast.in_vain) == (2, 0.5), eviction.forecast


def test_the_time_without_a_ready_pod_is_measured():
    cluster = WatchedCluster(*NODES, web(), a_web_pod("web-1", "n1"))
    eviction = cluster.evict(a_web_pod("web-1", "n1"))
    cluster.put(a_web_pod("web-2"), after=3.0)
    unready = a_web_pod("web-2", "n2") | {"status": {}}
    cluster.put(unready, a_web_pod("web-2", "n2"), after=2.0)
    assert eviction.downtime(cluster.now + 9) == 7.0
    assert eviction.ready == cluster.now


def test_another_ready_pod_leaves_no_gap():
    cluster = WatchedCluster(*NODES, web(2), a_web_pod("web-1", "n1"), a_web_pod("web-0", "n2"))
    eviction = cluster.evict(a_web_pod("web-1", "n1"))
    cluster.put(a_web_pod("web-2"), a_web_pod("web-2", "n2"), after=5.0)
    assert eviction.downtime(cluster.now) == 0.0


def test_a_workload_may_still_be_without_a_ready_pod():
    cluster = WatchedCluster(*NODES, web(), a_web_pod("web-1", "n1"))
    eviction = cluster.evict(a_web_pod("web-1", "n1"))
    cluster.put(a_web_pod("web-2"))
    assert eviction.downtime(cluster.now + 30) == 30.0


def test_no_pod_is_missing_where_none_is_wanted():
    cluster = WatchedCluster(*NODES, web(replicas=0), a_web_pod("web-1", "n1"))
    eviction = cluster.evict(a_web_pod("web-1", "n1"))
    cluster.now += UNREPLACED_AFTER + 1
    cluster.watch.settle()
    assert eviction.downtime(cluster.now) == 0.0


def test_replacements_that_are_expected_take_their_room():
    """Two pods of one node are evicted before any new one has come; there is room for one of them elsewhere."""
    nodes = (a_node("n1", cpu="1"), a_node("n2", cpu="500m"))
    pods = [a_web_pod(f"web-{number}", "n1", cpu="400m") for number in (1, 2)]
    large = web(2)
    large["spec"]["template"]["spec"] = pods[0]["spec"]
    cluster = WatchedCluster(*nodes, large, *pods)
    first, second = (cluster.evict(each) for each in pods)
    assert [first.forecast.candidates, second.forecast.candidates] == [1, 1], (first, second)
    assert {first.forecast.node, second.forecast.node} == {"n1", "n2"}
    cluster.watch._mirror.state.validate()


def test_evictions_that_are_found_in_a_new_list_are_counted_and_not_foretold():
    pod = a_web_pod("web-1", "n1")
    cluster = WatchedCluster(*NODES, web(), pod)
    cluster.store.add("Pod", [])
    eviction = cluster.evict(pod)
    assert eviction.forecast.certainty is not None
    cluster.watch.forget(cluster.now + 1)
    cluster.watch.touch("Pod", [("default", "web-1"), ("default", "none")])
    (found,) = cluster.watch.evictions
    assert found.forecast.message == "the watch was interrupted when it was evicted"


@pytest.mark.parametrize("times", [1, 3])
def test_a_forecast_changes_nothing(times):
    cluster = WatchedCluster(*NODES, web(3), *(a_web_pod(f"web-{number}", "n1") for number in range(3)))
    for number in range(times):
        cluster.evict(a_web_pod(f"web-{number}", "n1"))
    cluster.watch._mirror.state.validate()
    assert len(cluster.watch._mirror.state.cluster.pods.where(cluster.watch._mirror.state.exists)) == 3
