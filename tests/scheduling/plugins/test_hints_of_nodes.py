"""Which changes help pods that plugins rejected because of nodes, after the tables of upstream's own tests of hints."""

from __future__ import annotations

from functools import partial

import pytest

from builders import a_node, a_pod, a_toleration, node_affinity, node_term
from restow.kube.objects import LabelSelectorRequirement as Requirement
from restow.kube.objects import NodeAffinity, NodeSelector, NodeSelectorTerm
from restow.scheduling.configuration.registry import IN_TREE
from restow.scheduling.plugins import node_affinity as affinity
from restow.scheduling.plugins import node_ports, node_unschedulable, taint_toleration
from scheduling.plugins.hinting import helped, nominated

CORDON = "node.kubernetes.io/unschedulable"
NOT_READY = "node.kubernetes.io/not-ready:NoExecute"

node = partial(a_node, "n")
pod = partial(a_pod, "p")
other = partial(a_pod, "other")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, node(unschedulable=True), False, id="skip-unschedulable-node-added"),
        pytest.param(None, node(), True, id="queue-on-schedulable-node-added"),
        pytest.param(
            node(unschedulable=True), node(unschedulable=True, taints=[NOT_READY]), False, id="skip-unrelated-cordoned"
        ),
        pytest.param(node(), node(taints=[NOT_READY]), False, id="skip-unrelated-open"),
        pytest.param(node(unschedulable=True), node(), True, id="queue-on-unschedulable-field-change"),
        pytest.param(node(), node(unschedulable=True), False, id="cordoned"),
        pytest.param(node(), None, False, id="deleted"),
        pytest.param(other(), other(tolerations=[CORDON]), False, id="skip-different-pod-update"),
        pytest.param(pod(), pod(tolerations=[CORDON]), True, id="queue-when-it-gets-the-toleration"),
        pytest.param(pod(), pod(tolerations=["unrelated"]), False, id="skip-when-it-gets-another-toleration"),
    ],
)
def test_node_unschedulable(old, new, expected):
    assert helped(node_unschedulable.PLUGIN, pod(), old, new) is expected


TOLERANT = pod(tolerations=["dedicated=user2:NoSchedule"])
USER_1, USER_2 = (node(taints=[f"dedicated=user{each}:NoSchedule"]) for each in (1, 2))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, USER_1, False, id="skip-on-untolerated-taint-node-added"),
        pytest.param(None, USER_2, True, id="queue-on-tolerated-taint-node-added"),
        pytest.param(
            USER_1,
            node(taints=["dedicated=user1:NoSchedule", "dedicated=user3:NoSchedule"]),
            False,
            id="skip-unrelated-change",
        ),
        pytest.param(USER_1, USER_2, True, id="queue-on-taint-change"),
        pytest.param(USER_2, node(), False, id="tolerated-before"),
        pytest.param(USER_1, node(taints=["a=b:PreferNoSchedule"]), True, id="soft-taints-do-not-matter"),
        pytest.param(USER_1, node(taints=["dedicated=user1:NoSchedule"], labels={"a": "b"}), False, id="label"),
        pytest.param(
            TOLERANT, pod(tolerations=["dedicated=user2:NoSchedule", "a"]), True, id="own-toleration-whichever"
        ),
        pytest.param(other(), other(tolerations=["a"]), False, id="toleration-of-another-pod"),
    ],
)
def test_taint_toleration(old, new, expected):
    assert helped(taint_toleration.PLUGIN, TOLERANT, old, new) is expected


def test_taint_toleration_goes_by_operators_that_the_scheduler_knows():
    waiting = pod(tolerations=[a_toleration({"key": "sla", "operator": "Gt", "value": "1", "effect": "NoSchedule"})])
    assert not helped(taint_toleration.PLUGIN, waiting, None, node(taints=["sla=2:NoSchedule"]))


