"""From wire objects to columns: the order of the input leaves no trace, the last of two objects wins."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import (
    EMPTY_DIR,
    HOST_PATH,
    a_container,
    a_namespace,
    a_node,
    a_pdb,
    a_pod,
    a_priority_class,
    claim_volume,
)
from cluster.drawn import nodes, pods
from descheduling.harness import a_cluster
from restow.cluster.nodes import CPU, MEMORY, NO_LABEL
from restow.cluster.pod_values import NO_TIME, Flag, Phase
from restow.cluster.pods import PENDING, UNKNOWN_NODE
from restow.errors import InputError
from restow.kube.timestamps import parse_time

OTHERS = [a_namespace("default"), a_namespace("other"), a_pdb("pdb", selector={}), a_priority_class("low", 1)]
NODE = a_node("n1")


def picture(columns):
    """Every column by value."""
    values = {field.name: getattr(columns, field.name) for field in fields(columns) if not field.name.startswith("_")}
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}


def whole(cluster):
    return picture(cluster.nodes), picture(cluster.pods), cluster.others, [list(each) for each in cluster.others]


def one(pod, *others):
    """The pod columns of a cluster with this pod alone."""
    return a_cluster(NODE, pod, *others).pods


@given(st.tuples(nodes(), pods()), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_any_order_of_the_input_gives_the_same_cluster(objects, random):
    every = [*objects[0], *objects[1], *OTHERS]
    assert whole(a_cluster(*every)) == whole(a_cluster(*random.sample(every, len(every))))


@given(nodes(), nodes(), pods(), pods())
@settings(max_examples=25, deadline=None)
def test_the_last_of_two_objects_wins(old_nodes, new_nodes, old_pods, new_pods):
    """A pod is the same by namespace and name, a node by its name."""
    keys = {(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in new_pods}
    kept = [pod for pod in old_pods if (pod["metadata"]["namespace"], pod["metadata"]["name"]) not in keys]
    assert whole(a_cluster(*old_nodes, *old_pods, *new_nodes, *new_pods)) == whole(
        a_cluster(*new_nodes, *kept, *new_pods)
    )


def test_pods_are_in_order_of_namespace_and_name_and_nodes_in_order_of_name():
    found = a_cluster(
        a_node("n10"), a_node("n2"), a_pod("z", namespace="a"), a_pod("a", namespace="b"), a_pod("b", namespace="a")
    )
    assert found.nodes.names == ("n10", "n2")
    assert [found.pods.full_name(pod) for pod in range(3)] == ["a/b", "a/z", "b/a"]


@pytest.mark.parametrize(
    ("pod", "flags"),
    [
        pytest.param(a_pod("p"), Flag(0), id="none"),
        pytest.param(a_pod("p", volumes=[HOST_PATH]), Flag.LOCAL_STORAGE, id="hostPath"),
        pytest.param(a_pod("p", volumes=[EMPTY_DIR]), Flag.LOCAL_STORAGE, id="emptyDir"),
        pytest.param(a_pod("p", volumes=[{"name": "v", "configMap": {}}]), Flag(0), id="configMap"),
        pytest.param(a_pod("p", volumes=[claim_volume("c")]), Flag.CLAIMS, id="claim"),
        pytest.param(a_pod("p", deleted="2026-01-01T00:00:00Z"), Flag.TERMINATING, id="terminating"),
        pytest.param(a_pod("p", spec={"resourceClaims": [{"name": "gpu"}]}), Flag.RESOURCE_CLAIMS, id="resourceClaims"),
        pytest.param(a_pod("p", spec={"resourceClaims": []}), Flag(0), id="no-resourceClaims"),
        pytest.param(a_pod("p", spec={"resourceClaims": None}), Flag(0), id="null-resourceClaims"),
        pytest.param(a_pod("p", annotations={"kubernetes.io/config.mirror": ""}), Flag.MIRROR, id="mirror"),
        pytest.param(a_pod("p", annotations={"kubernetes.io/config.source": "file"}), Flag.STATIC, id="static"),
        pytest.param(a_pod("p", annotations={"kubernetes.io/config.source": "api"}), Flag(0), id="from-api"),
        pytest.param(a_pod("p", annotations={"unknown": "x"}), Flag(0), id="other-annotation"),
    ],
)
def test_flags(pod, flags):
    assert Flag(int(one(pod).flags[0])) == flags


@pytest.mark.parametrize(
    ("phase", "expected", "over"),
    [
        pytest.param(None, Phase.UNKNOWN, False, id="absent"),
        pytest.param("Unknown", Phase.UNKNOWN, False, id="Unknown"),
        pytest.param("Pending", Phase.PENDING, False, id="Pending"),
        pytest.param("Running", Phase.RUNNING, False, id="Running"),
        pytest.param("Succeeded", Phase.SUCCEEDED, True, id="Succeeded"),
        pytest.param("Failed", Phase.FAILED, True, id="Failed"),
    ],
)
def test_phases(phase, expected, over):
    pods = one(a_pod("p", phase=phase))
    assert pods.phase[0] == expected
    assert pods.terminal[0] == over


@pytest.mark.parametrize(
    ("node", "expected"), [(None, PENDING), ("", PENDING), ("n1", 0), ("n2", UNKNOWN_NODE)], ids=str
)
def test_where_a_pod_is(node, expected):
    pods = one(a_pod("p", node=node))
    assert pods.node[0] == expected
    assert pods.on_unknown_nodes() == (expected == UNKNOWN_NODE)


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(["2026-01-01T10:00:00Z", "1999-12-31T23:59:59Z"], id="plain"),
        pytest.param(["2026-01-01T10:00:00Z", "2026-01-01T10:00:00.25Z"], id="fraction"),
        pytest.param(["2026-01-01T10:00:00+01:00", "2026-01-01T10:00:00Z"], id="offset"),
        pytest.param(["2026-01-01T10:00:00Z", None], id="absent"),
        pytest.param([None, None], id="all-absent"),
    ],
)
def test_times_are_nanoseconds_since_the_epoch(texts):
    pods = a_cluster(NODE, *(a_pod(f"p{i}", created=text, started=text) for i, text in enumerate(texts))).pods
    expected = [NO_TIME if text is None else parse_time(text) for text in texts]
    assert pods.created.tolist() == expected
    assert pods.started.tolist() == expected


@pytest.mark.parametrize(
    "text",
    ["2026-01-01 10:00:00Z", "2026-01-01T10:00+01Z", "2026-13-01T10:00:00Z", "2026-02-30T00:00:00Z", "", "now",
     "2026-01-01T10:00:0\u0660Z", "2026-01-01T10:00:60Z"],
)  # fmt: skip
@pytest.mark.parametrize(
    ("field", "path"), [("created", "metadata.creationTimestamp"), ("started", "status.startTime")]
)
def test_what_is_no_time_is_an_error_with_pod_and_field(text, field, path):
    with pytest.raises(InputError, match=f"^Pod default/p: {path}: "):
        one(a_pod("p", **{field: text}))


@pytest.mark.parametrize(
    ("text", "nearest"), [("9999-01-01T00:00:00Z", 2**63 - 1), ("0001-01-01T00:00:00Z", NO_TIME + 1)]
)
def test_a_time_beyond_int64_is_the_nearest_that_it_holds(text, nearest):
    pods = one(a_pod("p", created=text, started=text))
    assert pods.created.tolist() == pods.started.tolist() == [nearest]


@pytest.mark.parametrize(
    ("pod", "requests"),
    [
        pytest.param(a_pod("p", cpu="1500u", memory="1.5"), {"cpu": 2, "memory": 2}, id="rounded-up"),
        pytest.param(a_pod("p", cpu=None, memory=None), {}, id="none"),
        pytest.param(a_pod("p", cpu="0", memory="1e3"), {"cpu": 0, "memory": 1000}, id="zero-and-exponent"),
        pytest.param(
            a_pod("p", cpu="1", init_containers=[a_container(requests={"cpu": "3"})], spec={"overhead": {"cpu": "1m"}}),
            {"cpu": 3001, "memory": 0},
            id="init-and-overhead",
        ),
        pytest.param(
            a_pod("p", spec={"resources": {"requests": {"cpu": 2}}}), {"cpu": 2000, "memory": 0}, id="pod-level"
        ),
        pytest.param(a_pod("p", spec={"overhead": None, "resources": None}), {"cpu": 100, "memory": 0}, id="null"),
    ],
)
def test_requests(pod, requests):
    pods = one(pod)
    assert pods.tables.resources[pods.resources[0]].requests == requests


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        pytest.param(
            a_pod("p", cpu="-1"),
            "the requests of all containers together: cpu is -1, but an amount cannot be negative",
            id="minus",
        ),
        pytest.param(
            a_pod("p", cpu="lots"), r'spec.containers\[0\].resources.requests: cpu: "lots" is not a quantity', id="text"
        ),
        pytest.param(
            a_pod("p", requests={"x": True}),
            r"spec.containers\[0\].resources.requests\[...\]: Expected .*bool",
            id="bool",
        ),
        pytest.param(
            a_pod("p", init_containers=[{"resources": 5}]),
            r"spec.initContainers\[0\].resources: Expected .*int",
            id="no-object",
        ),
        pytest.param(
            a_pod("p", spec={"overhead": {"cpu": "x"}}), "spec.overhead: cpu: .* not a quantity", id="overhead"
        ),
        pytest.param(a_pod("p", spec={"tolerations": {}}), "spec.tolerations: Expected `array`", id="tolerations"),
        pytest.param(a_pod("p", spec={"affinity": []}), "spec.affinity: Expected `object`", id="affinity"),
        pytest.param(
            a_pod("p", node_selector={"a": 1}), r"spec.nodeSelector\[...\]: Expected `str`", id="nodeSelector"
        ),
        pytest.param(a_pod("p", labels={"a": 1}), r"metadata.labels\[...\]: Expected `str`", id="labels"),
        pytest.param(
            a_pod("p", spread=[{"maxSkew": "1"}]),
            r"spec.topologySpreadConstraints\[0\].maxSkew: Expected `int`",
            id="spread",
        ),
        pytest.param(
            a_pod("p", spread=[{"maxSkew": 2**31}]),
            r"spec.topologySpreadConstraints\[0\].maxSkew: .*2147483647",
            id="int32",
        ),
    ],
)
def test_a_part_that_cannot_be_read_is_an_error_with_pod_and_path(pod, message):
    with pytest.raises(InputError, match=f"^Pod default/p: {message}"):
        one(pod)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"qos": "Guaranteed"}, 2, id="stated"),
        pytest.param({"qos": "Odd"}, 1, id="stated-wrongly"),
        pytest.param({}, 1, id="implied-by-requests"),
    ],
)
def test_the_stated_qos_class_counts_before_the_implied_one(status, expected):
    assert one(a_pod("p", cpu="1", **status)).qos.tolist() == [expected]


def test_an_absent_priority_is_zero_and_known_to_be_absent():
    found = a_cluster(NODE, a_pod("a"), a_pod("b", priority=0), a_pod("c", priority=-5)).pods
    assert found.priority.tolist() == [0, 0, -5]
    assert found.has_priority.tolist() == [False, True, True]


def test_nodes_read_amounts_of_every_resource_that_either_side_names():
    nodes = a_cluster(
        a_node("n1", cpu="1.5", memory="1Ki", extended={"example.com/gpu": 2}, capacity={"cpu": 2}),
        a_pod("p", requests={"example.com/disk": "1"}),
    ).nodes
    assert nodes.resources == ("cpu", "memory", "pods", "example.com/disk", "example.com/gpu")
    assert nodes.allocatable[:, 0].tolist() == [1500, 1024, 110, 0, 2]
    assert nodes.capacity[:, 0].tolist() == [2000, 0, 0, 0, 0]
    assert nodes.lists_allocatable[:, 0].tolist() == [True, True, True, False, True]
    assert (nodes.resource("cpu"), nodes.resource("memory"), nodes.resource("nothing")) == (CPU, MEMORY, None)


@pytest.mark.parametrize("field", ["allocatable", "capacity"])
@pytest.mark.parametrize("amount", ["-1", "x", ""])
def test_a_nodes_bad_amount_is_an_error_with_node_and_field(field, amount):
    node = a_node("n1")
    node["status"][field] = {"memory": amount}
    with pytest.raises(InputError, match=rf"^Node n1: status\.{field}: memory"):
        a_cluster(node, a_pod("p"))


@pytest.mark.parametrize(
    ("ready", "expected"), [(None, True), (True, True), (False, False), ("Unknown", False)], ids=str
)
def test_a_node_is_ready_unless_its_condition_says_otherwise(ready, expected):
    """ND-02."""
    assert a_cluster(a_node("n1", ready=ready), a_pod("p")).nodes.ready.tolist() == [expected]


def test_label_columns_tell_absence_from_values():
    nodes = a_cluster(a_node("n1", labels={"a": "x"}), a_node("n2"), a_node("n3", labels={"a": ""}), a_pod("p")).nodes
    column = nodes.label_column("a")
    assert [column.values[code] if code != NO_LABEL else None for code in column.codes] == ["x", None, ""]
    assert column.code("nobody's") not in column.codes.tolist()
    assert nodes.label_column("b").codes.tolist() == [NO_LABEL] * 3


@pytest.mark.parametrize(
    ("labels", "zone"),
    [
        ({}, ""),
        ({"topology.kubernetes.io/zone": "a", "failure-domain.beta.kubernetes.io/zone": "b"}, "a"),
        ({"failure-domain.beta.kubernetes.io/zone": "b"}, "b"),
    ],
    ids=["none", "new", "old"],
)
def test_zone(labels, zone):
    assert a_cluster(a_node("n1", labels=labels), a_pod("p")).nodes.zone(0) == zone
