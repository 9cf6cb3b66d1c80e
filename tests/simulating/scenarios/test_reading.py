"""Scenario files: what they say, and every way in which they cannot be used."""

from __future__ import annotations

import json

import pytest
import yaml

from builders import a_deployment, a_node
from restow.kube.labels import parse_selector
from restow.kube.manifests import Deployment, Node
from restow.simulating.kubelets import KubeletSettings
from restow.simulating.scenarios.reading import check_file
from restow.simulating.scenarios.references import NodeChoice, Reference
from restow.simulating.scenarios.scenario import Descheduling

SECOND, MINUTE = 10**9, 60 * 10**9
HEAD = {"apiVersion": "restow.dev/v1alpha1", "kind": "Scenario"}
WEB = Reference("Deployment", "default", "web")
NODE_1 = NodeChoice("node-1")
ZONE_A = NodeChoice(labels=parse_selector("zone=a"))
CLUSTER = [a_node("node-1"), a_node("node-2"), a_deployment("web", namespace="default")]
REFUSED = yaml.safe_dump(
    {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [{"name": "p", "plugins": {"balance": {"enabled": ["NoSuchStrategy"]}}}],
    }
)


def test_a_whole_scenario(read, tmp_path):
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": CLUSTER}))
    found = read(
        description="All goes well.",
        seed=7,
        begins="2026-11-21T00:00:00Z",
        start=["cluster.json", a_node("node-3")],
        descheduler={"every": "10m", "placement": "upstream"},
        events=[{"at": "2m", "cordon": "node-2"}, {"at": "1m", "cordon": "node-1"}],
        expect=[{"always": {"nodes": "ready", "exactly": 3}}],
        **{"for": "1h"},
    )
    assert (found.description, found.seed, found.begins, found.duration) == (
        "All goes well.", 7, 1795219200 * SECOND, 60 * MINUTE,
    )  # fmt: skip
    assert [(type(each), each.metadata.name) for each in found.start] == [
        (Node, "node-1"), (Node, "node-2"), (Deployment, "web"), (Node, "node-3"),
    ]  # fmt: skip
    assert found.descheduling == Descheduling(None, 10 * MINUTE, "upstream")
    assert [(each.at, each.place) for each in found.events] == [(MINUTE, ("events", 1)), (2 * MINUTE, ("events", 0))]
    assert found.findings == ()


def test_how_long_what_takes(read):
    assert read(kubelets={"ready": "20s"}).kubelets == KubeletSettings(ready=20 * SECOND)
    assert read().kubelets == KubeletSettings()


def test_what_is_left_out(read):
    found = read()
    assert (found.seed, found.begins, found.duration, found.descheduling, found.schedulers) == (1, None, None, None, ())
    assert [str(each) for each in found.findings] == [
        "s.yaml:1: nothing is expected: no run of it can fail; add expect"
    ]


OTHERS = [
    ({"for": "0s"}, "for: must be more than 0"),
    ({"begins": "yesterday"}, "begins: "),
    ({"descheduler": {"every": "0s"}}, "descheduler.every: must be more than 0"),
    ({"descheduler": {"placement": "up"}}, "descheduler.placement: must be prove or upstream"),
    ({"descheduler": {"policy": "nope.yaml"}}, "descheduler.policy: "),
    ({"descheduler": {"policy": "refused.yaml"}}, "descheduler.policy: "),
    ({"schedulers": [{"configuration": "refused.yaml"}]}, "schedulers[0].configuration: "),
    ({"kubelets": {"ready": "-1s"}}, "kubelets.ready: must not be negative"),
    ({"schedulers": [{}]}, "schedulers[0]: has no configuration; add it"),
    ({"start": ["nope"]}, "start[0]: "),
    ({"start": [{"apiVersion": "v1", "kind": "Pod", "metadata": {}}]}, "start[0]: a Pod without metadata.name"),
    (
        {"start": [a_deployment("web") | {"apiVersion": "apps/v1alpha9"}, a_node("n") | {"apiVersion": "foo/v1"}]},
        "start[1]: Node n: apiVersion foo/v1 is unknown; write v1",
    ),
    ({"start": [a_deployment("web") | {"spec": {"replicas": "3"}}]}, "start[0]: Deployment default/web: spec.replicas: "),
    ({"arrivals": [{"trace": "t.csv", "faster": 0}]}, "arrivals[0].faster: must be from 0.001 to 1,000,000"),
    ({"arrivals": [{"trace": "t.csv"}]}, "arrivals[0].trace: "),
    ({"arrivals": [{"trace": "t.csv", "pod": {"metadata": ["x"]}}]}, "arrivals[0].pod: metadata, labels and spec must be"),
    ({"arrivals": [{"trace": "t.csv", "pod": {"spec": {"containers": ["c"]}}}]}, "arrivals[0].pod: metadata, labels"),
    ({"arrivals": [{"trace": "t.csv", "pod": {"status": {}}}]}, "arrivals[0].pod: status is nothing that pods share"),
    ({"nonsense": 1}, 'nonsense: unknown field "nonsense"'),
]  # fmt: skip


