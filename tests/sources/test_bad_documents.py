"""Every way in which a dump can be bad: a sentence each, with file, object and field."""

from __future__ import annotations

import json

import pytest

from builders import a_list, a_node, a_pod, a_service
from restow.errors import InputError
from restow.sources.documents import load_cluster
from restow.sources.kubectl import DUMP
from sources.dumps import BASICS, NODE, POD, with_field


def refusal(load, *contents):
    """The message without the path of the first file."""
    with pytest.raises(InputError) as error:
        load(*contents)
    return str(error.value).replace(str(load.folder / "0.json"), "FILE")


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
        pytest.param(b"just text", "is text, not Kubernetes objects; have kubectl print them with -o json", id="text"),
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
def test_a_pod_with_a_wrong_value_is_left_out_with_its_path(load, path, value, message):
    """One without a name that can be read is an error."""
    content = a_list(NODE, a_pod("good", node="n1"), with_field(POD, path, value))
    if value == 5:
        assert refusal(load, content).startswith(f"FILE: Pod (without a readable name): {message}")
        return
    cluster = load(content)
    assert cluster.pods.names == (["good"] if message else ["good", "p1"])
    assert [why.startswith(f"Pod default/p1: {message}") for why in load.report.left_out.values()] == [True] * bool(
        message
    )
    assert "\n" not in "".join(load.report.left_out.values())


def test_where_no_pod_can_be_read_that_is_the_error(load):
    bad = with_field(POD, ["spec", "priority"], "high")
    found = refusal(load, a_list(NODE, bad)).splitlines()
    assert found == [
        "FILE holds no pods that can be read",
        "Pod default/p1: spec.priority: Expected `int | null`, got `str`; it is left out",
    ]


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
    "number", ["1e400", "NaN", "Infinity", "1" * 5000], ids=["1e400", "NaN", "Infinity", "5000-digits"]
)
@pytest.mark.parametrize("path", [["spec", "priority"], ["spec", "containers", 0, "resources", "requests", "cpu"]], ids=["int", "quantity"])  # fmt: skip
def test_numbers_that_no_field_holds_are_errors(load, path, number):
    """What is no JSON is an error of the file, any other number leaves out its pod."""
    text = json.dumps(a_list(NODE, a_pod("good"), with_field(POD, path, "NUMBER"))).replace('"NUMBER"', number)
    if number in ("NaN", "Infinity"):
        assert refusal(load, text.encode()).startswith("FILE: ")
    else:
        assert load(text.encode()).pods.names == ["good"]


def test_all_bad_files_are_told_one_a_line(load):
    bad = with_field(NODE, ["spec", "taints"], [{"key": 1}])
    odd = with_field(NODE, ["spec", "taints"], [{"key": 2}])
    lines = refusal(load, b"{", a_list(bad), NODE, b"", a_list(odd), a_list(bad)).splitlines()
    assert [line.partition(": ")[2] for line in lines] == [
        "not valid JSON: Input data was truncated",
        "Node n1: spec.taints[0].key: Expected `str`, got `int`",
        "the file is empty",
        "Node n1: spec.taints[0].key: Expected `str`, got `int`",
        "Node n1: spec.taints[0].key: Expected `str`, got `int`",
    ]


def test_missing_paths_are_told_with_the_bad_files(load):
    (load.folder / "bad.json").write_bytes(b"{")
    with pytest.raises(InputError) as error:
        load_cluster(["nowhere", str(load.folder), "gone"])
    assert [line.partition(":")[0] for line in str(error.value).splitlines()] == ["nowhere", "gone", str(load.folder / "bad.json")]  # fmt: skip


@pytest.mark.parametrize("levels", [500, 5_000, 100_000])
@pytest.mark.parametrize("field", ["labels", "ownerReferences", "annotations", "unknown"])
@pytest.mark.parametrize(("start", "end"), [("[", "]"), ('{"items":[', "]}")], ids=["lists", "mappings"])
def test_a_value_that_nests_deeply_is_ignored_or_refused_in_a_sentence(load, levels, field, start, end):
    """How deep the decoder itself goes depends on the version of Python."""
    bottomless = f'"{field}": {start * levels}{end * levels},'
    dump = json.dumps(a_list(a_node("n1"), a_pod("p", node="n1"))).replace(
        '"metadata": {', f'"metadata": {{{bottomless}'
    )
    try:
        found = load(dump.encode()).pods.names
    except InputError as error:
        found = str(error).splitlines()
    assert found in (["p"], []) or [line.startswith(f"{load.folder / '0.json'}: ") for line in found] == [True]
