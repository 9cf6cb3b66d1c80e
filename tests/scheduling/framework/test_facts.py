"""Records of pods and nodes hold what the columns know of them."""

from __future__ import annotations

import msgspec
import pytest

from builders import a_container, a_node, a_pod, claim_volume, node_affinity, node_term, spread
from descheduling.harness import a_cluster
from restow.cluster.node_store import read_node
from restow.cluster.pod_values import HostPort, PodVolume
from restow.kube.objects import Node, Taint, Toleration
from restow.scheduling.framework.requeueing import NodeFacts, node_facts, pod_facts


def of(pod):
    cluster = a_cluster(a_node("n1"), a_node("n2"), pod)
    return pod_facts(cluster.pods, cluster.nodes, 0)


def test_of_a_pod():
    facts = of(
        a_pod(
            "p",
            namespace="ns",
            uid="u",
            labels={"a": "b"},
            priority=7,
            containers=[a_container(requests={"cpu": "250m", "memory": "1Ki"}, host_ports=[80])],
            tolerations=["t=v:NoSchedule"],
            affinity=node_affinity([node_term(("zone", "In", "z"))]),
            spread=[spread()],
            volumes=[claim_volume("c")],
            spec={"schedulerName": "mine", "schedulingGates": [{"name": "g"}]},
            nominated_node="n2",
        )
    )
    assert (facts.uid, facts.namespace, facts.name, facts.scheduler) == ("u", "ns", "p", "mine")
    assert (facts.labels, facts.priority, facts.gates) == ({"a": "b"}, 7, ("g",))
    assert (facts.node, facts.nominated_node) == ("", "n2")
    assert facts.requests == {"cpu": 250, "memory": 1024}
    assert facts.tolerations == (Toleration(key="t", value="v", effect="NoSchedule"),)
    assert facts.rules.selection.matches("n", {"zone": "z"})
    assert [each.topology_key for each in facts.spread] == ["topology.kubernetes.io/zone"]
    assert [(each.protocol, each.port) for each in facts.ports] == [(HostPort("", "TCP", 80).protocol, 80)]
    assert facts.volumes == (PodVolume("c"),)


@pytest.mark.parametrize(
    ("pod", "node", "counts"),
    [
        (a_pod("p"), "", False),
        (a_pod("p", node="n1"), "n1", True),
        (a_pod("p", node="gone"), "?", True),
        (a_pod("p", nominated_node="n1"), "", True),
    ],
)
def test_of_where_a_pod_is(pod, node, counts):
    facts = of(pod)
    assert (facts.node, facts.counts_somewhere) == (node, counts)


def test_what_is_made_of_a_pod_is_made_once():
    made = []
    facts = of(a_pod("p"))
    for _ in range(2):
        facts.kept(made.append)
    assert made == [facts]


def test_of_a_node():
    made = a_node("n", cpu="2", memory="1Ki", pods=3, labels={"a": "b"}, taints=["t:NoSchedule"], unschedulable=True)
    assert node_facts(read_node(msgspec.convert(made, Node))) == NodeFacts(
        name="n",
        labels={"a": "b"},
        taints=(Taint(key="t", effect="NoSchedule"),),
        unschedulable=True,
        allocatable={"cpu": 2000, "memory": 1024, "pods": 3},
        conditions={"Ready": "True"},
    )