@pytest.mark.parametrize(("written", "sentence"), OTHERS, ids=lambda each: str(each)[:50])
def test_what_else_cannot_be_used(refusal, written, sentence, tmp_path):
    (tmp_path / "refused.yaml").write_text(REFUSED)
    (found,) = refusal(**written)
    assert found.startswith(sentence)


def test_every_object_that_cannot_be_used_is_told(refusal, tmp_path):
    pods = [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": 3} for name in "ab"]
    (tmp_path / "pods.json").write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": pods}))
    told = [line.partition(": spec")[0] for line in refusal(start=["pods.json"], events=[{"at": "0s", "apply": pods}])]
    assert told == [
        "start[0]: pods.json: Pod a", "start[0]: pods.json: Pod b", "events[0].apply: Pod a", "events[0].apply: Pod b",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("head", "sentence"),
    [
        (
            {"kind": "Pod", "apiVersion": "v1"},
            "apiVersion: is not that of a Scenario; write apiVersion: restow.dev/v1alpha1",
        ),
        ({"kind": "Plan"}, "kind: is not that of a Scenario; write kind: Scenario"),
    ],
)
def test_a_file_of_another_kind(refusal, head, sentence):
    assert refusal(**head)[0].startswith(sentence)


def findings(read, **fields):
    return [(each.path, each.message, each.hint) for each in read(**fields).findings]


EXPECT = [{"always": {"nodes": "any"}}]


@pytest.mark.parametrize(
    ("fields", "finding"),
    [
        (
            {"events": [{"at": "1m", "scale": "deployment/wbe", "to": 1}]},
            ("events[0].scale", "there is no deployment/default/wbe when this happens (1m0s)", 'did you mean "deployment/default/web"?'),
        ),
        (
            {"events": [{"at": "1m", "failNode": "node1"}]},
            ("events[0].failNode", "there is no node/node1 when this happens (1m0s)", 'did you mean "node/node-1"?'),
        ),
        (
            {"events": [{"at": "1m", "delete": "deploy/web"}, {"at": "2m", "scale": "deploy/web", "to": 1}]},
            ("events[1].scale", "there is no deployment/default/web when this happens (2m0s)", ""),
        ),
        (
            {"expect": [{"always": {"pods": "any", "of": "ds/web"}}]},
            ("expect[0].always.of", "there is no daemonset/default/web at any time", ""),
        ),
        (
            {"expect": [{"always": {"pods": "any", "onNodes": "nod-1"}}]},
            ("expect[0].always.onNodes", "there is no node/nod-1 at any time", 'did you mean "node/node-1"?'),
        ),
        (
            {"for": "1h", "events": [{"at": "61m", "cordon": "node-1"}]},
            ("events[0].at", "is after the end of the run at 1h0m0s: it never happens", ""),
        ),
        (
            {"for": "1h", "expect": [{"eventually": {"pods": "any"}, "within": "61m"}]},
            ("expect[0]", "looks beyond the end of the run at 1h0m0s: it stays undecided", ""),
        ),
    ],
    ids=lambda each: str(each)[:50],
)  # fmt: skip
def test_what_never_happens(read, fields, finding):
    assert findings(read, **({"start": CLUSTER, "expect": EXPECT} | fields)) == [finding]


@pytest.mark.parametrize(
    "fields",
    [
        {"start": CLUSTER, "events": [{"at": "0s", "delete": "pod/web-1"}, {"at": "1s", "delete": "rs/web-7f"}]},
        {"events": [{"at": "0s", "scale": "deployment/any", "to": 1}]},
        {
            "start": CLUSTER,
            "events": [{"at": "0s", "apply": a_deployment("new")}, {"at": "1s", "scale": "deployment/new", "to": 1}],
        },
    ],
    ids=["made-by-controllers", "the-cluster-is-somebody-else's", "applied-before"],
)
def test_names_that_nobody_can_know_to_be_wrong(read, fields):
    assert findings(read, expect=EXPECT, **fields) == []


def test_objects_of_old_versions_are_told(read):
    old = a_deployment("web") | {"apiVersion": "apps/v1beta1"}
    (finding,) = read(start=[old], expect=EXPECT).findings
    assert (finding.severity, finding.path) == ("note", "start[0]")
    assert finding.message.startswith("Deployment default/web: apps/v1beta1 is read as apps/v1; as it did then, ")


def test_findings_are_sorted_by_line_and_paths_begin_where_the_scenario_lies(tmp_path):
    (tmp_path / "node.json").write_text(json.dumps(a_node("n1")))
    text = (
        "apiVersion: restow.dev/v1alpha1\nkind: Scenario\nfor: 1m\nstart: [node.json]\n"
        "expect:\n- never: {pods: any, of: ds/a}\nevents:\n- at: 2m\n  cordon: n1\n"
    )
    found = check_file(text.encode(), str(tmp_path / "s.yaml"))
    assert [each.line for each in found] == [6, 8]
