"""From dumps to one cluster: every shape of input, and every way in which one can be bad."""

from __future__ import annotations

import contextlib
import gzip
import json

import pytest
import yaml

from builders import (
    a_deployment,
    a_list,
    a_node,
    a_pod,
    a_replica_set,
    a_service,
    node_affinity,
    node_metrics,
    node_term,
)
from restow.errors import InputError
from restow.sources.documents import load_cluster
from restow.sources.kubectl import DUMP

NODE, POD = a_node("n1"), a_pod("p1", node="n1")
BASICS = [NODE, POD]


@pytest.fixture
def load(tmp_path):
    """Loads objects or texts, one file each; ``load.report`` is what was found beside the cluster."""

    def write(position, content):
        path = tmp_path / f"{position}.json"
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return str(path)

    def load(*contents):
        cluster, load.report = load_cluster([write(i, content) for i, content in enumerate(contents)])
        return cluster

    load.folder = tmp_path
    return load


def names(cluster):
    return cluster.nodes.names, cluster.pods.names


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


def test_more_objects_than_a_page(load, monkeypatch):
    monkeypatch.setattr("restow.sources.documents._PAGE", 2)
    assert names(load(a_list(NODE, *(a_pod(f"p{i}") for i in range(5))))) == (("n1",), ("p0", "p1", "p2", "p3", "p4"))


# What is bad


def refusal(load, *contents):
    """The message without the path of the first file."""
    with pytest.raises(InputError) as error:
        load(*contents)
    return str(error.value).replace(str(load.folder / "0.json"), "FILE")


def with_field(item, path, value):
    """A copy of an object with the field at this path replaced; numbers index lists."""
    copy = json.loads(json.dumps(item))
    *parents, last = path
    place = copy
    for step in parents:
        place = place[step] if isinstance(step, int) else place.setdefault(step, {})
    place[last] = value
    return copy


