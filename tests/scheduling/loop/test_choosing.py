"""Which of the best nodes a scheduler takes: by lot, and in large clusters where the last search ended."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from builders import a_node, a_pod
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.schedulers import NodeChooser, Schedulers
from scheduling.large_clusters import SUBJECTS, a_large_cluster

PROFILES = (SchedulerProfile(),)


def schedulers_of(*objects: object) -> tuple[ClusterState, Schedulers]:
    state = ClusterState(a_cluster(*objects))
    return state, Schedulers(Context.of(state), PROFILES)


def pod_called(state: ClusterState, name: str) -> int:
    return state.order.find("default", name)


def test_ties_are_broken_by_lot_and_a_seed_draws_the_same() -> None:
    state, schedulers = schedulers_of(*(a_node(f"n{at}") for at in range(4)), a_pod("p"))
    decision = schedulers.decide(pod_called(state, "p"))
    chance = NodeChooser(Random(1))
    drawn = [chance.node(schedulers, decision) for _ in range(400)]
    assert set(drawn) == {0, 1, 2, 3}
    assert min(Counter(drawn).values()) > 60
    again = NodeChooser(Random(1))
    assert drawn == [again.node(schedulers, decision) for _ in range(400)]


def test_the_next_search_begins_where_the_last_one_ended() -> None:
    """Of 300 nodes 144 feasible ones are looked at; every second node is too small."""
    nodes = [a_node(f"n{at:03}", cpu="4" if at % 2 else "0") for at in range(300)]
    state, schedulers = schedulers_of(*nodes, a_pod("p", cpu="1"))
    decision, choice = schedulers.decide(pod_called(state, "p")), NodeChooser(Random(1))
    assert choice.node(schedulers, decision) < 288
    assert choice.start == 288
    second = choice.node(schedulers, decision)
    assert choice.start == 276
    assert second not in range(276, 288)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_whoever_is_chosen_is_among_those_that_could_win(subject: str) -> None:
    chance = Random(subject)
    for _ in range(3):
        state, schedulers = schedulers_of(*a_large_cluster(chance, subject))
        decision = schedulers.decide(pod_called(state, "p"))
        if decision.ranking is None:
            continue
        winners = set(schedulers.odds(decision).nodes.tolist())
        for start in range(0, len(state.cluster.nodes), 17):
            assert NodeChooser(Random(start), start).node(schedulers, decision) in winners


def test_where_few_nodes_fit_all_are_visited_and_the_next_search_begins_there_again() -> None:
    nodes = [a_node(f"n{at:03}", cpu="4" if at < 50 else "0") for at in range(300)]
    state, schedulers = schedulers_of(*nodes, a_pod("p", cpu="1"))
    choice = NodeChooser(Random(1), start=7)
    choice.node(schedulers, schedulers.decide(pod_called(state, "p")))
    assert choice.start == 7


def test_a_pod_that_gets_the_node_that_it_is_nominated_for_takes_no_turn() -> None:
    nodes = [a_node(f"n{at:03}") for at in range(300)]
    state, schedulers = schedulers_of(*nodes, a_pod("p", priority=5, nominated_node="n123"))
    choice = NodeChooser(Random(1), start=7)
    assert choice.node(schedulers, schedulers.decide(pod_called(state, "p"))) == 123
    assert choice.start == 7


@pytest.mark.parametrize("subject", SUBJECTS)
def test_an_attempt_is_a_decision_whose_node_is_searched_for(subject: str) -> None:
    """Only the nodes that the search finds are scored, and nothing comes out differently."""
    chance = Random(subject)
    for _ in range(3):
        state, schedulers = schedulers_of(*a_large_cluster(chance, subject))
        pod = pod_called(state, "p")
        decision = schedulers.decide(pod)
        for start in range(0, len(state.cluster.nodes), 17):
            choice, other = NodeChooser(Random(start), start), NodeChooser(Random(start), start)
            found = choice.attempt(schedulers, pod)
            if isinstance(found, SchedulingDecision):
                assert decision.ranking is None
                assert (found.message, found.victims) == (decision.message, decision.victims)
            else:
                assert found == other.node(schedulers, decision)
            assert choice.start == (other.start if decision.ranking else start)


def test_where_no_node_fits_an_attempt_says_why_and_what_is_preempted() -> None:
    victim = a_pod("victim", node="n000", cpu="4", priority=1, phase="Running")
    nodes = [a_node("n000", cpu="4"), *(a_node(f"n{at:03}", cpu="1") for at in range(1, 150))]
    state, schedulers = schedulers_of(*nodes, victim, a_pod("p", cpu="2", priority=7))
    found = NodeChooser(Random(1)).attempt(schedulers, pod_called(state, "p"))
    assert isinstance(found, SchedulingDecision)
    assert [state.cluster.pods.names[each] for each in found.victims] == ["victim"]
    assert found.message.startswith("0/150 nodes are available: 150 Insufficient cpu.")
