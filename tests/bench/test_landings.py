"""The table of moves and balances, and what it is made of."""

from __future__ import annotations

import pytest

from bench import landings
from bench.balance import Balance, balance_after, intended_balance, permitted_balance
from bench.landings import SCENES, Outcome, Row
from bench.planned_moves import Move, Moves, granted
from builders import a_node, a_pdb, a_pod, selector
from descheduling.harness import a_cluster

NAMES = ("n1", "n2", "n3")


def a_filled_cluster():
    """n1 at 75 %, n2 at 25 %, and n3 with a pod of a DaemonSet only, at 50 %."""
    web = {"owner": ("ReplicaSet", "web"), "cpu": "1", "phase": "Running"}
    return a_cluster(
        *(a_node(name, cpu="4") for name in NAMES),
        *(a_pod(f"a{at}", node="n1", **web) for at in range(3)),
        a_pod("b", node="n2", **web),
        a_pod("z", node="n3", cpu="2", owner=("DaemonSet", "z"), phase="Running"),
    )


def test_a_balance_is_what_the_nodes_pods_request() -> None:
    before = balance_after(a_filled_cluster(), ("cpu",), [], [])
    assert (round(before.deviation, 1), before.fullest, before.empty) == (20.4, 75.0, 1)
    after = balance_after(a_filled_cluster(), ("cpu",), [0, 3], ["n2", "n2"])
    assert (round(after.deviation, 1), after.fullest, after.empty) == (0.0, 50.0, 1)


def test_a_replacement_that_waits_is_on_no_node() -> None:
    assert balance_after(a_filled_cluster(), ("cpu",), [0], [""]).fullest == 50.0


def test_pods_go_where_a_strategy_hopes_for() -> None:
    """Off n1 to the emptiest, n2; off n2 to the fullest with room, n1."""
    assert intended_balance(a_filled_cluster(), ("cpu",), [0], fill=False) == Balance(0.0, 50.0, 1)
    assert intended_balance(a_filled_cluster(), ("cpu",), [3], fill=True) == Balance(
        pytest.approx(40.8, abs=0.1), 100.0, 2
    )


def test_pods_that_a_filter_keeps_off_every_other_node_stay() -> None:
    """b could fill n1 by its requests, but it does not tolerate the taint there."""
    cluster = a_cluster(
        a_node("n1", cpu="4", taints=["dedicated=db:NoSchedule"]),
        a_node("n2", cpu="4"),
        a_pod("a", node="n1", cpu="3", owner=("ReplicaSet", "a"), phase="Running"),
        a_pod("b", node="n2", cpu="1", owner=("ReplicaSet", "b"), phase="Running"),
    )
    assert intended_balance(cluster, ("cpu",), [1], fill=True).empty == 1
    assert permitted_balance(cluster, ("cpu",), [1], fill=True) == balance_after(cluster, ("cpu",), [], [])


def test_pods_go_where_the_filters_let_them() -> None:
    cluster = a_filled_cluster()
    assert permitted_balance(cluster, ("cpu",), [0], fill=False) == intended_balance(cluster, ("cpu",), [0], fill=False)


def test_evictions_are_granted_while_their_budget_has_room() -> None:
    budget = a_pdb("web", selector=selector(labels={"app": "web"}), disruptions_allowed=1)
    pods = [a_pod(f"w{at}", node="n1", labels={"app": "web"}, phase="Running") for at in range(2)]
    free = a_pod("free", node="n1", phase="Running")
    cluster = a_cluster(a_node("n1"), *pods, free, budget)
    assert list(granted(cluster, ["default/w0", "default/w1", "default/free"])) == ["default/w0", "default/free"]


def test_a_row_tells_moves_and_balances(tmp_path) -> None:
    moves = Moves((Move("default/a"),) * 1200, refused=3)
    balance = Balance(4.04, 76.5, 2)
    outcomes = Outcome(None, balance), Outcome(moves, balance, waiting=1)
    row = Row(SCENES[0], 1000, outcomes)
    assert row.cells() == ("LowNodeUtilization", "1,000", "4.0, 76 %, 2", "1,200 (+3): 4.0, 76 %, 2; 1 wait")


def test_each_program_has_a_column() -> None:
    assert landings.HEADINGS[3:] == ("Descheduler", "as it intends", "as it could", "none", "likely", "steered")
