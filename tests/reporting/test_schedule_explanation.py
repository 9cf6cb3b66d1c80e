"""``restow schedule --pod`` on a terminal: scores of the nodes that fit, objections to the others, and who would go."""

from __future__ import annotations

import pytest

from builders import HOSTNAME, NOW, ZONE, a_node, a_pdb, a_pod, node_affinity, node_term, selector
from descheduling.harness import a_cluster
from reporting.scheduling import decided
from restow.reporting.schedule_explanation import Aside, explanation, gated, score_lines


def explained(*objects, pod="p", width=80, **aside):
    """The sections about a pod, each as one text."""
    sections = explanation(a_cluster(*objects), decided(*objects, pod=pod), Aside(**aside), width)
    return ["\n".join(line.plain for line in lines) for lines in sections]


NODES = [a_node("n1", cpu="4"), a_node("n2", cpu="8")]


@pytest.mark.parametrize(
    ("pod", "ahead", "where"),
    [
        (a_pod("p"), 0, "pending"),
        (a_pod("p"), 1, "pending; the 1 pod ahead of it in the queue is ignored"),
        (a_pod("p", node="n1"), 0, "on n1; scheduled as if it were pending"),
        (a_pod("p", node="gone"), 0, "on a node that is missing from the input; scheduled as if it were pending"),
    ],
)
def test_where_the_pod_is_now_is_told(pod, ahead, where):
    assert " ".join(explained(*NODES, pod, ahead=ahead)[0].split()) == f"pod default/p priority 0 {where}"


def test_the_winner_and_how_narrowly_it_wins():
    answer = explained(*NODES, a_pod("p", cpu="1"))[1]
    assert answer.startswith("default/p goes to n2: next best -9: n1\n")


def test_a_tie_says_so():
    assert "default/p goes to n1: 2 nodes tie" in explained(a_node("n1"), a_node("n2"), a_pod("p"))[1]


def test_one_that_would_come_back_stays():
    assert "default/p stays on n2" in explained(*NODES, a_pod("p", node="n2"))[1]


def test_the_only_node_that_fits_needs_no_scores():
    assert explained(a_node("n1"), a_pod("p"))[1] == "default/p goes to n1: the only node that fits"


def test_the_schedulers_message_where_no_node_fits():
    answer = explained(*NODES, a_pod("p", cpu="9"))[1]
    assert answer.startswith("default/p finds no node\n 0/2 nodes are available: 2 Insufficient cpu.")


def test_without_nodes_there_is_still_a_message():
    assert explained(a_pod("p"))[1] == "default/p finds no node\n no nodes available to schedule pods"


def test_how_many_nodes_could_win_is_told_where_not_all_are_scored():
    assert explained(*NODES, a_pod("p"), could_win=2)[1].endswith(
        "\n 2 nodes could win: kube-scheduler scores only a sample of this many nodes"
    )


class TestPreemption:
    def test_victims_and_other_nodes_are_named(self):
        full = [a_pod(f"low-{node}", node=node, cpu="4", started=NOW) for node in ("n1", "n2")]
        nodes = [a_node("n1", cpu="4"), a_node("n2", cpu="4")]
        assert explained(*nodes, *full, a_pod("p", cpu="4", priority=5))[2] == (
            "It would preempt 1 pod on n1\n default/low-n1\n it could also preempt on n2"
        )

    def test_budgets_that_it_goes_against_are_told(self):
        low = a_pod("low", node="n1", cpu="4", labels={"app": "a"}, started=NOW)
        budget = a_pdb("b", selector=selector(labels={"app": "a"}), disruptions_allowed=0)
        text = explained(a_node("n1", cpu="4"), low, budget, a_pod("p", cpu="4", priority=5))[2]
        assert "this violates the disruption budgets of 1 of them" in text

    def test_without_any_there_is_no_section(self):
        assert explained(*NODES, a_pod("p"))[2] == ""


class TestRejections:
    def test_nodes_are_grouped_by_plugin_and_reasons_the_most_first(self):
        nodes = [a_node(f"n{at:02}", taints=["gpu=yes:NoSchedule"]) for at in range(14)]
        text = explained(*nodes, a_node("x", unschedulable=True), a_node("y"), a_pod("p"))[3]
        assert text.splitlines() == [
            "15 nodes do not fit",
            " 14  TaintToleration  node(s) had untolerated taint(s)",
            "     n00, n01, n02, n03, n04, n05, n06, n07, n08, n09 and 4 more",
            "  1  NodeUnschedulable  node(s) were unschedulable",
            "     x",
        ]

    def test_several_reasons_of_one_plugin_are_one_group(self):
        text = explained(a_node("n1", cpu="1", memory="1Gi"), a_pod("p", cpu="2", memory="2Gi"))[3]
        assert " 1  NodeResourcesFit  Insufficient cpu; Insufficient memory" in text

    def test_a_pod_that_is_ruled_out_beforehand_has_no_nodes(self):
        text = explained(
            *NODES, a_pod("p", spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]})
        )[3]
        assert text == 'No node was checked\n VolumeRestrictions  persistentvolumeclaim "c" not found'

    def test_nodes_that_prefilter_leaves_out(self):
        by_name = node_affinity([node_term(fields=[("metadata.name", "In", "n1")])])
        text = explained(
            *(a_node(name, labels={HOSTNAME: name}) for name in ("n1", "n2")), a_pod("p", affinity=by_name)
        )[3]
        assert text == "1 node does not fit\n 1  PreFilter  node(s) didn't satisfy plugin(s) [NodeAffinity]\n    n2"

    def test_nodes_that_nobody_was_asked_about(self):
        text = explained(*NODES, a_pod("p", nominated_node="n1"))[3]
        assert text == " 1 node not checked: the pod is nominated to a node that fits"


def test_a_gated_pod_says_why():
    sections = gated(a_cluster(a_node("n1"), a_pod("p")), 0, "waiting for scheduling gates: [quota]", 80)
    assert [line.plain for line in sections[1]] == ["default/p is gated", " waiting for scheduling gates: [quota]"]


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
