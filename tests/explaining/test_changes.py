"""What would have to change so that a pod moves: the least of each kind, tried by making the plan again.

The pod p must leave n1, whose taint it does not tolerate; n2 has one thing against it.
"""

from __future__ import annotations

import pytest

from builders import (
    RS,
    ZONE,
    a_node,
    a_pdb,
    a_pod,
    a_pv,
    a_pvc,
    ago,
    claim_volume,
    node_affinity,
    node_term,
    pod_anti_affinity,
    pod_term,
    selector,
)
from builders.cluster_objects import a_pod_group, in_group
from descheduling.harness import a_policy
from explaining.explained import TAINTS, a_setting, explained, helps, told, view
from proving.proven import TOLD, moved, proven
from restow.explaining.answers import explain_pod

N1 = a_node("n1", cpu="8", memory="16Gi", labels={ZONE: "a", "host": "n1"}, taints=["old:NoSchedule"])
OTHER = ("ReplicaSet", "other")


def pod(**fields):
    return a_pod("p", node="n1", owner=RS, phase="Running", **({"cpu": "1", "memory": "1Gi"} | fields))


def filler(node="n2", name="filler", **fields):
    return a_pod(name, node=node, owner=OTHER, phase="Running", **fields)


# Resources


def test_the_smallest_deficit_is_told():
    assert helps(explained(TAINTS, N1, a_node("n2", cpu="800m"), pod())) == ["with 200m more CPU on n2"]


def test_every_resource_that_is_lacking_is_told():
    found = explained(TAINTS, N1, a_node("n2", cpu="500m", memory="512Mi"), pod())
    assert helps(found) == ["with 500m more CPU and 512Mi more memory on n2"]
    (step,) = view(found).changes[0].steps
    assert step.amounts == {"cpu": 500, "memory": 512 * 2**20}


def test_a_node_full_of_pods_needs_a_slot():
    objects = [N1, a_node("n2", pods=1), pod(), filler()]
    assert helps(explained(TAINTS, *objects)) == ["with 1 more pod slot on n2"]


def test_what_pods_request_already_counts():
    objects = [N1, a_node("n2", cpu="4"), pod(), filler(cpu="3500m")]
    assert helps(explained(TAINTS, *objects)) == ["with 500m more CPU on n2"]


@pytest.mark.parametrize(
    "node", [{"memory": "16Gi"}, {"memory": "7Ei"}], ids=["rounded beyond int64", "a sum beyond int64"]
)
def test_more_than_a_node_can_have_is_no_help(node):
    largest = pod(cpu="1", memory="9223372036854775807")
    assert helps(explained(TAINTS, N1, a_node("n2", **node), largest, filler(memory=node["memory"]))) == []


@pytest.mark.parametrize(("cpu", "moves"), [("999m", []), ("1", ["p"])])
def test_with_what_is_told_the_plan_moves_the_pod_and_with_less_it_does_not(cpu, moves):
    assert helps(explained(TAINTS, N1, a_node("n2", cpu="600m"), pod())) == ["with 400m more CPU on n2"]
    assert moved(proven("RemovePodsViolatingNodeTaints", {}, N1, a_node("n2", cpu=cpu), pod())) == moves


def test_of_several_nodes_the_one_that_lacks_least_is_told():
    objects = [N1, a_node("n2", cpu="600m"), a_node("n3", cpu="900m"), pod()]
    assert helps(explained(TAINTS, *objects)) == ["with 100m more CPU on n3"]


def test_nodes_that_lack_the_same_are_named_beside_it():
    objects = [N1, a_node("n2", cpu="900m"), a_node("n3", cpu="900m"), a_node("n4", cpu="700m"), pod()]
    (change,) = view(explained(TAINTS, *objects)).changes
    assert (change.to, change.others, change.certainty) == ("n2", ("n3",), "certain")


def test_more_of_a_resource_also_satisfies_the_strategy():
    """n1 at 90 % must shrink to 50 %, and what it gives may not lift n2 above 50 %: 2.5 of 5 cores."""
    low = a_policy("LowNodeUtilization", {"thresholds": {"cpu": 40}, "targetThresholds": {"cpu": 50}})
    objects = [
        a_node("n1", cpu="4", memory="8Gi"),
        a_node("n2", cpu="4", memory="8Gi"),
        a_pod("p", node="n1", owner=RS, cpu="1", memory="0", phase="Running"),
        a_pod("d", node="n1", owner=("DaemonSet", "d"), cpu="2600m", memory="0", phase="Running"),
        a_pod("e", node="n2", owner=("DaemonSet", "d"), cpu="1500m", memory="0", phase="Running"),
    ]
    found = next(each for each in explained(low, *objects).strategies)
    assert [told(each) for each in found.changes] == [["with 1 more CPU on n2"]]
    larger = [objects[0], a_node("n2", cpu="5", memory="8Gi"), *objects[2:]]
    args = {"thresholds": {"cpu": 40}, "targetThresholds": {"cpu": 50}}
    assert moved(proven("LowNodeUtilization", args, *larger)) == ["p"]
    assert moved(proven("LowNodeUtilization", args, *objects)) == []


