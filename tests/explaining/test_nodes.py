"""What a plan does to a node."""

from __future__ import annotations

from builders import RS, ZONE, a_node, a_pod
from descheduling.harness import a_policy
from explaining.explained import TAINTS, node_explained

N1 = a_node("n1", cpu="4", labels={ZONE: "a"}, taints=["old:NoSchedule"])
LOW = a_policy("LowNodeUtilization", {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}})


def pod(name="p", node="n1", **fields):
    return a_pod(name, node=node, phase="Running", **({"owner": RS} | fields))


def test_what_is_known_of_the_node_itself():
    found = node_explained(TAINTS, N1, a_node("n2", unschedulable=True), node="n1")
    assert (found.zone, found.ready, found.selected, found.unschedulable) == ("a", True, True, False)
    assert found.taints == ("old:NoSchedule",)
    assert node_explained(TAINTS, N1, a_node("n2", unschedulable=True), node="n2").unschedulable


def test_pods_that_leave_and_pods_that_come():
    objects = [N1, a_node("n2"), pod(cpu="1")]
    left, reached = (node_explained(TAINTS, *objects, node=name) for name in ("n1", "n2"))
    assert ([str(each.pod) for each in left.leaving], left.coming) == (["default/p"], ())
    assert (reached.leaving, [str(each.pod) for each in reached.coming]) == ((), ["default/p"])
    cpu = next(each for each in left.resources if each.name == "cpu")
    assert (cpu.allocatable, cpu.before, cpu.after) == (4000, 1000, 0)
    assert (left.pods_before, left.pods_after, reached.pods_after) == (1, 0, 1)


def test_pods_that_stay_are_grouped_by_reason():
    daemons = [pod(name, owner=("DaemonSet", "d")) for name in ("a", "b")]
    found = node_explained(TAINTS, N1, a_node("n2"), *daemons, pod("c", owner=None), node="n1")
    assert [(each.stage, each.code, [pod.name for pod in each.pods]) for each in found.staying] == [
        ("evictor", "DaemonSetPods", ["a", "b"]),
        ("evictor", "NoOwner", ["c"]),
    ]
    assert found.staying[0].plugins == ("RemovePodsViolatingNodeTaints",)


def test_the_class_of_the_node_is_told_before_and_after():
    pods = [pod(f"p{i}", cpu="1") for i in range(3)]
    objects = [a_node("n1", cpu="4"), a_node("n2", cpu="8", memory="16Gi"), *pods]
    (found,) = node_explained(LOW, *objects, node="n1").strategies
    assert (found.before, found.after, found.gives) == ("over", "between", True)
    assert (found.load_before, found.load_after) == ({"cpu": 75.0}, {"cpu": 50.0})
    assert (found.low, found.high) == ({"cpu": 20}, {"cpu": 50})


def test_the_class_of_an_emptying_strategy():
    policy = a_policy("HighNodeUtilization", {"thresholds": {"cpu": 30}})
    objects = [
        a_node("n1", cpu="4"),
        a_node("n2", cpu="4"),
        pod(cpu="1", owner=("DaemonSet", "d")),
        pod("q", "n2", cpu="3"),
    ]
    views = [node_explained(policy, *objects, node=name).strategies[0] for name in ("n1", "n2")]
    assert [(each.before, each.gives, each.high) for each in views] == [("under", True, {}), ("between", False, {})]


def test_strategies_that_do_not_sort_nodes_have_nothing_to_say():
    assert node_explained(TAINTS, N1, a_node("n2"), node="n1").strategies == ()


def test_a_node_that_strategies_do_not_see_has_no_class():
    objects = [a_node("n1", ready=False), a_node("n2"), a_node("n3")]
    found = node_explained(LOW, *objects, node="n1")
    assert not found.ready
    assert (found.strategies[0].before, found.strategies[0].message) == (None, "n1 is not ready")


def test_a_node_that_the_policy_leaves_out():
    policy = a_policy(
        "LowNodeUtilization", {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}}, nodeSelector="a=b"
    )
    found = node_explained(policy, N1, a_node("n2", labels={"a": "b"}), a_node("n3", labels={"a": "b"}), node="n1")
    assert not found.selected


def test_a_strategy_that_cannot_work_says_so():
    args = {
        "thresholds": {"MetricResource": 20}, "targetThresholds": {"MetricResource": 50},
        "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": "x"}},
    }  # fmt: skip
    policy = a_policy(
        "LowNodeUtilization", args, metricsProviders=[{"source": "Prometheus", "prometheus": {"url": "http://x"}}]
    )
    (found,) = node_explained(policy, a_node("n1"), a_node("n2"), node="n1").strategies
    assert (found.before, found.message) == (None, "error initializing usage client: prometheus client not initialized")


def test_with_too_few_nodes_to_plan_a_strategy_that_cannot_work_has_nothing_to_say():
    args = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}, "metricsUtilization": {"source": "other"}}
    (found,) = node_explained(a_policy("LowNodeUtilization", args), a_node("n1"), node="n1").strategies
    assert (found.before, found.after, found.message) == (None, None, "")
