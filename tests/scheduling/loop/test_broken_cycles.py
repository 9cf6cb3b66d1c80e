"""Pods that ask for what cannot be read: their cycle ends without an answer, in kube-scheduler's words.

The API server refuses most of this today, but keeps what it once took.
"""

from __future__ import annotations

import pytest

from builders import ZONE, a_node, a_pod, node_affinity, node_term, selector, spread
from descheduling.harness import a_cluster
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.decision import Scheduler

NODES = [a_node(name, labels={ZONE: "a"}) for name in ("n1", "n2")]
TOO_LARGE = (1, node_term(("gen", "Gt", "x")))
UNREADABLE = selector(("app", "Like", "web"))


def decide(*objects):
    state = ClusterState(a_cluster(*objects))
    scheduler = Scheduler(Context.of(state))
    decision = scheduler.decide(state.cluster.pods.names.index("p"))
    scheduler.settle(decision)
    return decision


def constrained(when):
    return a_pod("p", spread=[spread(1, ZONE, UNREADABLE, when=when)])


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        pytest.param(
            a_pod("p", affinity=node_affinity(preferred=[TOO_LARGE])),
            'running PreScore plugin "NodeAffinity": [0].matchExpressions[0].values[0]: Invalid value: "x": '
            "for 'Gt', 'Lt' operators, the value must be an integer",
            id="preferred-node-affinity",
        ),
        pytest.param(
            constrained("ScheduleAnyway"),
            'running PreScore plugin "PodTopologySpread": calculating preScoreState: obtaining pod\'s soft topology '
            'spread constraints: "Like" is not a valid label selector operator',
            id="soft-spread",
        ),
        pytest.param(
            constrained("DoNotSchedule"),
            'running PreFilter plugin "PodTopologySpread": get constraints from pod: obtaining pod\'s hard topology '
            'spread constraints: "Like" is not a valid label selector operator',
            id="hard-spread",
        ),
    ],
)
def test_a_pod_that_cannot_be_read_goes_nowhere(pod, message) -> None:
    decision = decide(*NODES, pod)
    assert (decision.message, decision.node, decision.best.tolist()) == (message, PENDING, [])
    assert decision.preemption is None


def test_preferences_are_not_read_where_one_node_is_feasible() -> None:
    decision = decide(NODES[0], a_pod("p", affinity=node_affinity(preferred=[TOO_LARGE])))
    assert (decision.node, decision.message) == (0, "")


def test_a_preference_of_no_weight_is_not_read() -> None:
    decision = decide(*NODES, a_pod("p", affinity=node_affinity(preferred=[(0, TOO_LARGE[1])])))
    assert (decision.node, decision.message) == (0, "")


def test_no_node_at_all_is_told_first() -> None:
    assert decide(constrained("DoNotSchedule")).message == "no nodes available to schedule pods"
