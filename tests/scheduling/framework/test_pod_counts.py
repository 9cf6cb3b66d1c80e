"""Counts by domain: what is forgotten for want of room is counted anew, and right."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from builders import HOSTNAME, ZONE, a_node, a_pod
from descheduling.harness import a_cluster
from restow.cluster.pod_columns import PodGroups
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.scheduling.framework import pod_counts
from restow.scheduling.framework.pod_counts import PodCounts, Topologies, Tracker


@pytest.fixture
def state():
    nodes = [a_node(f"n{number}", labels={HOSTNAME: f"n{number}", ZONE: f"z{number % 2}"}) for number in range(4)]
    return ClusterState(a_cluster(*nodes, *(a_pod(f"p{number}", node=f"n{number % 4}") for number in range(6))))


def track(counts: PodCounts, state: ClusterState, pods: range) -> Tracker:
    """A tracker of some pods, each of which is a group of its own."""
    one_by_one = PodGroups(state.cluster.pods, "conditions")
    return counts.tracker(pods, one_by_one, lambda: list(pods), pods.__contains__)


@pytest.mark.parametrize("capacity", [1, 14, 10_000], ids=["one-count", "a-few", "all"])
def test_counts_follow_the_state_whether_kept_or_not(state, monkeypatch, capacity) -> None:
    monkeypatch.setattr(pod_counts, "CAPACITY", capacity)
    monkeypatch.setattr(pod_counts, "FEW_DOMAINS", 0)
    counts, topologies = PodCounts(state), Topologies(state.cluster.nodes)
    trackers = [track(counts, state, range(number, 6)) for number in range(3)]
    for pod, node in ((0, 1), (5, 3), (2, 0), (0, 2)):
        state.place(pod, node)
        for number, tracker in enumerate(trackers):
            for key in (ZONE, HOSTNAME):
                domains = topologies.domains(key)
                here = domains.of_node[state.node[number:]]
                assert (
                    counts.count(tracker, domains).present.tolist()
                    == np.bincount(here, minlength=domains.count).tolist()
                )
        counts.validate()


def test_terminating_pods_are_present_but_do_not_stay(state) -> None:
    counts, domains = PodCounts(state), Topologies(state.cluster.nodes).domains(ZONE)
    tracker = track(counts, state, range(6))
    assert counts.count(tracker, domains).staying.tolist() == [0, 3, 3]
    state.terminate(0)
    count = counts.count(tracker, domains)
    assert (count.present.tolist(), count.staying.tolist()) == ([0, 3, 3], [0, 2, 3])


@pytest.mark.parametrize("sparse", [0, 1_000], ids=["put-down", "kept"])
def test_some_nodes_are_counted_alone_as_they_are_among_all(state, monkeypatch, sparse) -> None:
    monkeypatch.setattr(pod_counts, "SPARSE", sparse)
    counts, topologies = PodCounts(state), Topologies(state.cluster.nodes)
    tracker = track(counts, state, range(1, 6))
    changes = [partial(state.terminate, 2), partial(state.remove, 3), partial(state.place, 4, PENDING)]
    for change in (*changes, partial(state.undo, 0), partial(state.place, 4, 3)):
        change()
        of_all = counts.count(tracker, topologies.nodes).staying[1:]
        for nodes in ([0, 1, 2, 3], [1, 3], [2], []):
            asked = np.array(nodes, dtype=np.int64)
            assert counts.staying_on(tracker, asked).tolist() == of_all[asked].tolist()
        assert counts.staying_by_node(tracker, topologies.nodes).tolist() == of_all.tolist()
        counts.validate()
    assert of_all.tolist() == [0, 2, 1, 2]


def test_places_are_equal_where_nodes_have_as_many_pods(state) -> None:
    counts = PodCounts(state)
    some, others = track(counts, state, range(3)), track(counts, state, range(3, 6))
    assert counts.where(some) != counts.where(others)
    for pod, node in ((3, 0), (4, 1), (5, 2)):
        state.place(pod, node)
    assert counts.where(some) == counts.where(others)
    state.terminate(0)
    assert counts.where(some) != counts.where(others)
    state.remove(3)
    assert counts.where(some) == counts.where(others)


def test_pods_of_a_group_that_is_new_are_counted_on_some_nodes(state) -> None:
    counts, pods = PodCounts(state), state.cluster.pods
    by_priority = PodGroups(pods, "priority")
    tracker = counts.tracker("all", by_priority, lambda: list(range(len(by_priority))), lambda _: True)
    every = np.arange(4)
    assert counts.staying_on(tracker, every).tolist() == [2, 2, 1, 1]
    state.update(5, pods.row(5) | {"priority": 7, "node": 3})
    assert counts.staying_on(tracker, every).tolist() == [2, 1, 1, 2]


def test_a_tracker_that_is_known_has_the_pods_of_a_group_that_is_new(state) -> None:
    """Whoever asks for the pods themselves need not have counted them before."""
    counts, pods = PodCounts(state), state.cluster.pods
    by_priority = PodGroups(pods, "priority")
    counts.tracker("all", by_priority, lambda: list(range(len(by_priority))), lambda _: True)
    state.update(5, pods.row(5) | {"priority": 7, "node": 3})
    known = counts.known("all")
    assert known is not None
    assert 5 in known.members
