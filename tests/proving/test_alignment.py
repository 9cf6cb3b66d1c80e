"""Nodes that are known to enforce NUMA alignment: a pod with CPUs of its own lands there possibly at most."""

from __future__ import annotations

from typing import Any

import pytest

from builders import Object, a_node, a_pod
from descheduling.harness import a_policy
from proving.proven import TOLD, codes, landings, moved, prove, proven, reasons
from restow.descheduling.cycle import Cycle
from restow.policies.codes import Certainty, Placement
from restow.proving.planning import make_plan

TAINTS = "RemovePodsViolatingNodeTaints"
WHOLE: Object = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
SAYS = (
    "n2 aligns whole CPUs with NUMA nodes, which restow does not model: the kubelet may refuse the pod; "
    "certainty in the policy's restow section asks for 0.80"
)


def topology(node: str, policy: str | None = "single-numa-node", old: list[str] | None = None) -> Object:
    """The NodeResourceTopology of a node."""
    attributes = [{"name": "topologyManagerScope", "value": "container"}]
    if policy is not None:
        attributes.append({"name": "topologyManagerPolicy", "value": policy})
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": node},
        "topologyPolicies": old,
        "attributes": attributes,
        "zones": [],
    }


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
        pytest.param(topology("n2", "restricted"), id="restricted"),
        pytest.param(topology("n2", None, ["SingleNUMANodePodLevel"]), id="old-single"),
        pytest.param(topology("n2", None, ["RestrictedContainerLevel"]), id="old-restricted"),
    ],
)
def test_such_a_landing_is_not_certain_and_says_why(told: Object) -> None:
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
        pytest.param(topology("n2", "best-effort"), WHOLE, id="best-effort"),
        pytest.param(topology("n2", "none", ["SingleNUMANode"]), WHOLE, id="attributes-win"),
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