FOO = pod(affinity=node_affinity([node_term(("foo", "In", "bar"))]))
BAR = node(labels={"foo": "bar"})
ENFORCED = affinity.NodeAffinityArgs(
    added_affinity=NodeAffinity(
        required=NodeSelector((NodeSelectorTerm(match_expressions=(Requirement("foo", "In", ("bar",)),)),))
    )
)


@pytest.mark.parametrize(
    ("waiting", "old", "new", "args", "expected"),
    [
        pytest.param(FOO, None, node(), None, False, id="skip-queue-on-add"),
        pytest.param(FOO, None, BAR, None, True, id="queue-on-add"),
        pytest.param(FOO, node(), node(cpu="8"), None, False, id="skip-unrelated-changes"),
        pytest.param(FOO, node(), node(labels={"k": "v"}), None, False, id="skip-unrelated-changes-on-labels"),
        pytest.param(FOO, BAR, node(labels={"k": "v"}), None, False, id="skip-from-suitable-to-unsuitable"),
        pytest.param(FOO, node(), BAR, None, True, id="queue-on-labels-change"),
        pytest.param(FOO, BAR, node(labels={"foo": "bar", "k": "v"}), None, False, id="skip-that-keeps-it-suitable"),
        pytest.param(FOO, None, node(), ENFORCED, False, id="skip-queue-on-add-scheduler-enforced"),
        pytest.param(FOO, None, BAR, ENFORCED, True, id="queue-on-add-scheduler-enforced"),
        pytest.param(pod(), None, node(), ENFORCED, False, id="enforced-for-any-pod"),
        pytest.param(pod(node_selector={"foo": "bar"}), node(), BAR, None, True, id="node-selector"),
        pytest.param(
            pod(affinity=node_affinity([node_term(("foo", "Wrong", "bar"))])), None, node(), None, True, id="unreadable"
        ),
        pytest.param(FOO, other(node="fake-node"), None, None, False, id="U11-pod-deleted"),
    ],
)
def test_node_affinity(waiting, old, new, args, expected):
    assert helped(affinity.PLUGIN, waiting, old, new, args) is expected


def with_port(number, *, name="other", ip="", **more):
    port = {"hostPort": number, "containerPort": number, "protocol": "TCP"} | ({"hostIP": ip} if ip else {})
    return a_pod(name, containers=[{"name": "c", "ports": [port]}], **more)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(other(), None, False, id="skip-queue-on-unscheduled"),
        pytest.param(other(node="fake-node"), None, False, id="skip-queue-on-non-hostport"),
        pytest.param(with_port(8081, node="fake-node"), None, False, id="skip-queue-on-unrelated-hostport"),
        pytest.param(with_port(8080, node="fake-node"), None, True, id="queue-on-released-hostport"),
        pytest.param(with_port(8080, node="fake-node", ip="127.0.0.1"), None, True, id="any-address-meets-all"),
        pytest.param(nominated(with_port(8080)), None, True, id="nominated"),
        pytest.param(with_port(8080), None, False, id="neither-on-a-node-nor-nominated"),
        pytest.param(None, with_port(8080, node="fake-node"), False, id="added"),
        pytest.param(None, node(), True, id="node-added"),
        pytest.param(node(), node(labels={"a": "b"}), False, id="node-label"),
    ],
)
def test_node_ports(old, new, expected):
    assert helped(node_ports.PLUGIN, with_port(8080, name="p"), old, new) is expected


@pytest.mark.parametrize(("old", "new", "expected"), [(None, node(), True), (node(), node(labels={"a": "b"}), False)])
def test_node_name(old, new, expected):
    assert helped(IN_TREE["NodeName"], pod(), old, new) is expected


@pytest.mark.parametrize("plugin", [affinity.PLUGIN, node_ports.PLUGIN, IN_TREE["NodeName"]])
def test_who_waits_for_new_nodes_hears_of_any_change_of_taints(plugin):
    """Upstream adds this to all that do not ask for taints themselves, and asks no hint."""
    assert helped(plugin, FOO, node(taints=[NOT_READY]), node(taints=["other:NoSchedule"]))
