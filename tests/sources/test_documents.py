"""From dumps to one cluster: every shape of input, and what the API server accepts however odd it is."""

from __future__ import annotations

import gzip
import json

import pytest
import yaml

from builders import (
    a_deployment,
    a_list,
    a_node,
    a_pdb,
    a_pod,
    a_replica_set,
    a_service,
    node_affinity,
    node_metrics,
    node_term,
)
from restow.sources.documents import load_cluster
from sources.dumps import BASICS, NODE, POD, with_field


def names(cluster):
    return cluster.nodes.names, tuple(cluster.pods.names)


def without(item, *fields):
    return {key: value for key, value in item.items() if key not in fields}


def a_pod_list(*pods, **fields):
    """As the API prints it: the items do not repeat their kind."""
    return {
        "kind": "PodList",
        "apiVersion": "v1",
        "items": [without(each, "kind", "apiVersion") for each in pods],
    } | fields


def as_yaml(*objects):
    return yaml.dump_all(objects, Dumper=yaml.CSafeDumper).encode()


ONE_FILE = [
    pytest.param(json.dumps(a_list(NODE, POD)).encode(), id="List"),
    pytest.param(json.dumps(a_list(a_list(NODE), a_list(a_list(POD)))).encode(), id="nested-Lists"),
    pytest.param(json.dumps(a_list(NODE, a_pod_list(POD))).encode(), id="PodList-in-a-List"),
    pytest.param(json.dumps(NODE).encode() + json.dumps(POD).encode(), id="concatenated-JSON"),
    pytest.param(b"\n" + b"\n".join(json.dumps(each).encode() for each in BASICS) + b"\n", id="JSON-lines"),
    pytest.param(json.dumps(a_list(NODE)).encode() + b"\n" + json.dumps(a_pod_list(POD)).encode(), id="two-Lists"),
    pytest.param(as_yaml(NODE, POD), id="multi-document-YAML"),
    pytest.param(as_yaml(a_list(NODE, POD)), id="List-as-YAML"),
    pytest.param(gzip.compress(as_yaml(NODE, POD)), id="gzip"),
]


@pytest.mark.parametrize("data", ONE_FILE)
def test_all_forms_of_one_file_give_the_same_cluster(load, data):
    cluster = load(data)
    assert names(cluster) == (("n1",), ("p1",))
    assert cluster.pods.node.tolist() == [0]
    assert load.report.notes() == ()


def test_several_files_make_one_cluster(load):
    assert names(load(NODE, a_pod_list(POD), as_yaml(a_pod("p2")))) == (("n1",), ("p1", "p2"))
    assert load.report.origin() == "3 inputs"


def test_a_directory(load):
    load(NODE, POD)
    cluster, report = load_cluster([str(load.folder)])
    assert names(cluster) == (("n1",), ("p1",))
    assert len(report.origins) == 2


def test_the_items_of_a_typed_list_take_its_kind(load):
    metrics = without(node_metrics("n1", cpu="1"), "kind", "apiVersion")
    replica_sets = [without(a_replica_set("rs"), "kind", "apiVersion")]
    cluster = load(
        a_list(*BASICS),
        {"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": [metrics]},
        {"kind": "ReplicaSetList", "apiVersion": "apps/v1", "items": replica_sets},
    )
    assert list(cluster.kind("NodeMetrics")) == [("", "n1")]
    assert list(cluster.kind("ReplicaSet")) == [("default", "rs")]


@pytest.mark.parametrize("items", [[], None], ids=["empty", "null"])
@pytest.mark.parametrize("kind", ["List", "PodList", "PodDisruptionBudgetList"])
def test_lists_may_be_empty(load, kind, items):
    assert names(load(a_list(*BASICS), {"kind": kind, "apiVersion": "v1", "items": items})) == (("n1",), ("p1",))
    assert load.report.notes() == ()


def test_items_of_a_list_need_no_api_version(load):
    assert list(load(a_list(*BASICS, without(a_deployment("d"), "apiVersion"))).kind("Deployment")) == [
        ("default", "d")
    ]


def test_unknown_kinds_are_counted_and_told_in_one_line(load):
    others = [{"kind": kind, "apiVersion": "v1"} for kind in ("Secret", "Secret", "A", "B", "C", "D", "E", "F")]
    load(a_list(*BASICS, *others))
    assert load.report.notes() == (
        f"{load.report.origin()}: objects that restow does not read: 1 A, 1 B, 1 C, 1 D, 1 E and 2 more kinds",
    )


@pytest.mark.parametrize(
    ("kind", "version", "told"),
    [
        ("Service", "serving.knative.dev/v1", "Service.serving.knative.dev"),
        ("Pod", "metrics.k8s.io/v1beta1", "Pod.metrics.k8s.io"),
        ("Deployment", "v1", "Deployment.core"),
        ("AllowList", "example.com/v1", "AllowList.example.com"),
    ],
)
def test_the_same_word_in_another_api_group_is_another_kind(load, kind, version, told):
    cluster = load(a_list(*BASICS, a_service("s", selector={"app": "a"}), {"kind": kind, "apiVersion": version}))
    assert load.report.unknown_kinds == {told: 1}
    assert list(cluster.kind("Service")) == [("default", "s")]


def of_version(api_version, item):
    return item | {"apiVersion": api_version}


def budget_selector(cluster):
    (budget,) = cluster.kind("PodDisruptionBudget").values()
    return budget.spec.selector


