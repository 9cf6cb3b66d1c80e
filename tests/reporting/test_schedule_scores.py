"""The table of scores: the best first, plugins that make a difference, names that fit."""

from __future__ import annotations

import pytest

from builders import ZONE, a_node, a_pod, node_affinity, node_term
from reporting.scheduling import decided
from restow.reporting.schedule_scores import score_lines


def lines(*objects, width=80):
    ranking = decided(*objects).ranking
    names = sorted(each["metadata"]["name"] for each in objects if each["kind"] == "Node")
    return [line.plain for line in score_lines(names, ranking, width)]


def test_the_best_nodes_come_first_and_equals_by_name():
    nodes = [a_node(name, cpu=cpu) for name, cpu in [("a", "2"), ("b", "8"), ("c", "8")]]
    rows = lines(*nodes, a_pod("p", cpu="1"))
    assert [row.split()[0] for row in rows if row.startswith((" a", " b", " c"))] == ["b", "c", "a"]


def test_a_plugin_that_gives_all_the_same_has_no_column():
    rows = lines(a_node("a", cpu="2"), a_node("b", cpu="8"), a_pod("p", cpu="1", memory=None))
    text = "\n".join(rows)
    assert "the same on every node: TaintToleration 300" in text
    heading = rows[: next(at for at, row in enumerate(rows) if row.startswith(" NODE")) + 1]
    assert "Toleration" not in "".join(heading)
    assert "Fit" in heading[-1]


def test_names_of_plugins_stand_above_their_columns_word_by_word():
    rows = lines(a_node("a", cpu="2"), a_node("b", cpu="8"), a_pod("p", cpu="1"))
    assert rows[:4] == [
        "                               Node",
        "                   Node   Resources",
        "              Resources    Balanced",
        " NODE  TOTAL        Fit  Allocation",
    ]


def test_columns_add_up_to_the_total():
    near = node_affinity(preferred=[(50, node_term((ZONE, "In", "z1")))])
    nodes = [a_node("a", cpu="2", labels={ZONE: "z1"}), a_node("b", cpu="8", taints=["x:PreferNoSchedule"])]
    ranking = decided(*nodes, a_pod("p", cpu="1", affinity=near)).ranking
    assert sum(ranking.by_plugin.values()).tolist() == ranking.total.tolist()


@pytest.mark.parametrize("count", [12, 13, 40])
def test_of_many_nodes_the_first_twelve_are_shown(count):
    rows = lines(*(a_node(f"n{at:02}") for at in range(count)), a_pod("p"))
    assert sum(row.startswith(" n") for row in rows) == 12
    assert (f" ... and {count - 12} more node{'s' * (count > 13)} that fit" in rows) is (count > 12)


def test_long_names_of_nodes_are_cut_in_the_middle():
    names = [f"ip-10-0-{at}-23.eu-west-1.compute.internal.{'long.' * 12}example" for at in range(2)]
    rows = lines(*(a_node(name) for name in names), a_pod("p"))
    assert max(map(len, rows)) <= 80
    assert "…" in "".join(rows)
