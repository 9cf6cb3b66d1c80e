"""What is known of the kubelets of one state, while pods come and go."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Object, a_node, a_pod
from descheduling.harness import a_cluster
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.scheduling.numa.admission import Admission
from restow.scheduling.numa.alignment import Alignment
from scheduling.numa.numa_nodes import a_topology_object


def a_guaranteed_pod(name: str, cpu: int, node: str | None) -> Object:
    amounts = {"cpu": str(cpu), "memory": "1Mi"}
    return a_pod(name, node=node, containers=[{"name": "c", "resources": {"requests": amounts, "limits": amounts}}])


def a_scene(choice: Random) -> list[Object]:
    """Two nodes, one of which enforces alignment, and pods that are on them or wait."""
    pods, free = [], [6, 6]
    for at in range(6):
        cpu, where = choice.randint(1, 4), choice.choice(["n1", "n2", None])
        numa_node = choice.choice([0, 1])
        if where == "n1" and free[numa_node] >= cpu:
            free[numa_node] -= cpu
        elif where == "n1":
            where = None
        pods.append(a_guaranteed_pod(f"p{at}", cpu, where))
    told = a_topology_object("n1", *({"cpu": (6, each)} for each in free))
    return [a_node("n1", cpu="12"), a_node("n2", cpu="64"), told, *pods]


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_what_is_kept_of_answers_is_what_looking_afresh_says(seed: int) -> None:
    choice = Random(seed)
    state = ClusterState(a_cluster(*a_scene(choice)))
    alignment, marks = Alignment(state), [state.checkpoint()]
    for _ in range(8):
        pod = choice.randrange(6)
        change = choice.choice(["place", "take back", "remove"])
        if change == "place":
            state.place(pod, choice.choice([0, 1, PENDING]))
        elif change == "remove" and state.exists[pod]:
            state.remove(pod)
        elif change == "take back":
            state.undo(choice.choice(marks[-3:]))
            marks = [each for each in marks if each <= state.checkpoint()]
        marks.append(state.checkpoint())
        for asked in range(6):
            for node in range(2):
                assert alignment.answer(asked, node) == Alignment(state).answer(asked, node)


def test_who_comes_may_be_on_any_numa_node_and_who_leaves_frees_none_for_sure() -> None:
    told = a_topology_object("n1", {"cpu": (6, 2)}, {"cpu": (6, 6)})
    pods = [a_guaranteed_pod("there", 4, "n1"), *(a_guaranteed_pod(f"p{at}", at, None) for at in range(1, 7))]
    state = ClusterState(a_cluster(a_node("n1", cpu="12"), told, *pods))
    alignment, rows = Alignment(state), {name: row for row, name in enumerate(state.cluster.pods.names)}

    def answers() -> list[Admission]:
        """For pods of one to six CPUs, but for those that are there."""
        waiting = [rows[f"p{at}"] for at in range(1, 7) if state.node[rows[f"p{at}"]] == PENDING]
        return [alignment.answer(pod, 0).admission for pod in waiting]

    taken, open_, refused = Admission.TAKEN, Admission.OPEN, Admission.REFUSED
    assert answers() == [taken] * 6
    state.place(rows["p3"], 0)
    assert answers() == [taken] * 2 + [open_] * 3
    state.place(rows["p5"], 0)
    assert answers() == [open_] * 4
    state.remove(rows["there"])
    assert answers() == [open_] * 4
    assert refused not in answers()