def test_controllers_of_old_versions_are_read_as_those_of_today(load):
    old = of_version("extensions/v1beta1", a_replica_set("web", replicas=3, selector={"matchLabels": {"app": "web"}}))
    found = load(a_list(*BASICS, old)).kind("ReplicaSet")
    assert load.report.unknown_kinds == {}
    assert found == load(a_list(*BASICS, of_version("apps/v1", old))).kind("ReplicaSet") != {}


def test_a_budget_of_v1beta1_with_an_empty_selector_protects_nothing_and_that_is_told(load):
    empty = of_version("policy/v1beta1", a_pdb("all", selector={}))
    assert budget_selector(load(a_list(*BASICS, empty))) is None
    assert load.report.notes() == (
        f"{load.report.origin()}: objects read with the defaults of their old API versions: 1 PodDisruptionBudget of policy/v1beta1",
    )
    assert budget_selector(load(a_list(*BASICS, of_version("policy/v1", empty)))) is not None


def test_items_of_an_old_list_are_of_its_version(load):
    budgets = [without(a_pdb("all", selector={}), "kind", "apiVersion")]
    listed = {"kind": "PodDisruptionBudgetList", "apiVersion": "policy/v1beta1", "items": budgets}
    assert budget_selector(load(a_list(*BASICS, listed))) is None


def test_pods_on_unknown_nodes_are_told(load):
    load(a_list(NODE, POD, a_pod("p2", node="n9"), a_pod("p3")))
    assert load.report.notes() == (f"{load.report.origin()}: pods on nodes that the input does not hold: 1",)


def test_of_duplicates_the_last_one_counts_and_they_are_told(load):
    cluster = load(
        a_list(NODE, POD, a_pod("p1", namespace="other"), a_service("s", selector={"a": "1"})),
        a_list(a_node("n1", cpu="9"), a_pod("p1"), a_service("s", selector={"a": "2"})),
    )
    assert names(cluster) == (("n1",), ("p1", "p1"))
    assert cluster.nodes.allocatable[0].tolist() == [9000]
    assert cluster.pods.node.tolist() == [-1, -1]
    assert cluster.kind("Service")["default", "s"].spec.selector == {"a": "2"}
    assert load.report.notes() == ("2 inputs: objects given more than once (the last one counts): 3",)


def test_more_objects_than_a_page(load):
    pods = tuple(f"p{number:04}" for number in range(1_500))
    assert names(load(a_list(NODE, *map(a_pod, pods)))) == (("n1",), pods)


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(a_pod("odd", memory="10E"), id="pod beyond int64"),
        pytest.param(a_pod("odd", memory="9" * 5_000), id="thousands of digits"),
        pytest.param(a_node("odd", memory="1e400"), id="node beyond int64"),
        pytest.param(node_metrics("odd", cpu="1e30"), id="usage beyond int64"),
    ],
)
def test_an_amount_that_the_api_server_accepts_leaves_out_its_object_and_says_so(load, odd):
    assert names(load(a_list(odd, NODE, POD))) == (("n1",), ("p1",))
    (note,) = load.report.notes()
    name = "default/odd" if odd["kind"] == "Pod" else "odd"
    assert note.startswith(f"{odd['kind']} {name}: ")
    assert (
        note.endswith(" is more than 9223372036854775807, the most that int64 holds; it is left out") or "cpu" in note
    )


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(a_pod("odd", memory="9Pi"), id="9Pi"),
        pytest.param(a_pod("odd", memory="9Ei"), id="9Ei"),
        pytest.param(a_pod("odd", started="9999-12-31T23:59:59Z"), id="year 9999"),
        pytest.param(a_pod("odd", created="0001-01-01T00:00:01Z"), id="year 1"),
        pytest.param(
            a_pod("odd", affinity=node_affinity(preferred=[(1, node_term(("size", "Gt", "9" * 5_000)))])),
            id="thousands of digits in a preferred term",
        ),
    ],
)
def test_what_the_api_server_accepts_never_makes_a_file_unusable(load, odd):
    assert names(load(a_list(odd, NODE, POD))) == (("n1",), ("odd", "p1"))
    assert not load.report.notes()


@pytest.mark.parametrize("kind", ["Node", "Pod"])
def test_null_is_as_good_as_absent(load, kind):
    """As the decoder of Kubernetes has it, at every level: for objects, lists, texts, numbers and booleans."""
    full = a_pod(
        "p1", node="n1", tolerations=["gpu=yes:NoSchedule"], owner=("ReplicaSet", "rs"), phase="Running", priority=5,
        spread=[{"maxSkew": 1, "labelSelector": {}}], conditions=[{"type": "Ready", "status": "True"}],
    )  # fmt: skip
    objects = {"Node": a_node("n1", taints=["gpu=yes:NoSchedule"]), "Pod": full}
    for path in paths_of(objects[kind]):
        if path[-1] not in {"kind", "apiVersion"}:
            others = [each for name, each in objects.items() if name != kind]
            nulled = load(a_list(with_field(objects[kind], path, None), *others))
            absent = load(a_list(removed(objects[kind], path), *others))
            assert names(nulled) == names(absent)
            assert nulled.pods.tables == absent.pods.tables
            assert nulled.nodes.taint_sets == absent.nodes.taint_sets


def paths_of(value, path=()):
    """The paths of all members of objects."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield [*path, key]
            yield from paths_of(member, (*path, key))
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from paths_of(item, (*path, index))


def removed(item, path):
    copy = json.loads(json.dumps(item))
    *parents, last = path
    place = copy
    for step in parents:
        place = place[step]
    del place[last]
    return copy
