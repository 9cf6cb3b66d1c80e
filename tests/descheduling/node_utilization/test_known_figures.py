"""What follows from the usage of nodes is kept as long as that is the same, and no longer."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from builders import a_pod, std_node
from cluster.test_state import node_row
from descheduling.harness import a_cluster
from restow.cluster.state import ClusterState
from restow.descheduling.node_utilization.surveys import KnownFigures, NodeFigures
from restow.descheduling.node_utilization.usage import Capacities, KnownRequests, Usage, add

NAMES = ("cpu", "pods")
UNIT = 10**9


def amounts(*by_node: tuple[int, int]) -> np.ndarray:
    return np.array(by_node, dtype=np.int64).T


class TestRequests:
    def test_of_a_node_whose_requests_have_changed_they_are_made_again(self) -> None:
        known, nodes = KnownRequests(ClusterState(a_cluster())), np.array([3, 5, 8])
        first = known.of(NAMES, nodes, amounts((1000, 1), (2000, 2), (500, 1)))
        second = known.of(NAMES, nodes, amounts((1000, 1), (2500, 3), (500, 1)))
        assert second == {
            3: {"cpu": UNIT, "pods": UNIT},
            5: {"cpu": 5 * UNIT // 2, "pods": 3 * UNIT},
            8: {"cpu": UNIT // 2, "pods": UNIT},
        }
        assert list(second) == [3, 5, 8]
        assert [second[node] is first[node] for node in (3, 5, 8)] == [True, False, True]

    def test_other_nodes_or_resources_have_their_own(self) -> None:
        known = KnownRequests(ClusterState(a_cluster()))
        known.of(NAMES, np.array([0, 1]), amounts((1000, 1), (2000, 2)))
        assert known.of(NAMES, np.array([0, 2]), amounts((1000, 1), (2000, 2))) == {
            0: {"cpu": UNIT, "pods": UNIT},
            2: {"cpu": 2 * UNIT, "pods": 2 * UNIT},
        }
        assert known.of(("pods",), np.array([0]), np.array([[7]])) == {0: {"pods": 7 * UNIT}}

    def test_pods_that_move_in_a_plan_change_nothing_for_the_next(self) -> None:
        known, nodes = KnownRequests(ClusterState(a_cluster())), np.array([0, 1])
        usage = Usage(NAMES, known.of(NAMES, nodes, amounts((1000, 1), (2000, 2))), None)
        add(usage, 0, {"cpu": UNIT, "pods": UNIT}, -1)
        add(usage, 7, {"cpu": UNIT, "pods": UNIT}, 1)
        assert usage.by_node[0] == {"cpu": 0, "pods": 0}
        assert usage.changes == [0]
        again = known.of(NAMES, nodes, amounts((1000, 1), (2000, 2)))
        assert again[0] == {"cpu": UNIT, "pods": UNIT}


@pytest.mark.parametrize("seed", range(3))
def test_known_figures_are_those_that_are_found_anew(seed: int) -> None:
    """After any changes of what is used, and of what nodes have."""
    chance = Random(seed)
    state = ClusterState(a_cluster(*(std_node(f"n{at}", 4000, 3000, 10) for at in range(4)), a_pod("p")))
    held, known = Capacities(state), KnownFigures(state)
    used = {node: {"cpu": UNIT, "memory": 5 * UNIT} for node in range(4)}
    thresholds = [{"cpu": 20.0}, {"cpu": 50.0, "memory": 60.0}]
    for _ in range(30):
        used[chance.randrange(4)] = {"cpu": chance.randrange(5) * UNIT, "memory": chance.randrange(3000) * UNIT}
        if chance.random() < 0.3:
            node = chance.randrange(4)
            state.update_node(node, node_row(std_node(f"n{node}", 1000 * chance.randrange(1, 9), 3000, 10)))
        low, high = chance.choice(thresholds), chance.choice(thresholds)
        for node, figures in known.of(used, held.of(used)).items():
            fresh = NodeFigures.of(used[node], Capacities(state).of([node])[node])
            assert (figures.load, figures.total) == (fresh.load, fresh.total)
            assert figures.ceilings(high) == fresh.ceilings(high)
            assert figures.standing(low, high) == fresh.standing(low, high)
