"""ClusterState: pods come, change, move and go; undo and fork; against a recomputation from nothing."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from builders import a_node, a_pdb, a_pod
from builders.pod_rows import pod_rows
from cluster.drawn import nodes, pods
from descheduling.harness import a_cluster
from restow.cluster.node_store import read_node
from restow.cluster.nodes import NodePart
from restow.cluster.pods import NO_POD, PENDING, UNKNOWN_NODE
from restow.cluster.state import ClusterState
from restow.kube.objects import Node, Pod
from restow.workloads.replacements import Replacements

RS = ("ReplicaSet", "rs")


def picture(state):
    """Everything that can be read of the pods that exist, by value and in order."""
    count, pods = len(state.cluster.nodes), state.cluster.pods
    there = pods.where(state.exists)
    tables = [name for name in pods.tables.__struct_fields__ if name != "namespaces"]
    return (
        [pods.full_name(pod) for pod in there],
        [[getattr(pods.tables, name)[getattr(pods, name)[pod]] for name in tables if name != "held"] for pod in there],
        pods.flags[there].tolist(),
        state.terminating[there].tolist(),
        {
            name: amounts.tolist()
            for name, amounts in zip(state.cluster.nodes.resources, state.requested, strict=True)
            if amounts.any()
        },
        state.running.tolist(),
        [[pods.full_name(pod) for pod in state.pods_on(node)] for node in range(count)],
        [[pods.full_name(pod) for pod in state.all_pods_on(node)] for node in range(count)],
        state.siblings(there).tolist(),
        picture_of_nodes(state),
    )


def picture_of_nodes(state):
    """Everything that can be read of nodes, and the names of those that pods are on or nominated for, there or not."""
    nodes, pods = state.cluster.nodes, state.cluster.pods
    there = pods.where(state.exists)
    labels = {key: nodes.label_column(key) for key in ("app", "tier", "zone")}
    return (
        [nodes.row(node) for node in range(len(nodes))],
        {key: [column.values[code] if code >= 0 else None for code in column.codes] for key, column in labels.items()},
        [[named(state, int(node)) for node in places[there]] for places in (state.node, pods.node, pods.nominated)],
    )


def named(state, node):
    """The name of a node, there or not; None for none."""
    if node == PENDING:
        return None
    return state.cluster.nodes.names[node] if node >= 0 else state.cluster.pods.unknown_nodes[UNKNOWN_NODE - node]


def rows_of(state, objects):
    """The rows of builder pods for a state."""
    wire = [msgspec.json.decode(msgspec.json.encode(each), type=Pod) for each in objects]
    return pod_rows(state.cluster.pods, wire, state.cluster.nodes.index)


def node_row(drawn):
    """The row of a builder node."""
    return read_node(msgspec.json.decode(msgspec.json.encode(drawn), type=Node)).row


def named_in_order(state):
    """Namespace, name and how often it was replaced, of the pods that exist, by rank."""
    pods = state.cluster.pods
    for pod in pods.where(state.exists).tolist():
        depth, original = 0, pod
        while pods.replaces[original] != NO_POD:
            depth, original = depth + 1, int(pods.replaces[original])
        yield (pods.tables.namespaces[pods.namespace[pod]], pods.names[pod]), depth


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
        self.forks, self.marks = [], []
        self.begin_to_follow()
        self.state.cluster.nodes.follow(NodePart.POSITION, self.begin_to_follow)

    def begin_to_follow(self):
        """Indices of nodes are others from now on."""
        self.first, self.read = present_and_staying(self.state), len(self.state.changes)

    @rule(choice=st.randoms(use_true_random=False))
    @precondition(lambda self: hasattr(self, "state") and self.state.exists.any())
    def remove(self, choice):
        self.state.remove(choice.choice(np.flatnonzero(self.state.exists).tolist()))

    @rule(choice=st.randoms(use_true_random=False))
    @precondition(lambda self: hasattr(self, "state") and self.state.exists.any())
    def place(self, choice):
        node = choice.choice([PENDING, *range(len(self.state.cluster.nodes))])
        self.state.place(choice.choice(np.flatnonzero(self.state.exists).tolist()), node)

    @rule(choice=st.randoms(use_true_random=False))
    @precondition(lambda self: hasattr(self, "state") and self.state.exists.any())
    def terminate(self, choice):
        self.state.terminate(choice.choice(np.flatnonzero(self.state.exists).tolist()))

    @rule(drawn=pods(max_size=3), name=st.sampled_from(["a", "p1", "p11", "p2", "z"]))
    @precondition(lambda self: hasattr(self, "state"))
    def create(self, drawn, name):
        for row in rows_of(self.state, drawn):
            key = self.state.cluster.pods.tables.namespaces[row["namespace"]], name
            if key not in [each for each, _ in named_in_order(self.state)]:
                self.state.create(row | {"names": name})

    @rule(choice=st.randoms(use_true_random=False))
    @precondition(lambda self: hasattr(self, "state") and self.state.exists.any())
    def delete(self, choice):
        pods = self.state.cluster.pods
        found = np.flatnonzero(self.state.exists & (pods.replaces == NO_POD))
        if len(found):
            self.state.delete(choice.choice(found.tolist()))

    @rule(drawn=pods(max_size=1), choice=st.randoms(use_true_random=False))
    @precondition(lambda self: hasattr(self, "state") and self.state.exists.any())
    def update(self, drawn, choice):
        pod, pods = choice.choice(np.flatnonzero(self.state.exists).tolist()), self.state.cluster.pods
        for row in rows_of(self.state, drawn):
            self.state.update(pod, row | {"names": pods.names[pod], "namespace": pods.namespace[pod]})

    @rule(choice=st.randoms(use_true_random=False))
    @precondition(lambda self: hasattr(self, "state") and self.state.exists.any())
    def replace(self, choice):
        pod = choice.choice(np.flatnonzero(self.state.exists).tolist())
        replacement = Replacements(self.state, now=0).of(pod)
        self.state.place(replacement, choice.randrange(-1, len(self.state.cluster.nodes)))

    @rule()
    @precondition(lambda self: hasattr(self, "state"))
    def forget_replacements(self):
        """Replacements that exist go first, and what has happened is never taken back."""
        pods = self.state.cluster.pods
        for pod in np.flatnonzero(self.state.exists & (pods.replaces != NO_POD)).tolist():
            self.state.remove(pod)
        self.state.commit()
        self.marks.clear()
        assert not self.state.forget_replacements()
        assert (pods.replaces == NO_POD).all()
        assert (pods.replaced_by[self.state.exists] == NO_POD).all()

    @rule(drawn=st.sampled_from(["n0", "n1", "n2", "n25", "gone"]).flatmap(lambda name: nodes(names=(name,))))
    @precondition(lambda self: hasattr(self, "state"))
    def create_or_update_node(self, drawn):
        row, known = node_row(*drawn), self.state.cluster.nodes
        if row.name in known.index:
            self.state.update_node(known.index[row.name], row)
        else:
            self.state.create_node(row)
        assert known.row(known.index[row.name]) == row

    @rule(choice=st.randoms(use_true_random=False))
    @precondition(lambda self: hasattr(self, "state") and len(self.state.cluster.nodes))
    def delete_node(self, choice):
        self.state.delete_node(choice.randrange(len(self.state.cluster.nodes)))

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
        fork = self.state.fork()
        assert picture(fork) == picture(self.state)
        self.forks.append((fork, picture(fork)))

    @rule(choice=st.randoms(use_true_random=False))
    @precondition(lambda self: getattr(self, "forks", None))
    def change_the_nodes_of_a_fork(self, choice):
        position, before = choice.randrange(len(self.forks)), picture(self.state)
        fork, _ = self.forks[position]
        if len(fork.cluster.nodes):
            fork.delete_node(choice.randrange(len(fork.cluster.nodes)))
        else:
            fork.create_node(node_row(a_node("n2")))
        fork.validate()
        self.forks[position] = fork, picture(fork)
        assert picture(self.state) == before

    @invariant()
    def counts_are_true(self):
        if hasattr(self, "state"):
            self.state.validate()
            for fork, before in self.forks:
                assert picture(fork) == before

    @invariant()
    def pods_are_in_canonical_order(self):
        if hasattr(self, "state"):
            names = list(named_in_order(self.state))
            assert names == sorted(names)

    @invariant()
    def changes_tell_every_difference(self):
        """Whoever follows the changes knows how many pods are on each node."""
        if hasattr(self, "state"):
            followed = [list(pair) for pair in self.first]
            for change in self.state.changes[self.read :]:
                followed[change.node][0] += change.present
                followed[change.node][1] += change.staying
            assert [tuple(pair) for pair in followed] == present_and_staying(self.state)


Changes.TestCase.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
TestChanges = Changes.TestCase


@given(nodes(), pods(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_pods_that_come_in_any_order_make_the_cluster_that_a_dump_of_them_gives(drawn, objects, choice):
    """Resources that nobody has named before, new namespaces and new kinds of pods included."""
    state, whole = ClusterState(a_cluster(*drawn)), ClusterState(a_cluster(*drawn, *objects))
    for each in choice.sample(objects, len(objects)):
        (row,) = rows_of(state, [each])
        state.create(row)
    state.validate()
    assert picture(state) == picture(whole)
    state.undo(0)
    assert picture(state) == picture(ClusterState(a_cluster(*drawn)))


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
    fork = state.fork()
    assert fork.checkpoint() == 0
    fork.place(0, 1)
    fork.undo(0)
    assert picture(fork) == picture(state)


@pytest.mark.parametrize(
    "break_it",
    [
        pytest.param(lambda state: state.requested.__setitem__((0, 0), 1), id="requested"),
        pytest.param(lambda state: state.running.__setitem__(1, 1), id="running"),
        pytest.param(lambda state: state._owner_counts()._counts.__setitem__(0, 9), id="owned"),
        pytest.param(lambda state: state._residents.arrived.setdefault(1, []).append(0), id="residents"),
    ],
)
def test_validate_finds_every_wrong_count(state, break_it):
    break_it(state)
    with pytest.raises(AssertionError, match="differ"):
        state.validate()


def test_a_pod_that_was_replaced_goes_and_its_replacement_is_a_pod_of_its_own():
    """The first that exists of its replacements; taken back, everything is as it was."""
    state = ClusterState(a_cluster(a_node("n1"), *(a_pod(name, node="n1", owner=RS) for name in "pq")))
    pods, replacements = state.cluster.pods, Replacements(state, now=0)
    first = replacements.of(0)
    state.place(first, 0)
    second = replacements.of(first)
    state.place(second, 0)
    state.remove(first)
    fork, mark, before = state.fork(), state.checkpoint(), picture(state)
    state.delete(0)
    assert (pods.is_replacement(second), pods.original(second)) == (False, second)
    (row,) = rows_of(state, [a_pod("o", node="n1")])
    assert state.create(row | {"names": "o"}) == 0
    state.validate()
    assert [pods.names[pod] for pod in pods.where(state.exists)] == ["o", "p", "q"]
    state.delete(second)
    assert picture(fork) == before
    state.undo(mark)
    assert picture(state) == before
    assert (int(pods.replaces[second]), pods.original(second)) == (first, 0)
    assert np.diff(pods.rank[[0, first, second, 1]]).min() > 0


def test_rows_of_pods_that_are_gone_are_used_again():
    state = ClusterState(a_cluster(a_node("n1"), *(a_pod(f"p{number}", node="n1") for number in range(3))))
    for number in range(50):
        state.delete(int(np.flatnonzero(state.exists)[0]))
        (row,) = rows_of(state, [a_pod(f"new{number}", node="n1")])
        state.create(row)
    assert len(state.cluster.pods) == 3
    state.validate()


def test_a_version_tells_that_objects_of_a_kind_are_others_in_one_state_and_not_in_its_forks():
    """Also where a change is taken back; a version never comes again."""
    cluster = a_cluster(a_node("n1"), a_pdb("there"))
    state, key = ClusterState(cluster), ("default", "comes")
    budgets = dict(cluster.kind("PodDisruptionBudget"))
    mark, seen = state.checkpoint(), {state.version("PodDisruptionBudget")}

    def versions():
        seen.add(state.version("PodDisruptionBudget"))
        return len(seen)

    state.put("PodDisruptionBudget", key, "first")
    assert versions() == 2
    fork = state.fork()
    state.put("PodDisruptionBudget", key, "second")
    state.put("PodDisruptionBudget", ("default", "there"), None)
    assert versions() == 3
    assert state.cluster.kind("PodDisruptionBudget") == {key: "second"}
    assert fork.cluster.kind("PodDisruptionBudget") == budgets | {key: "first"}
    assert fork.version("PodDisruptionBudget") < state.version("PodDisruptionBudget")
    assert state.version("Service") == fork.version("Service")
    state.undo(mark)
    assert versions() == 4
    assert state.cluster.kind("PodDisruptionBudget") == budgets == cluster.kind("PodDisruptionBudget")
