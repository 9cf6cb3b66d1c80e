"""Nodes whose kubelets align pods with NUMA nodes: a pod goes where it is taken, and nowhere else without a word."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Object, a_node, a_pod
from descheduling.harness import a_policy
from proving.proven import TOLD, codes, landings, moved, prove, proven, reasons
from restow.descheduling.cycle import Cycle
from restow.policies.codes import Certainty, Placement
from restow.proving.planning import make_plan
from scheduling.numa.numa_nodes import a_topology_object

TAINTS = "RemovePodsViolatingNodeTaints"
WHOLE: Object = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
SAYS = (
    "the kubelet of n2 may refuse it: its NodeResourceTopology does not say what its NUMA nodes have; "
    "certainty in the policy's restow section asks for 0.80"
)


def topology(node: str, *free: int, of: int = 4, policy: str | None = "single-numa-node", **fields: Any) -> Object:
    """NUMA nodes of four CPUs each, of which some are free; without any, nothing is said of them."""
    return a_topology_object(node, *({"cpu": (of, each)} for each in free), policy=policy, **fields)


def leaving(*objects: Object, resources: Object = WHOLE, nodes: int = 1, **policy: Any) -> Cycle:
    """A pod must leave n1; the other nodes are empty."""
    pod = a_pod("p", node="n1", owner=("ReplicaSet", "web"), containers=[{"name": "c", "resources": resources}])
    places = [
        a_node("n1", cpu="8", taints=["gone:NoSchedule"]),
        *(a_node(f"n{at + 2}", cpu="8") for at in range(nodes)),
    ]
    return proven(TAINTS, {}, *places, pod, *objects, **policy)


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(topology("n2"), id="single-numa-node"),
        pytest.param(topology("n2", policy="restricted"), id="restricted"),
        pytest.param(topology("n2", policy=None, topologyPolicies=["SingleNUMANodePodLevel"]), id="old-single"),
        pytest.param(topology("n2", policy=None, topologyPolicies=["RestrictedContainerLevel"]), id="old-restricted"),
    ],
)
def test_a_landing_where_nothing_is_known_is_not_certain_and_says_why(told: Object) -> None:
    cycle = leaving(told)
    assert (moved(cycle), codes(cycle)) == ([], {"p": "NotCertain"})
    assert reasons(cycle)["p"][2] == SAYS


def test_it_is_possible_where_that_is_enough() -> None:
    cycle = leaving(topology("n2"), restow={"certainty": "possible"})
    (eviction,) = cycle.record.evictions
    assert (eviction.landing.certainty, eviction.landing.probability) == (Certainty.POSSIBLE, None)
    (move,) = make_plan(cycle, 0, Placement.PROVE).moves
    assert (move.certainty, move.caveat) == ("possible", SAYS.partition(";")[0])


@pytest.mark.parametrize(
    ("told", "resources"),
    [
        pytest.param(topology("n2", policy="best-effort"), WHOLE, id="best-effort"),
        pytest.param(topology("n2", policy="none", topologyPolicies=["SingleNUMANode"]), WHOLE, id="attributes-win"),
        pytest.param(topology("n2", 4, 4), WHOLE, id="a-numa-node-has-enough"),
        pytest.param(topology("n1"), WHOLE, id="another-node"),
        pytest.param(topology("gone"), WHOLE, id="no-node"),
        pytest.param(topology("n2"), {"requests": {"cpu": "2", "memory": "1Gi"}}, id="burstable"),
        pytest.param(
            topology("n2"),
            {"requests": {"cpu": "1500m", "memory": "1Gi"}, "limits": {"cpu": "1500m", "memory": "1Gi"}},
            id="parts-of-cpus",
        ),
    ],
)
def test_any_other_landing_is_as_certain_as_before(told: Object, resources: Object) -> None:
    cycle = leaving(told, resources=resources)
    (eviction,) = cycle.record.evictions
    assert (eviction.landing.certainty, eviction.landing.caveat) == (Certainty.CERTAIN, "")


@pytest.mark.parametrize("free", ["n2", "n3"])
def test_a_steered_pod_goes_where_nothing_is_enforced(free: str) -> None:
    """Without steering the scheduler may choose either node."""
    enforcing = topology("n3" if free == "n2" else "n2")
    assert codes(leaving(enforcing, nodes=2)) == {"p": "NotCertain"}
    objects = [a_node("n1", cpu="8", taints=["gone:NoSchedule"]), a_node("n2", cpu="8"), a_node("n3", cpu="8")]
    pod = a_pod("p", node="n1", owner=("ReplicaSet", "web"), containers=[{"name": "c", "resources": WHOLE}])
    policy = a_policy(TAINTS, {})
    assert landings(prove([*objects, pod, enforcing, *TOLD], policy, steering="nominate")) == {"p": free}
    everywhere = prove([*objects, pod, topology("n2"), topology("n3"), *TOLD], policy, steering="nominate")
    assert codes(everywhere) == {"p": "NotCertain"}


def test_a_pod_that_every_kubelet_would_refuse_does_not_move() -> None:
    """Not even where possible moves are made."""
    cycle = leaving(topology("n2", 1, 1), *busy("n2", 3, 3), restow={"certainty": "possible"})
    assert codes(cycle) == {"p": "NotAligned"}
    assert reasons(cycle)["p"][2] == (
        "the kubelet of n2 refuses it: it wants 2 CPUs of one NUMA node, and none has more than 1 CPU free"
    )


def test_a_pod_is_steered_to_the_node_whose_numa_node_has_enough() -> None:
    """Both nodes have two CPUs free. Left alone, the scheduler may choose either."""
    told = [topology("n2", 1, 1), topology("n3", 2, 0), *busy("n2", 3, 3), *busy("n3", 2, 4)]
    assert codes(leaving(*told, nodes=2)) == {"p": "NotCertain"}
    pod = a_pod("p", node="n1", owner=("ReplicaSet", "web"), containers=[{"name": "c", "resources": WHOLE}])
    places = [a_node("n1", cpu="8", taints=["gone:NoSchedule"]), a_node("n2", cpu="8"), a_node("n3", cpu="8")]
    steered = prove([*places, pod, *told, *TOLD], a_policy(TAINTS, {}), steering="nominate")
    assert landings(steered) == {"p": "n3"}


def test_figures_that_do_not_agree_with_the_pods_are_not_believed() -> None:
    """Two CPUs are said to be taken, and no pod has them."""
    cycle = leaving(topology("n2", 2, 4))
    assert reasons(cycle)["p"][2].startswith(
        "the kubelet of n2 may refuse it: its NodeResourceTopology and the pods on it do not agree about cpu"
    )


def busy(node: str, *cpus: int) -> list[Object]:
    """Pods that stay on a node, each with so many CPUs of its own."""
    amounts = [{"cpu": str(each), "memory": "1Mi"} for each in cpus]
    return [
        a_pod(
            f"{node}-busy-{at}",
            node=node,
            owner=("StatefulSet", "busy"),
            containers=[{"name": "c", "resources": {"requests": each, "limits": each}}],
        )
        for at, each in enumerate(amounts)
    ]


@pytest.mark.parametrize(("free", "coming"), [((4, 4), 2), ((2, 2), 1), ((3, 1), 1)])
def test_pods_of_one_plan_do_not_count_on_the_same_cpus(free: tuple[int, int], coming: int) -> None:
    """Who came first may be on either NUMA node, so each has to have room for both."""
    there = busy("n2", *(4 - each for each in free if each < 4))
    pods = [
        a_pod(
            f"p{at}",
            node="n1",
            owner=("ReplicaSet", "web"),
            containers=[{"name": "c", "resources": WHOLE}],
        )
        for at in range(2)
    ]
    places = [a_node("n1", cpu="16", taints=["gone:NoSchedule"]), a_node("n2", cpu="16")]
    cycle = proven(TAINTS, {}, *places, *pods, *there, topology("n2", *free))
    assert len([each for each in moved(cycle) if each.startswith("p")]) == coming