# Nodes


def test_a_taint_is_named():
    found = explained(TAINTS, N1, a_node("n2", taints=["gpu=yes:NoSchedule", "x:PreferNoSchedule"]), pod())
    assert helps(found) == ["with a toleration of gpu=yes:NoSchedule (n2)"]


def test_a_toleration_of_the_taint_that_drives_it_away_is_no_help():
    assert helps(explained(TAINTS, N1, a_node("n2", taints=["old:NoSchedule"]), pod())) == []


def test_a_cordoned_node_can_be_uncordoned():
    cordon = "node.kubernetes.io/unschedulable:NoSchedule"
    for node in (a_node("n2", unschedulable=True), a_node("n2", unschedulable=True, taints=[cordon])):
        assert helps(explained(TAINTS, N1, node, pod())) == ["with n2 uncordoned"]


def test_a_cordoned_node_with_another_taint_has_two_things_against_it():
    node = a_node("n2", unschedulable=True, taints=["gpu=yes:NoSchedule"])
    assert helps(explained(TAINTS, N1, node, pod())) == []


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({"node_selector": {"disk": "ssd"}}, "with the label disk=ssd on n2"),
        ({"affinity": node_affinity([node_term(("gpu", "Exists"))])}, "with the label gpu on n2"),
        ({"affinity": node_affinity([node_term(("old", "DoesNotExist"))])}, "without the label old on n2"),
        (
            {
                "affinity": node_affinity(
                    [node_term(("a", "In", "1"), ("b", "In", "1")), node_term(("c", "In", "x", "y"))]
                )
            },
            "with the label c=x on n2",
        ),
    ],
    ids=["selector", "exists", "does not exist", "the term with the fewest"],
)
def test_the_labels_that_a_pod_asks_for_are_named(rules, expected):
    assert helps(explained(TAINTS, N1, a_node("n2", labels={"old": "yes"}), pod(**rules))) == [expected]


def test_labels_do_not_help_where_a_number_is_asked_for():
    rules = {"affinity": node_affinity([node_term(("cores", "Gt", "4"))])}
    assert helps(explained(TAINTS, N1, a_node("n2"), pod(**rules))) == []


def test_a_node_with_two_things_against_it_is_no_small_change():
    node = a_node("n2", cpu="500m", taints=["gpu=yes:NoSchedule"])
    assert helps(explained(TAINTS, N1, node, pod())) == []


# Volumes and other pods