@pytest.mark.parametrize(
    ("objects", "message", "command"),
    [
        pytest.param([], "FILE holds no objects; ", DUMP, id="no-objects"),
        pytest.param([NODE], "FILE holds nodes but no pods; ", "kubectl get -A -o json pods > pods.json", id="no-pods"),
        pytest.param(
            [POD, a_pod("p2")],
            "FILE holds pods but no nodes; ",
            "kubectl get -A -o json nodes > nodes.json",
            id="no-nodes",
        ),
        pytest.param(
            [a_service("s"), {"kind": "X"}], "FILE holds 2 other objects but no nodes and no pods; ", DUMP, id="others"
        ),
    ],
)
def test_a_cluster_needs_nodes_and_pods(load, objects, message, command):
    found = refusal(load, a_list(*objects))
    assert found.startswith(message)
    assert found.endswith(command)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(json.dumps(a_list(*BASICS)).encode()[:-5], "not valid JSON: ", id="cut"),
        pytest.param(b'{"kind": "List", "items": [}', "not valid JSON: ", id="broken"),
        pytest.param(json.dumps(NODE).encode() + b"}", "not valid JSON: ", id="and-more"),
        pytest.param(b"[]", "not a Kubernetes object: Expected `object`, got `array`", id="array"),
        pytest.param(b"just text", "not a Kubernetes object: Expected `object`, got `str`", id="text"),
        pytest.param(b'{"kind": 5}', "not a Kubernetes object: kind: Expected `str | null`, got `int`", id="kind"),
        pytest.param(b'{"kind": "List", "items": {}}', "not a Kubernetes object: items: Expected `array | null`", id="items"),
        pytest.param(b'{"kind": "List", "items": [5]}', "item (without a readable name): Expected `object`", id="item"),
        pytest.param(b'{"kind": "List", "items": [null]}', "item (without a readable name): Expected `object`", id="null"),
        pytest.param(b"{}", "holds an object without kind; kubectl get ... -o json prints one", id="no-kind"),
        pytest.param(b'{"items": [{}]}', "holds an object without kind", id="items-without-kind"),
        pytest.param(b'{"kind": "List", "items": [{}]}', "holds an object without kind", id="item-without-kind"),
        pytest.param(b'{"kind": null}', "holds an object without kind", id="null-kind"),
        pytest.param(b'{"a":' * 100_000, "nested too deeply; this is not a cluster", id="deep"),
        pytest.param(b'{"kind": "Pod", "x": ' + b"[" * 9999 + b"]" * 9999 + b"}", "nested too deeply", id="deep-inside"),
    ],
)  # fmt: skip
def test_what_is_no_dump_is_an_error_in_one_sentence(load, data, message):
    found = refusal(load, data)
    assert found.startswith(f"FILE: {message}")
    assert "\n" not in found


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        pytest.param(["metadata"], 5, "metadata: Expected `object", id="metadata"),
        pytest.param(["metadata", "name"], 5, "metadata.name: Expected `str`, got `int`", id="name"),
        pytest.param(["metadata", "labels"], "a=b", "metadata.labels: Expected `object`", id="labels"),
        pytest.param(["metadata", "labels"], {"a": 1}, "metadata.labels[...]: Expected `str`", id="label"),
        pytest.param(["metadata", "annotations"], [], "metadata.annotations: Expected `object", id="annotations"),
        pytest.param(["metadata", "ownerReferences"], {}, "metadata.ownerReferences: Expected `array", id="owners"),
        pytest.param(["metadata", "ownerReferences"], [{"uid": 1}], "metadata.ownerReferences[0].uid: Exp", id="owner"),
        pytest.param(
            ["metadata", "creationTimestamp"], "x", 'metadata.creationTimestamp: "x" is not a time', id="time"
        ),
        pytest.param(["spec"], "x", "spec: Expected `object", id="spec"),
        pytest.param(["spec", "nodeName"], {}, "spec.nodeName: Expected `str", id="nodeName"),
        pytest.param(["spec", "priority"], "high", "spec.priority: Expected `int", id="priority"),
        pytest.param(["spec", "priority"], 1e30, "spec.priority: Expected `int", id="priority-float"),
        pytest.param(["spec", "priority"], 2**31, "spec.priority: Expected `int` <= 2147483647", id="priority-large"),
        pytest.param(["spec", "priority"], -(10**5), None, id="priority-negative-is-fine"),
        pytest.param(["spec", "priority"], 10**40, "spec.priority: ", id="priority-huge"),
        pytest.param(["spec", "containers"], {}, "spec.containers: Expected `array`", id="containers"),
        pytest.param(["spec", "containers", 0], "x", "spec.containers[0]: Expected `object`", id="container"),
        pytest.param(
            ["spec", "containers", 0, "resources"],
            [],
            "spec.containers[0].resources: Expected `object`",
            id="resources",
        ),
        pytest.param(
            ["spec", "containers", 0, "resources", "requests", "cpu"],
            "1x",
            'spec.containers[0].resources.requests: cpu: "1x" is not a quantity',
            id="quantity",
        ),
        pytest.param(
            ["spec", "containers", 0, "resources", "limits"],
            {"cpu": "1x"},
            'spec.containers[0].resources.limits: cpu: "1x" is not a quantity',
            id="limit",
        ),
        pytest.param(
            ["spec", "containers", 0, "resources", "requests", "cpu"],
            "-5",
            "the requests of all containers together: cpu is -5",
            id="negative",
        ),
        pytest.param(["spec", "tolerations"], [{"key": 1}], "spec.tolerations[0].key: Expected `str`", id="toleration"),
        pytest.param(
            ["spec", "affinity"],
            {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": 1}]}},
            "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: Expected `str`",
            id="affinity",
        ),
        pytest.param(["status", "phase"], 1, "status.phase: Expected `str`", id="phase"),
        pytest.param(["status", "startTime"], "2026-99-01T00:00:00Z", "status.startTime: ", id="startTime"),
        pytest.param(
            ["status", "containerStatuses"],
            [{"restartCount": "9"}],
            "status.containerStatuses[0].restartCount: Expected `int`",
            id="status",
        ),
    ],
)
def test_a_wrong_value_is_an_error_with_file_pod_and_path(load, path, value, message):
    content = a_list(NODE, with_field(POD, path, value))
    if message is None:
        assert load(content)
        return
    name = "(without a readable name)" if value == 5 else "default/p1"
    found = refusal(load, content)
    assert found.startswith(f"FILE: Pod {name}: {message}")
    assert "\n" not in found


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        pytest.param(
            ["status", "allocatable", "cpu"], "-1", "status.allocatable: cpu is -1, but an amount", id="minus"
        ),
        pytest.param(["status", "allocatable", "cpu"], [], "status.allocatable[...]: Expected", id="type"),
        pytest.param(["spec", "unschedulable"], "yes", "spec.unschedulable: Expected `bool`", id="bool"),
        pytest.param(["spec", "taints"], [{"effect": 1}], "spec.taints[0].effect: Expected `str`", id="taint"),
        pytest.param(["status", "conditions"], [{"type": {}}], "status.conditions[0].type: Expected `str`", id="cond"),
    ],
)
def test_a_wrong_value_is_an_error_with_file_node_and_path(load, path, value, message):
    assert refusal(load, a_list(with_field(NODE, path, value), POD)).startswith(f"FILE: Node n1: {message}")


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


