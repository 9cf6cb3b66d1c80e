"""What is said of a pod: where it goes, or what every strategy and every stage of the plan thinks of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from builders import NOW, RS, a_deployment, a_namespace, a_node, a_pdb, a_pod, a_replica_set
from descheduling.harness import a_policy
from explaining.explained import TAINTS, a_setting, explained, gates, told, view
from proving.proven import read_policy
from restow.descheduling.cycle import run_cycle
from restow.descheduling.plan import OwnerRef
from restow.descheduling.registry import strategies
from restow.explaining.answers import explain_pod
from restow.explaining.what_if import Setting
from restow.kube.timestamps import parse_time
from restow.proving.planning import make_plan, policy_as_asked
from restow.proving.search import prove_cycle
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.sources.documents import load_cluster
from scheduling.numa.numa_nodes import a_topology_object

N1 = a_node("n1", taints=["old:NoSchedule"])
LOW = a_policy("LowNodeUtilization", {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}})


def pod(name="p", node="n1", **fields):
    return a_pod(name, node=node, phase="Running", **({"owner": RS} | fields))


# What becomes of it


def test_a_pod_that_moves_says_from_where_to_where_and_how_sure_that_is():
    found = explained(TAINTS, N1, a_node("n2"), pod())
    assert (found.outcome, found.node, found.strategies, found.places) == ("moves", "n1", (), None)
    assert (found.move.source, found.move.target, found.move.certainty) == ("n1", "n2", "certain")


def test_a_pod_without_a_node_is_left_to_the_scheduler():
    found = explained(TAINTS, N1, a_node("n2"), a_pod("p"))
    assert (found.outcome, found.node, found.load, found.strategies) == ("pending", None, None, ())


def test_a_pod_on_a_node_that_is_not_there_is_lost():
    assert explained(TAINTS, N1, a_node("n2"), a_pod("p", node="n9")).outcome == "lost"


def test_the_workload_is_told_as_far_up_as_it_is_known():
    objects = [N1, a_node("n2"), a_replica_set("rs", deployment="web"), a_deployment("web")]
    assert explained(TAINTS, *objects, pod(owner=("ReplicaSet", "rs"))).owner == OwnerRef("Deployment", "web")


def test_the_load_of_its_node_is_told_before_and_after():
    objects = [a_node("n1", cpu="2", taints=["old:NoSchedule"]), a_node("n2"), pod(cpu="1")]
    found = explained(TAINTS, *objects)
    assert (found.load.before["cpu"], found.load.after["cpu"]) == (0.5, 0.0)


# Strategies


def test_a_strategy_that_wants_it_says_why():
    found = view(explained(TAINTS, N1, a_node("n2", cpu="1m"), pod()))
    assert (found.wanted, found.before, found.reason) == (True, False, "taint old:NoSchedule not tolerated")
    assert (found.refusal.stage, found.refusal.code) == ("placement", "NoFit")


def test_a_strategy_wants_what_the_evictor_protects():
    """Its reason is told, though it never asks for such a pod."""
    found = view(explained(TAINTS, N1, a_node("n2"), pod(owner=("DaemonSet", "d"))))
    assert (found.wanted, found.reason) == (True, "taint old:NoSchedule not tolerated")


@pytest.mark.parametrize(
    ("policy", "objects", "reason"),
    [
        (LOW, [pod(cpu="1")], "n1 is at cpu 25 %; threshold cpu 20 %, target cpu 50 %"),
        (
            a_policy("HighNodeUtilization", {"thresholds": {"cpu": 20}}),
            [pod(cpu="1")],
            "n1 is at cpu 25 %; threshold cpu 20 %",
        ),
        (
            a_policy("RemovePodsViolatingNodeTaints", {"namespaces": {"include": ["other"]}}),
            [pod()],
            "the strategy's namespaces exclude its namespace",
        ),
        (
            a_policy("RemovePodsViolatingNodeTaints", {"labelSelector": {"matchLabels": {"x": "y"}}}),
            [pod()],
            "the strategy's labelSelector does not match its labels",
        ),
        (a_policy("RemovePodsViolatingNodeTaints", {}, nodeSelector="a!=b,c"), [pod()],
         "the policy's nodeSelector excludes n1"),
        (a_policy("RemoveDuplicates", {}), [pod()], ""),
    ],
    ids=["low", "high", "namespace", "labels", "node selector", "no findings"],
)  # fmt: skip
def test_a_strategy_that_does_not_want_it_says_why_where_it_can(policy, objects, reason):
    found = view(explained(policy, a_node("n1", taints=["x:NoSchedule"]), a_node("n2"), *objects))
    assert (found.wanted, found.reason, found.gates) == (False, reason, ())


def test_a_node_that_is_not_ready_is_not_looked_at():
    objects = [a_node("n1", ready=False, taints=["x:NoSchedule"]), a_node("n2"), a_node("n3"), pod()]
    assert view(explained(TAINTS, *objects)).reason == "n1 is not ready"


def test_what_a_strategy_notes_of_itself_is_told():
    objects = [a_node("n1", cpu="1"), a_node("n2", cpu="1"), pod(cpu="900m"), pod("q", "n2", cpu="900m")]
    assert view(explained(LOW, *objects)).reason.startswith("No node is underutilized")


def test_a_strategy_that_wanted_it_only_before_says_so():
    """p is refused first (its budget), then q leaves n1 and n1 is no longer over its target."""
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}})
    objects = [
        a_node("n1", cpu="1"),
        a_node("n2", cpu="4"),
        budget,
        pod(cpu="300m", labels={"app": "web"}),
        pod("q", cpu="300m"),
    ]
    found = view(explained(LOW, *objects))
    assert (found.wanted, found.before, found.reason) == (True, True, "n1 at cpu 60 %, target 50 %")
    assert found.refusal.code == "DisruptionBudget"


# Stages


def test_every_stage_speaks_though_the_first_objects():
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}}, current_healthy=3, desired_healthy=3)
    policy = a_policy("RemovePodsViolatingNodeTaints", {}, maxNoOfPodsToEvictPerNode=0)
    found = explained(
        policy, N1, a_node("n2", cpu="1m"), budget,
        pod(labels={"app": "web"}, volumes=[{"name": "x", "emptyDir": {}}]),
    )  # fmt: skip
    assert gates(found) == {
        "evictor": (False, "PodsWithLocalStorage"),
        "limit": (False, "MaxPodsToEvictPerNode"),
        "budget": (False, "DisruptionBudget"),
        "placement": (False, "NoFit"),
    }
    assert [each.message for each in view(found).gates] == [
        "fails 1 of 10 checks: pod has local storage and is protected against eviction",
        "0 of 0 evictions left on n1",
        "default/web: 3 healthy, 3 required, 0 disruptions left",
        "0 of 1 other node fits",
    ]


def test_each_check_of_the_evictor_is_told():
    found = view(explained(TAINTS, N1, a_node("n2", cpu="1m"), pod()))
    assert [each.code for each in found.checks] == [
        "PreferNoEviction",
        "MirrorPod",
        "StaticPod",
        "Terminating",
        "SystemCriticalPods",
        "PriorityThreshold",
        "NoOwner",
        "PodsWithLocalStorage",
        "DaemonSetPods",
        "MissingUID",
    ]
    assert all(each.passes and not each.message for each in found.checks)
    assert found.gates[0].message == "passes 10 of 10 checks"


def test_checks_that_a_policy_adds_are_told_too():
    evictor = {"minReplicas": 3, "nodeFit": True, "namespaceLabelSelector": {"matchLabels": {"a": "b"}}}
    policy = a_policy("RemovePodsViolatingNodeTaints", {}, evictor=evictor)
    objects = [N1, a_node("n2", cpu="1m"), a_namespace("default"), pod()]
    found = view(explained(policy, *objects, placement="upstream"))
    failing = {each.code: each.message for each in found.checks if not each.passes}
    assert list(failing) == ["MinReplicas", "NamespaceLabelSelector", "NoFit"]
    assert failing["MinReplicas"] == "owner has 1 replicas which is less than minReplicas of 3"


def test_only_checks_that_the_placement_asks_are_told():
    """``prove`` has the scheduler say what fits, and never asks nodeFit."""
    policy = a_policy("RemovePodsViolatingNodeTaints", {}, evictor={"nodeFit": True})
    for placement, asked in (("prove", False), ("upstream", True)):
        found = view(explained(policy, N1, a_node("n2", cpu="1m"), pod(), placement=placement))
        assert any(each.code == "NoFit" for each in found.checks) is asked


def test_the_annotation_that_overrides_checks_does_so_here():
    annotations = {"descheduler.alpha.kubernetes.io/evict": "true"}
    found = view(explained(TAINTS, N1, a_node("n2", cpu="1m"), pod(owner=None, annotations=annotations)))
    assert all(each.passes for each in found.checks)


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("maxNoOfPodsToEvictPerNode", "1 of 2 evictions left on n1"),
        ("maxNoOfPodsToEvictTotal", "1 of 2 evictions left in the plan"),
        ("maxNoOfPodsToEvictPerNamespace", "1 of 2 evictions left in namespace default"),
    ],
)
def test_what_the_plan_has_used_of_a_limit_counts(limit, message):
    policy = a_policy("RemovePodsViolatingNodeTaints", {}, **{limit: 2})
    objects = [N1, a_node("n2", cpu="1"), pod("a", cpu="1"), pod(cpu="1")]
    assert view(explained(policy, *objects)).gates[1].message == message


def test_the_limit_of_the_strategy_itself_counts():
    args = {"thresholds": {"pods": 20}, "targetThresholds": {"pods": 30}, "evictionLimits": {"node": 1}}
    objects = [
        a_node("n1", pods=10, unschedulable=True),
        a_node("n2", pods=100),
        *(pod(f"d{i}", owner=("DaemonSet", "d"), cpu="1m") for i in range(3)),
        *(pod(f"a{i}", cpu="1m") for i in range(2)),
        pod(cpu="1m"),
    ]
    found = view(explained(a_policy("LowNodeUtilization", args), *objects))
    assert (found.gates[1].code, told(found.changes[0])) == ("EvictionLimits", ["with evictionLimits.node of 3"])


def test_what_the_plan_has_used_of_a_budget_counts():
    budget = a_pdb(
        "web", selector={"matchLabels": {"app": "web"}}, disruptions_allowed=1, current_healthy=3, desired_healthy=2
    )
    objects = [N1, a_node("n2"), budget, pod("a", labels={"app": "web"}), pod(labels={"app": "web"})]
    found = view(explained(TAINTS, *objects))
    assert found.gates[2].message == "default/web: 3 healthy, 2 required, 0 disruptions left"


def test_several_budgets_forbid_the_eviction():
    budgets = [a_pdb(name, selector={"matchLabels": {"app": "web"}}, disruptions_allowed=1) for name in ("a", "b")]
    found = explained(TAINTS, N1, a_node("n2"), *budgets, pod(labels={"app": "web"}))
    assert gates(found)["budget"] == (False, "SeveralBudgets")


def test_without_budgets_in_the_input_nobody_can_tell():
    setting = a_setting(TAINTS, N1, a_node("n2"), pod())
    found = explain_pod(setting, setting.cluster.pods.names.index("p"))
    assert gates(found)["budget"] == (None, "Unknown")
    assert gates(found)["placement"] == (True, "")


def test_upstream_placement_asks_neither_budgets_nor_the_scheduler():
    objects = [N1, a_node("n2"), pod(owner=("DaemonSet", "d"))]
    found = explained(TAINTS, *objects, placement="upstream")
    assert found.places is None
    assert {stage: passes for stage, (passes, _) in gates(found).items()} == {
        "evictor": False, "limit": True, "budget": None, "placement": None,
    }  # fmt: skip


# Places


def test_nodes_that_do_not_fit_are_grouped_by_plugin_and_reasons():
    objects = [N1, a_node("n2", cpu="1m"), a_node("n3", cpu="2m"), a_node("n4", unschedulable=True), pod(cpu="1")]
    rejected = explained(TAINTS, *objects).places.rejected
    assert [(each.plugin, each.nodes) for each in rejected] == [
        ("NodeResourcesFit", ("n2", "n3")),
        ("TaintToleration", ("n1",)),
        ("NodeUnschedulable", ("n4",)),
    ]
    assert rejected[0].reasons == ("Insufficient cpu",)
    assert rejected[0].details == {"n2": "needs 1 CPU, 1m free", "n3": "needs 1 CPU, 2m free"}


def test_nodes_whose_numa_nodes_have_too_little_say_how_much():
    """By the rules of NodeResourceTopologyMatch, for a scheduler that runs it."""
    amounts = {"cpu": "3", "memory": "1Gi"}
    container = {"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}
    free = {"cpu": (4, 2), "memory": ("8Gi", "8Gi")}
    points = dict(DEFAULT_PROFILE.plugins)
    points["filter"] = (*points["filter"], "NodeResourceTopologyMatch")
    found = explained(
        TAINTS,
        *(N1, a_node("n2"), a_topology_object("n2", free, free), pod(containers=[container])),
        profile=SchedulerProfile(plugins=points),
    )
    [rejected] = [each for each in found.places.rejected if each.nodes == ("n2",)]
    assert (rejected.plugin, rejected.reasons) == ("NodeResourceTopologyMatch", ("cannot align container",))
    text = "it wants 3 CPUs and 1Gi memory of one NUMA node; node-0 has 2 CPUs; node-1 has 2 CPUs"
    assert rejected.details == {"n2": text}


def test_nodes_that_could_win_and_satisfy_the_strategy_are_named():
    """The budget holds p back; n1 would not do, and n3 fits but loses."""
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}})
    tolerant = pod(labels={"app": "web"}, cpu="1")
    objects = [N1, a_node("n2", cpu="8", memory="16Gi"), a_node("n3", cpu="2"), budget, tolerant]
    found = explained(TAINTS, *objects)
    assert (found.places.fitting, found.places.candidates) == (("n2", "n3"), ("n2",))
    assert view(found).welcome == ("n2",)


def test_a_pod_that_would_come_back_says_so():
    pods = [pod(f"a{i}", owner=("DaemonSet", "d"), cpu="0") for i in range(3)]
    objects = [
        a_node("n1", cpu="10", pods=10),
        a_node("n2", cpu="100m", pods=10, unschedulable=True),
        a_node("n3", pods=10),
        *pods,
        pod(cpu="1", node_selector={"kubernetes.io/hostname": "n1"}),
    ]
    objects[0]["metadata"]["labels"] = {"kubernetes.io/hostname": "n1"}
    low = a_policy("LowNodeUtilization", {"thresholds": {"pods": 20}, "targetThresholds": {"pods": 30}})
    found = explained(low, *objects)
    assert gates(found)["placement"] == (False, "SameNode")
    assert view(found).gates[3].message == "0 of 2 other nodes fit; it would land on n1 again"


# Whole plans

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("placement", ["prove", "upstream"])
def test_behind_every_refusal_of_a_plan_stands_a_stage_that_does_not_pass(placement):
    """And asking leaves the plan as it was."""
    cluster, _ = load_cluster([str(EXAMPLES / "clusters" / "demo.json")])
    policy = read_policy((EXAMPLES / "policies" / "demo.yaml").read_text())
    decide = prove_cycle if placement == "prove" else run_cycle
    cycle = decide(cluster, policy, strategies(), parse_time(NOW))
    setting = Setting(
        cycle,
        cluster,
        policy_as_asked(policy, placement),
        strategies(),
        parse_time(NOW),
        placement,
        "none",
        (DEFAULT_PROFILE,),
    )
    plan = make_plan(cycle, parse_time(NOW), placement)
    assert plan.refusals
    for pod in sorted({each.pod for each in cycle.record.refusals})[::9]:
        found = explain_pod(setting, pod)
        refusals = {
            (each.profile, each.plugin): (each.stage, each.code) for each in plan.refusals if each.pod == found.pod
        }
        told = {(each.profile, each.plugin): each for each in found.strategies if each.refusal}
        assert refusals == {ref: (each.refusal.stage, each.refusal.code) for ref, each in told.items()}
        for each in told.values():
            assert each.wanted
            assert each.before or not each.gates or any(gate.passes is False for gate in each.gates)
    cycle.state.validate()
    assert make_plan(cycle, parse_time(NOW), placement) == plan
