"""ClusterState: remove, place, terminate, undo and fork against a recomputation from nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from builders import a_node, a_pod
from cluster.drawn import nodes, pods
from descheduling.harness import a_cluster
from restow.cluster.pods import PENDING, UNKNOWN_NODE
from restow.cluster.state import ClusterState

RS = ("ReplicaSet", "rs")


def picture(state):
    """Everything that can be read of a state, by value."""
    count = len(state.cluster.nodes)
    return (
        state.exists.tolist(),
        state.node.tolist(),
        state.terminating.tolist(),
        state.requested.tolist(),
        state.running.tolist(),
        [state.pods_on(node).tolist() for node in range(count)],
        [state.all_pods_on(node).tolist() for node in range(count)],
        state.siblings(np.arange(len(state.exists))).tolist(),
    )


def present_and_staying(state):
    """Pods on each node, and those of them that are not terminating."""
    placed = [state.all_pods_on(node) for node in range(len(state.cluster.nodes))]
    return [(len(pods), int((~state.terminating[pods]).sum())) for pods in placed]


class Changes(RuleBasedStateMachine):
    """Any sequence of changes keeps the counts true, undo gives back what was, and a fork does not feel the original."""

    @rule(objects=st.tuples(nodes(), pods()))
    @precondition(lambda self: not hasattr(self, "state"))
    def begin(self, objects):
        self.state = ClusterState(a_cluster(*objects[0], *objects[1]))
        self.first = present_and_staying(self.state)
        self.forks, self.marks = [], []

    @rule(choice=st.randoms(use_true_random=False))
    @precondition(lambda self: hasattr(self, "state") and self.state.exists.any())
    def remove(self, choice):
        self.state.remove(choice.choice(np.flatnonzero(self.state.exists).tolist()))

    @rule(choice=st.randoms(use_true_random=False))
    @precondition(lambda self: hasattr(self, "state") and len(self.state.exists))
    def place(self, choice):
        node = choice.choice([PENDING, *range(len(self.state.cluster.nodes))])
        self.state.place(choice.randrange(len(self.state.exists)), node)

    @rule(choice=st.randoms(use_true_random=False))
    @precondition(lambda self: hasattr(self, "state") and self.state.exists.any())
    def terminate(self, choice):
        self.state.terminate(choice.choice(np.flatnonzero(self.state.exists).tolist()))

    @rule()
    @precondition(lambda self: hasattr(self, "state"))
    def mark(self):
        self.marks.append((self.state.checkpoint(), picture(self.state)))

    @rule(choice=st.randoms(use_true_random=False))
    @precondition(lambda self: getattr(self, "marks", None))
    def undo(self, choice):
        position = choice.randrange(len(self.marks))
        mark, before = self.marks[position]
        del self.marks[position + 1 :]
        self.state.undo(mark)
        assert picture(self.state) == before

    @rule()
    @precondition(lambda self: hasattr(self, "state") and len(self.forks) < 2)
    def fork(self):
        twin = self.state.fork()
        assert picture(twin) == picture(self.state)
        self.forks.append((twin, picture(twin)))

    @invariant()
    def counts_are_true(self):
        if hasattr(self, "state"):
            self.state.validate()
            for twin, before in self.forks:
                assert picture(twin) == before

    @invariant()
    def changes_tell_every_difference(self):
        """Whoever follows the changes knows how many pods are on each node."""
        if hasattr(self, "state"):
            followed = [list(pair) for pair in self.first]
            for change in self.state.changes:
                followed[change.node][0] += change.present
                followed[change.node][1] += change.staying
            assert [tuple(pair) for pair in followed] == present_and_staying(self.state)


Changes.TestCase.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
TestChanges = Changes.TestCase


@given(st.tuples(nodes(), pods()), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_undo_restores_exactly(objects, choice):
    state = ClusterState(a_cluster(*objects[0], *objects[1]))
    count = len(state.exists)
    before, marks = picture(state), []
    for _ in range(8 if count else 0):
        marks.append((state.checkpoint(), picture(state)))
        pod = choice.randrange(count)
        if state.exists[pod] and choice.random() < 0.5:
            state.remove(pod)
        else:
            state.place(pod, choice.randrange(-1, len(state.cluster.nodes)))
    for mark, seen in reversed(marks):
        state.undo(mark)
        assert picture(state) == seen
    assert picture(state) == before


@pytest.fixture
def state():
    pods = [
        a_pod("p1", node="n1", cpu="300m", owner=RS),
        a_pod("p2", node="n1", cpu="200m", owner=RS, phase="Succeeded"),
        a_pod("p3", owner=[RS, ("Job", "job")]),
        a_pod("p4", node="gone"),
    ]
    return ClusterState(a_cluster(a_node("n1"), a_node("n2"), *pods))


def test_pods_that_are_over_hold_no_resources(state):
    assert state.requested[0].tolist() == [300, 0]
    assert state.running.tolist() == [1, 0]
    assert state.pods_on(0).tolist() == [0]
    assert state.all_pods_on(0).tolist() == [0, 1]


def test_pods_without_a_known_node_count_nowhere(state):
    assert state.node.tolist() == [0, 0, PENDING, UNKNOWN_NODE]


def test_siblings_are_all_existing_pods_that_name_the_only_owner(state):
    """Whatever their phase; pods with no owner or with several have no siblings."""
    every = np.arange(4)
    assert state.siblings(every).tolist() == [3, 3, -1, -1]
    state.remove(1)
    assert state.siblings(every).tolist() == [2, 2, -1, -1]
    assert state.siblings(np.zeros(0, dtype=np.int64)).tolist() == []


def test_a_terminating_pod_keeps_its_place(state):
    state.terminate(0)
    assert state.requested[0].tolist() == [300, 0]
    assert state.all_pods_on(0).tolist() == [0, 1]


def test_a_fork_does_not_know_the_marks_of_its_original(state):
    state.remove(0)
    twin = state.fork()
    assert twin.checkpoint() == 0
    twin.place(0, 1)
    twin.undo(0)
    assert picture(twin) == picture(state)


@pytest.mark.parametrize(
    "break_it",
    [
        pytest.param(lambda state: state.requested.__setitem__((0, 0), 1), id="requested"),
        pytest.param(lambda state: state.running.__setitem__(1, 1), id="running"),
        pytest.param(lambda state: state._count_owners()[0].__setitem__(0, 9), id="owned"),
        pytest.param(lambda state: state._arrived.setdefault(1, []).append(0), id="residents"),
    ],
)
def test_validate_finds_every_wrong_count(state, break_it):
    break_it(state)
    with pytest.raises(AssertionError, match="differ"):
        state.validate()
