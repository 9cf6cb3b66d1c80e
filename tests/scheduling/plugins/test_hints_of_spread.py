"""Which changes help a pod that PodTopologySpread rejected, after the tables of upstream's own tests of its hints."""

from __future__ import annotations

from functools import partial

import pytest

from builders import a_node, a_pod, selector, spread
from restow.kube.objects import TopologySpreadConstraint
from restow.scheduling.plugins.pod_topology_spread import PLUGIN, PodTopologySpreadArgs
from scheduling.plugins.hinting import helped, nominated

FOO, BAR = selector(("foo", "Exists")), selector(("bar", "Exists"))
IS_FOO = {"foo": ""}
CORDON = "node.kubernetes.io/unschedulable"

node = partial(a_node, "node-a")
pod = partial(a_pod, "p", labels=IS_FOO)
other = partial(a_pod, "p2", node="fake-node")
zone = partial(spread, 1, "zone")
host = partial(spread, 1, "node")

ONE = pod(spread=[zone(FOO)])
TWO = pod(spread=[zone(FOO), host(FOO)])
FOO_AND_BAR = pod(spread=[zone(FOO), host(BAR)])


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(ONE, {"zone": "zone1"}, {"zone": "zone2"}, True, id="topology-label-changes"),
        pytest.param(ONE, {"foo": "bar1"}, {"foo": "bar2"}, False, id="other-label-of-a-node-without-the-key"),
        pytest.param(
            TWO,
            {"zone": "zone1", "node": "node1", "foo": "bar"},
            {"zone": "zone1", "node": "node1"},
            False,
            id="other-label-of-a-node-with-the-keys",
        ),
        pytest.param(ONE, None, {"foo": "bar"}, False, id="create-without-the-key"),
        pytest.param(ONE, None, {"zone": "zone1"}, True, id="create-with-the-key"),
        pytest.param(ONE, {"foo": "bar"}, None, False, id="delete-without-the-key"),
        pytest.param(ONE, {"zone": "zone1"}, None, True, id="delete-with-the-key"),
        pytest.param(TWO, None, {"zone": "zone1"}, False, id="create-with-one-of-two-keys"),
        pytest.param(TWO, None, {"zone": "zone1", "node": "node1"}, True, id="create-with-both-keys"),
        pytest.param(TWO, {"zone": "zone1"}, {"zone": "zone1"}, False, id="update-with-one-of-two-keys"),
        pytest.param(
            TWO,
            {"zone": "zone1", "node": "node1"},
            {"zone": "zone1", "node": "node2"},
            True,
            id="update-with-both-keys",
        ),
        pytest.param(TWO, {"zone": "zone1"}, {"zone": "zone1", "node": "node1"}, True, id="gets-all-keys"),
        pytest.param(TWO, {"zone": "zone1", "node": "node1"}, {"zone": "zone1"}, True, id="loses-a-key"),
    ],
)
def test_nodes_with_other_labels(waiting, old, new, expected):
    changed = (None if labels is None else node(labels=labels) for labels in (old, new))
    assert helped(PLUGIN, waiting, *changed) is expected


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({"zone": "zone1", "node": "node1"}, True, id="all-keys"),
        pytest.param({"node": "node1"}, False, id="one-of-two-keys"),
    ],
)
def test_nodes_with_other_taints(labels, expected):
    old, new = (node(labels=labels, taints=[f"{key}=bbb:NoSchedule"]) for key in ("aaa", "ccc"))
    assert helped(PLUGIN, TWO, old, new) is expected


HONORS = pod(spread=[zone(FOO, node_taints_policy="Honor"), host(BAR)])
IGNORES = pod(spread=[zone(FOO, node_taints_policy="Ignore"), host(BAR)])


@pytest.mark.parametrize(
    ("waiting", "old", "new", "expected"),
    [
        pytest.param(ONE, None, other(labels=IS_FOO), True, id="add-match"),
        pytest.param(ONE, None, a_pod("p2", labels=IS_FOO), False, id="add-unscheduled"),
        pytest.param(ONE, a_pod("p2", labels={"bar": ""}), a_pod("p2", labels=IS_FOO), False, id="update-unscheduled"),
        pytest.param(ONE, a_pod("p2", labels=IS_FOO), None, False, id="delete-unscheduled"),
        pytest.param(ONE, None, other(labels=IS_FOO, namespace="fake-namespace"), False, id="add-elsewhere"),
        pytest.param(ONE, None, other(labels={"bar": ""}), False, id="add-no-match"),
        pytest.param(ONE, other(labels=IS_FOO), None, True, id="delete-match"),
        pytest.param(ONE, nominated(a_pod("p2", labels={"bar": ""})), None, False, id="delete-nominated-no-match"),
        pytest.param(ONE, nominated(a_pod("p2", labels=IS_FOO)), None, True, id="delete-nominated-match"),
        pytest.param(ONE, other(labels={"bar": ""}), None, False, id="delete-no-match"),
        pytest.param(
            ONE, other(labels=IS_FOO | {"bar": "1"}), other(labels=IS_FOO | {"bar": "2"}), False, id="unrelated-label"
        ),
        pytest.param(ONE, other(), other(labels=IS_FOO), True, id="label-added-that-matches"),
        pytest.param(ONE, other(labels=IS_FOO), other(), True, id="label-removed-that-matched"),
        pytest.param(ONE, other(labels={"foo": "1"}), other(labels={"foo": "2"}), False, id="label-matches-still"),
        pytest.param(
            FOO_AND_BAR, other(labels=IS_FOO), other(labels=IS_FOO | {"bar": "2"}), True, id="matches-the-second"
        ),
        pytest.param(
            FOO_AND_BAR, other(labels=IS_FOO), other(labels=IS_FOO | {"baz": ""}), False, id="matches-neither-anew"
        ),
        pytest.param(
            FOO_AND_BAR,
            other(labels=IS_FOO | {"bar": ""}),
            other(labels=IS_FOO | {"bar": "2"}),
            False,
            id="matches-both-still",
        ),
        pytest.param(HONORS, pod(), pod(tolerations=[CORDON]), True, id="own-toleration-that-counts"),
        pytest.param(IGNORES, pod(), pod(tolerations=[CORDON]), False, id="own-toleration-that-does-not"),
        pytest.param(IGNORES, a_pod("p"), pod(), True, id="own-label-that-matches"),
        pytest.param(IGNORES, a_pod("p"), a_pod("p", labels={"unrelated": ""}), False, id="own-label-that-does-not"),
    ],
)
def test_pods(waiting, old, new, expected):
    assert helped(PLUGIN, waiting, old, new) is expected


DEFAULTS = PodTopologySpreadArgs(
    defaulting_type="List",
    default_constraints=(
        TopologySpreadConstraint(max_skew=1, topology_key="zone", when_unsatisfiable="DoNotSchedule"),
    ),
)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, other(), True, id="any-pod-of-the-namespace"),
        pytest.param(None, other(namespace="elsewhere"), False, id="none-elsewhere"),
        pytest.param(None, node(labels={"zone": "a"}), True, id="node-with-the-key"),
        pytest.param(None, node(), False, id="node-without-the-key"),
    ],
)
def test_which_pods_default_constraints_count_is_not_known(old, new, expected):
    assert helped(PLUGIN, pod(), old, new, DEFAULTS) is expected