@pytest.mark.parametrize(
    "number", ["1e400", "NaN", "Infinity", "1" * 5000], ids=["1e400", "NaN", "Infinity", "5000-digits"]
)
@pytest.mark.parametrize("path", [["spec", "priority"], ["spec", "containers", 0, "resources", "requests", "cpu"]], ids=["int", "quantity"])  # fmt: skip
def test_numbers_that_no_field_holds_are_errors(load, path, number):
    text = json.dumps(a_list(NODE, with_field(POD, path, "NUMBER"))).replace('"NUMBER"', number)
    assert refusal(load, text.encode()).startswith("FILE: ")


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


def test_all_bad_files_are_told_one_a_line(load):
    bad = with_field(POD, ["spec", "tolerations"], [{"key": 1}])
    odd = with_field(POD, ["spec", "tolerations"], [{"key": 2}])
    lines = refusal(load, b"{", a_list(bad), NODE, b"", a_list(odd), a_list(bad)).splitlines()
    assert [line.partition(": ")[2] for line in lines] == [
        "not valid JSON: Input data was truncated",
        "Pod default/p1: spec.tolerations[0].key: Expected `str`, got `int`",
        "the file is empty",
        "Pod default/p1: spec.tolerations[0].key: Expected `str`, got `int`",
        "Pod default/p1: spec.tolerations[0].key: Expected `str`, got `int`",
    ]


def test_missing_paths_are_told_with_the_bad_files(load):
    (load.folder / "bad.json").write_bytes(b"{")
    with pytest.raises(InputError) as error:
        load_cluster(["nowhere", str(load.folder), "gone"])
    assert [line.partition(":")[0] for line in str(error.value).splitlines()] == ["nowhere", "gone", str(load.folder / "bad.json")]  # fmt: skip


@pytest.mark.parametrize("levels", [500, 5_000, 100_000])
@pytest.mark.parametrize("field", ["labels", "ownerReferences", "annotations", "unknown"])
@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"items":[', "]}")], ids=["lists", "mappings"])
def test_a_value_that_nests_deeply_is_ignored_or_refused_in_a_sentence(tmp_path, levels, field, start, end):
    """How deep the decoder itself goes depends on the version of Python."""
    bottomless = f'"{field}": {start * levels}{end * levels},'
    dump = json.dumps(a_list(a_node("n1"), a_pod("p", node="n1"))).replace(
        '"metadata": {', f'"metadata": {{{bottomless}'
    )
    (tmp_path / "dump.json").write_text(dump)
    with contextlib.suppress(InputError):
        load_cluster([str(tmp_path / "dump.json")])
