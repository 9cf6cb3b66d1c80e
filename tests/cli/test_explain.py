"""``restow explain``: why a pod stays and what would help; what a plan does to a node."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from builders import NOW, a_list, a_node, a_pod
from descheduling.harness import a_policy
from proving.proven import TOLD
from restow.explaining.explanation import NodeExplanation, PodExplanation
from restow.sources.kubectl import DUMP
from scheduling.numa.numa_nodes import a_topology_object

EXAMPLES = Path(__file__).parents[2] / "examples"
DATABASE = [
    "-f", EXAMPLES / "clusters" / "database.yaml",
    "--policy-config-file", EXAMPLES / "policies" / "database.yaml", "--now", NOW,
]  # fmt: skip


def words(text):
    """The text in one line, whatever its breaks and columns."""
    return " ".join(text.split())


def test_a_database_pod_that_stays(restow):
    """The sketch that the command was made from: each stage, the nodes that do not fit, and what would help."""
    ran = restow("explain", "pod", "shop/db-0", *DATABASE)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("shop/db-0  StatefulSet/db  on node-2 (cpu 92 %, memory 62 %)     stays\n")
    told = words(ran.out)
    for part in (
        "LowNodeUtilization wants to move it: node-2 at cpu 92 %, target 50 %",
        "evictor passes 10 of 10 checks",
        "limit 5 of 5 evictions left on node-2",
        "budget shop/db: 3 healthy, 2 required, 1 disruption left",
        "placement 0 of 5 other nodes fit",
        "node-1 NodeResourcesFit Insufficient memory: needs 8Gi memory, 3.1Gi free",
        "its volume data-db-0 is in zone a, the node in zone b",
        "It would move with 4.9Gi more memory on node-1, or with a toleration of",
        "or if volume pvc/data-db-0 could follow to zone b",
        "RemoveDuplicates does not want to move it",
    ):
        assert part in told
    assert max(map(len, ran.out.splitlines())) <= 80


def test_json_has_every_field(restow):
    ran = restow("explain", "pod", "shop/db-0", *DATABASE, "-o", "json")
    explanation = msgspec.json.decode(ran.out.encode(), type=PodExplanation)
    assert list(json.loads(ran.out))[:3] == ["apiVersion", "kind", "metadata"]
    assert (explanation.kind, explanation.outcome, str(explanation.owner)) == (
        "PodExplanation", "stays", "StatefulSet/db",
    )  # fmt: skip
    assert [each.plugin for each in explanation.strategies if each.wanted] == ["LowNodeUtilization"]


def test_it_says_where_a_kubelet_refuses_the_pod(restow, tmp_path):
    amounts = {"requests": {"cpu": "4", "memory": "1Gi"}, "limits": {"cpu": "4", "memory": "1Gi"}}
    pod = a_pod("p", node="n1", owner=("ReplicaSet", "web"), containers=[{"name": "c", "resources": amounts}])
    nodes = [a_node("n1", cpu="8", taints=["gone:NoSchedule"]), a_node("n2", cpu="8")]
    topology = a_topology_object("n2", {"cpu": (4, 3)}, {"cpu": (4, 3)})
    busy = {"requests": {"cpu": "1", "memory": "1Mi"}, "limits": {"cpu": "1", "memory": "1Mi"}}
    others = [a_pod(name, node="n2", containers=[{"name": "c", "resources": busy}]) for name in ("a", "b")]
    policy = tmp_path / "policy.yaml"
    policy.write_text(json.dumps(a_policy("RemovePodsViolatingNodeTaints", {})))
    dump = msgspec.json.encode(a_list(*nodes, topology, pod, *others, *TOLD))
    asked = ("explain", "pod", "default/p", "-f", "-", "--policy-config-file", policy)
    told = words(restow(*asked, stdin=dump).out)
    assert "placement 1 of 1 other node fits; the kubelet of n2 refuses it" in told
    assert "could win n2" in told
    explanation = msgspec.json.decode(restow(*asked, "-o", "json", stdin=dump).out.encode(), type=PodExplanation)
    assert explanation.places is not None
    assert list(explanation.places.kubelets) == ["n2"]


def test_json_is_the_same_every_time(restow):
    first, second = (restow("explain", "pod", "shop/db-0", *DATABASE, "-o", "json").out for _ in range(2))
    assert first == second


def test_the_node_of_a_pod_that_stays(restow):
    told = words(restow("explain", "node", "node-2", *DATABASE).out)
    assert told.startswith("node-2 zone a 2 candidates refused cpu 92 % of 8 (7360m requested)")
    assert "LowNodeUtilization: overused; cpu 92 % (thresholds 20 % and 50 %)" in told
    assert "1 placement SameNode it would land on node-2 again" in told


def test_json_of_a_node_has_every_field(restow):
    ran = restow("explain", "node", "node-2", *DATABASE, "-o", "json")
    explanation = msgspec.json.decode(ran.out.encode(), type=NodeExplanation)
    assert (explanation.kind, explanation.zone, explanation.pods_before) == ("NodeExplanation", "a", 2)


def test_a_pod_that_moves(restow, cluster, policy):
    arguments = ["-f", cluster, "--policy-config-file", policy, "--now", NOW, "--placement", "upstream"]
    plan = json.loads(restow("plan", *arguments, "-o", "json").out)
    pod = plan["moves"][0]["pod"]["name"]
    ran = restow("explain", "pod", f"default/{pod}", *arguments)
    assert "is evicted" in ran.out
    assert "not predicted: placement upstream" in ran.out


def test_a_pending_pod_is_sent_to_the_scheduler(restow, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(a_list(a_node("n1"), a_node("n2"), a_pod("waits"))))
    ran = restow("explain", "pod", "default/waits", "-f", "c.json", "--now", NOW)
    assert "has no node yet" in ran.out
    assert "restow schedule ... --pod default/waits" in ran.out


def test_a_pod_that_nothing_wants_to_move(restow, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(a_list(a_node("n1"), a_node("n2"), a_pod("p", node="n1"))))
    ran = restow("explain", "pod", "default/p", "-f", "c.json", "--now", NOW)
    assert "stays: no strategy wants to move it" in ran.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["pod", "shop/db-7"], "explain pod: the input holds no pod shop/db-7; did you mean shop/db-2?"),
        (["pod", "db-0"], "explain pod: db-0 is not of the form NAMESPACE/NAME; did you mean shop/db-0?"),
        (["pod", "x/y"], "explain pod: the input holds no pod x/y"),
        (["node", "node-7"], "explain node: the input holds no node node-7; did you mean node-6?"),
        (["node", "xyz"], "explain node: the input holds no node xyz"),
    ],
    ids=["pod", "no namespace", "nothing near", "node", "no node near"],
)
def test_an_unknown_name_is_told_with_what_is_nearly_called_so(restow, arguments, sentence):
    ran = restow("explain", *arguments, *DATABASE)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.strip() == sentence


def test_a_node_can_be_named_without_its_domain(restow, tmp_path):
    (tmp_path / "c.json").write_text(json.dumps(a_list(a_node("n1.example.com"), a_node("n2.example.com"), a_pod("p"))))
    ran = restow("explain", "node", "n2", "-f", "c.json")
    assert "did you mean n2.example.com?" in ran.err


def test_without_a_cluster_it_says_how_to_get_one(restow):
    ran = restow("explain", "pod", "shop/db-0")
    assert ran.status == 2
    assert DUMP in ran.err


def test_kinds_that_the_input_lacks_are_told(restow, cluster, policy):
    dump = json.loads(cluster.read_text())
    dump["items"] = [each for each in dump["items"] if each["kind"] in ("Node", "Pod")]
    cluster.write_text(json.dumps(dump))
    ran = restow("explain", "pod", "default/web-0", "-f", cluster, "--policy-config-file", policy)
    assert "PodDisruptionBudgets" in ran.err


def test_phases_are_timed_with_v(restow):
    assert "explain" in restow("explain", "pod", "shop/db-0", *DATABASE, "-v", "1").err


class TestSteering:
    """``explain`` knows the plan's steering, and what it would change."""

    def test_it_is_among_what_would_help(self, restow, one_to_be_emptied):
        told = words(restow("explain", "pod", "default/p0", *one_to_be_emptied).out)
        assert "it would land on n1 again" in told
        assert "It would move with --steering nominate." in told

    def test_a_steered_pod_says_where_to(self, restow, one_to_be_emptied):
        told = words(restow("explain", "pod", "default/p0", *one_to_be_emptied, "--steering", "nominate").out)
        assert "to n2 steered gain certain" in told

    def test_the_node_that_takes_it_says_so(self, restow, one_to_be_emptied):
        told = words(restow("explain", "node", "n2", *one_to_be_emptied, "--steering", "nominate").out)
        assert "default/p0 from n1 to n2 steered, gain certain HighNodeUtilization" in told


def test_a_drain_says_where_the_pods_of_a_node_go(restow):
    ran = restow("explain", "node", "general-a-1", "--drain", "-f", EXAMPLES / "clusters" / "demo.json", "--now", NOW)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("general-a-1 can be emptied: 24 pods evicted within 5 s\n")
    assert "(a pod of a DaemonSet)" in words(ran.out)
    assert max(map(len, ran.out.splitlines())) <= 80


def test_a_drain_is_a_document_too(restow):
    ran = restow(
        "explain",
        "node",
        "n-1",
        "--drain",
        "-f",
        "-",
        "--now",
        NOW,
        "-o",
        "json",
        stdin=json.dumps(a_node("n-1")).encode(),
    )
    assert json.loads(ran.out) | {"seconds": 0} == {
        "apiVersion": "restow.dev/v1alpha1", "kind": "NodeDrain", "node": "n-1", "seconds": 0, "pods": [],
        "staying": [], "workloads": [],
    }  # fmt: skip


def test_a_drain_asks_no_policy(restow):
    ran = restow("explain", "node", "node-2", "--drain", *DATABASE)
    assert (ran.status, ran.err.count("\n")) == (2, 1)
    assert "leave --policy-config-file, --placement and --steering out" in ran.err