def a_bound_claim():
    claim = a_pvc("data", volume="pv")
    claim["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    volume = a_pv("pv", zone="a")
    volume["spec"]["claimRef"] = {"namespace": "default", "name": "data"}
    return [claim, volume]


def test_a_volume_in_another_zone_is_named():
    objects = [N1, a_node("n2", labels={ZONE: "b"}), *a_bound_claim(), pod(volumes=[claim_volume("data")])]
    found = explained(TAINTS, *objects)
    assert helps(found) == ["if volume pvc/data could follow to zone b"]
    details = {name: text for each in found.places.rejected for name, text in each.details.items()}
    assert details == {"n1": "old:NoSchedule", "n2": "its volume data is in zone a, the node in zone b"}


def test_a_claim_without_a_volume_has_nothing_to_follow():
    claim = a_bound_claim()[0]
    objects = [N1, a_node("n2"), claim, pod(volumes=[claim_volume("data")])]
    assert helps(explained(TAINTS, *objects)) == []


def test_the_pod_that_it_repels_is_named():
    apart = pod_anti_affinity([pod_term(selector(labels={"app": "y"}), topology=ZONE)])
    objects = [
        N1,
        a_node("n2", labels={ZONE: "b"}),
        a_node("n3", cpu="200m", labels={ZONE: "b"}),
        filler("n3", "y", labels={"app": "y"}),
        filler("n3", "z"),
        pod(affinity=apart),
    ]
    assert helps(explained(TAINTS, *objects)) == ["without default/y on n3 (pod anti-affinity on n2)"]


def test_the_pod_that_repels_it_is_named():
    apart = pod_anti_affinity([pod_term(selector(labels={"app": "p"}))])
    labels = {"kubernetes.io/hostname": "n2"}
    objects = [N1, a_node("n2", labels=labels), filler(affinity=apart), pod(labels={"app": "p"})]
    assert helps(explained(TAINTS, *objects)) == ["without default/filler on n2 (pod anti-affinity on n2)"]


def test_the_pod_that_holds_its_port_is_named():
    def listening(name, node):
        ports = [{"containerPort": 80, "hostPort": 80}]
        return a_pod(name, node=node, owner=RS, phase="Running", containers=[{"name": "c", "ports": ports}])

    objects = [N1, a_node("n2"), listening("p", "n1"), listening("q", "n2")]
    assert helps(explained(TAINTS, *objects)) == ["without default/q on n2 (host port on n2)"]


def test_whom_it_would_preempt_is_named():
    objects = [N1, a_node("n2", cpu="1"), pod(priority=5), filler(cpu="1", priority=1)]
    assert "without default/filler on n2" in helps(explained(TAINTS, *objects))


def test_pods_on_other_nodes_that_it_would_preempt_are_named():
    """Since 1.37 pods of a group may have to go together."""
    low = [a_pod(f"low-{node}", node=node, cpu="1", priority=1, spec=in_group("low")) for node in ("n2", "n3")]
    group = a_pod_group("low", priority=1, disruptionMode={"all": {}})
    others = [a_node(name, cpu="1") for name in ("n2", "n3")]
    answer = explained(TAINTS, N1, *others, group, *low, pod(priority=5), minor=37)
    assert "without default/low-n2 and default/low-n3 on n2 and other nodes" in helps(answer)


# Policy, budgets, input


def test_the_limit_that_is_reached_is_raised_by_one():
    policy = a_policy("RemovePodsViolatingNodeTaints", {}, maxNoOfPodsToEvictPerNode=1)
    objects = [N1, a_node("n2"), pod(), a_pod("a", node="n1", owner=RS, phase="Running")]
    assert helps(explained(policy, *objects)) == ["with maxNoOfPodsToEvictPerNode of 2"]


def test_a_limit_is_raised_so_far_that_it_is_the_pods_turn():
    policy = a_policy("RemovePodsViolatingNodeTaints", {}, maxNoOfPodsToEvictPerNode=1)
    others = [a_pod(name, node="n1", owner=RS, phase="Running") for name in "abcd"]
    assert helps(explained(policy, N1, a_node("n2", cpu="8"), pod(), *others)) == [
        "with maxNoOfPodsToEvictPerNode of 5"
    ]


def test_a_budget_allows_as_many_more_as_it_takes():
    labels = {"app": "web"}
    budget = a_pdb("web", selector={"matchLabels": labels})
    other = a_pod("a", node="n1", owner=RS, phase="Running", labels=labels)
    found = explained(TAINTS, N1, a_node("n2"), budget, pod(labels=labels), other)
    assert helps(found) == ["if default/web allowed 2 more disruptions"]


def test_of_several_budgets_all_but_one_have_to_go():
    budgets = [
        a_pdb(name, selector={"matchLabels": {"app": "web"}}, disruptions_allowed=allowed)
        for name, allowed in (("a", 0), ("b", 1), ("c", 0))
    ]
    found = explained(TAINTS, N1, a_node("n2"), *budgets, pod(labels={"app": "web"}))
    assert helps(found) == ["without the budgets default/a and default/c"]


def test_no_step_is_told_that_it_does_not_take():
    """The pod is asked first, when the limit is unused; only for the others is it reached."""
    policy = a_policy("RemovePodsViolatingNodeTaints", {}, maxNoOfPodsToEvictPerNode=1)
    objects = [N1, a_node("n2", cpu="800m"), pod(), a_pod("z", node="n1", owner=RS, phase="Running", cpu="0")]
    found = view(explained(policy, *objects))
    assert found.gates[1].passes is False
    assert [told(each) for each in found.changes] == [["with 200m more CPU on n2"]]


def test_what_a_plan_does_not_ask_is_no_help():
    """The scheduler answers for ``prove``, and nodeFit is not asked."""
    policy = a_policy("RemovePodsViolatingNodeTaints", {}, evictor={"nodeFit": True})
    objects = [N1, a_node("n2", cpu="800m"), pod()]
    assert helps(explained(policy, *objects)) == ["with 200m more CPU on n2"]
    assert helps(explained(policy, *objects, placement="upstream")) == ["without nodeFit"]


def test_where_the_strategies_would_undo_it_nothing_helps():
    """With the limit raised the pod would move, and be moved on by the next plan: that plan does not move it."""
    policy = a_policy("PodLifeTime", {"states": ["Running"]}, maxNoOfPodsToEvictTotal=0)
    assert helps(explained(policy, a_node("n1"), a_node("n2"), pod())) == []


def test_the_budget_is_named():
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}}, current_healthy=2, desired_healthy=2)
    objects = [N1, a_node("n2"), budget, pod(labels={"app": "web"})]
    assert helps(explained(TAINTS, *objects)) == ["if default/web allowed 1 more disruption"]


def test_all_that_stands_in_the_way_has_to_change_together():
    budget = a_pdb("web", selector={"matchLabels": {"app": "web"}})
    objects = [
        N1,
        a_node("n2", cpu="500m"),
        budget,
        pod(labels={"app": "web"}, volumes=[{"name": "x", "emptyDir": {}}]),
    ]
    (change,) = view(explained(TAINTS, *objects)).changes
    assert told(change) == [
        "without the protection PodsWithLocalStorage",
        "if default/web allowed 1 more disruption",
        "with 500m more CPU on n2",
    ]


@pytest.mark.parametrize(
    ("fields", "evictor", "expected"),
    [
        ({"annotations": {"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""}},
         {"noEvictionPolicy": "Mandatory"}, ["with noEvictionPolicy: Preferred"]),
        ({}, {"minReplicas": 5}, ["with a minReplicas of 1"]),
        ({}, {"labelSelector": {"matchLabels": {"a": "b"}}}, ["without the evictor's labelSelector"]),
        ({"started": ago(3600)}, {"minPodAge": "49h"}, ["at 2026-01-03T00:00:00Z, when it is older than minPodAge"]),
        ({"priority": 7}, {"priorityThreshold": {"value": 5}}, ["with a priorityThreshold of 8"]),
        ({"priority": 2_000_000_001}, {}, ["without the protection SystemCriticalPods"]),
        ({"owner": ("DaemonSet", "d")}, {}, []),
        ({"owner": None}, {}, []),
    ],
    ids=["annotation", "replicas", "labels", "age", "priority", "critical", "daemon set", "no owner"],
)  # fmt: skip
def test_only_protections_that_one_could_wish_to_lift_are_told(fields, evictor, expected):
    policy = a_policy("RemovePodsViolatingNodeTaints", {}, evictor=evictor)
    owned = {"owner": RS} | fields
    objects = [N1, a_node("n2"), a_pod("p", node="n1", phase="Running", **owned)]
    assert helps(explained(policy, *objects)) == expected


@pytest.mark.parametrize(
    ("owner", "steered"),
    [(("ReplicaSet", "web"), [["with --steering nominate"]]), (RS, [])],
    ids=["steerable", "of a controller without uid"],
)
def test_a_move_that_is_only_possible_asks_for_a_lower_certainty_or_for_steering(owner, steered):
    """All three nodes tie, and only n3 stays below its target with one pod more."""
    args = {"thresholds": {"pods": 20}, "targetThresholds": {"pods": 30}}
    objects = [
        a_node("n1", pods=10),
        a_node("n2", pods=10),
        a_node("n3", pods=20),
        *(a_pod(f"a{i}", node="n1", owner=("DaemonSet", "d"), cpu="0", phase="Running") for i in range(3)),
        *(a_pod(f"b{i}", node="n2", owner=("DaemonSet", "d"), cpu="0", phase="Running") for i in range(3)),
        a_pod("p", node="n1", owner=owner, cpu="0", phase="Running"),
    ]
    found = view(explained(a_policy("LowNodeUtilization", args), *objects))
    assert found.refusal is not None
    assert found.refusal.code == "NotCertain"
    changes = [told(each) for each in found.changes if each.steps[0].kind in ("certainty", "steering")]
    assert changes == [["with certainty: 0.33 in the policy's restow section"], *steered]


def test_kinds_that_the_input_lacks_might_help():
    told_of = [each for each in TOLD if each["kind"] != "PodDisruptionBudget"]
    setting = a_setting(TAINTS, N1, a_node("n2"), pod(), *told_of)
    (change,) = view(explain_pod(setting, setting.cluster.pods.names.index("p"))).changes
    assert (told(change), change.verified) == (["if the input included PodDisruptionBudgets"], False)


def test_an_unknown_scheduler_might_help():
    found = view(explained(TAINTS, N1, a_node("n2"), pod(spec={"schedulerName": "mine"})))
    (change,) = found.changes
    assert (change.steps[0].kind, change.verified) == ("scheduler", False)


def test_without_any_other_node_nothing_helps():
    policy = a_policy("RemovePodsViolatingNodeTaints", {})
    assert (
        helps(explained(policy, N1, a_node("n2", cpu="500m", labels={"x": "y"}, taints=["a:NoExecute"]), pod())) == []
    )
