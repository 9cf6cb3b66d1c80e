from __future__ import annotations

import json

import msgspec
import yaml
from msgspec import structs

from builders.plans import a_report, small_report, upstream_report
from restow.descheduling.plan import PlanDocument, ResourceLoad, Utilisation
from restow.reporting.json import compact_json, document, render_json, render_yaml


def rendered(plan: PlanDocument) -> bytes:
    return b"".join(render_json(plan))


def test_fields_come_in_the_order_of_the_schema() -> None:
    document = json.loads(rendered(small_report().plan))
    assert list(document) == ["apiVersion", "kind", "metadata", "moves", "refusals", "summary", "problems", "notes",
        "policy", "schedulerConfiguration",
    ]  # fmt: skip
    assert list(document["metadata"]) == ["generatedAt", "placement", "restowVersion"]
    assert list(document["moves"][0]) == [
        "pod", "owner", "from", "to", "certainty", "probability", "candidates", "probabilities", "targetProbability", "inVain", "steering", "candidateCount",
        "profile", "plugin", "reason", "constraint",
    ]  # fmt: skip
    assert list(document["refusals"][0]) == ["pod", "node", "profile", "plugin", "stage", "code", "message"]
    assert list(document["summary"]) == [
        "nodes",
        "pods",
        "pendingPods",
        "moves",
        "refusals",
        "utilisation",
        "gains",
        "targets",
    ]


def test_an_eviction_in_upstream_placement_goes_to_null() -> None:
    move = json.loads(rendered(upstream_report().plan))["moves"][0]
    assert (move["to"], move["certainty"], move["candidates"]) == (None, None, [])


def test_fractions_and_seconds_have_four_digits() -> None:
    plan = a_report().plan
    load = {"cpu": ResourceLoad(2 / 3, 1 / 3, 1e-9)}
    plan = structs.replace(
        plan,
        summary=structs.replace(plan.summary, utilisation=Utilisation(load, load)),
        metadata=structs.replace(plan.metadata, timings={"load": 1.23456}),
    )
    document = json.loads(rendered(plan))
    assert document["summary"]["utilisation"]["before"]["cpu"] == {"max": 0.6667, "mean": 0.3333, "spread": 0.0}
    assert document["metadata"]["timings"] == {"load": 1.2346}


def test_the_pieces_are_one_document_indented_by_two_spaces() -> None:
    for plan in (a_report().plan, small_report().plan, structs.replace(small_report().plan, moves=(), refusals=())):
        assert rendered(plan) == msgspec.json.format(compact_json(document(plan)), indent=2) + b"\n"


def test_the_layout_is_stable() -> None:
    text = rendered(a_report().plan).decode()
    assert text.startswith('{\n  "apiVersion": "restow.dev/v1alpha1",\n  "kind": "Plan",\n  "metadata": {\n')
    assert text.endswith("}\n")
    assert rendered(small_report().plan) == rendered(small_report().plan)


def test_a_stored_plan_can_be_read_again() -> None:
    plan = small_report().plan
    assert msgspec.json.decode(rendered(plan), type=PlanDocument).moves == plan.moves


def test_yaml_is_the_same_document_in_the_same_order() -> None:
    text = render_yaml(small_report().plan)
    assert list(yaml.safe_load(text).items()) == list(json.loads(rendered(small_report().plan)).items())
    assert text.startswith("apiVersion: restow.dev/v1alpha1\nkind: Plan\n")


def test_yaml_has_no_anchors() -> None:
    assert "&id" not in render_yaml(small_report().plan)


def test_yaml_quotes_names_that_are_something_else_to_go() -> None:
    """A namespace may be called ``y``, and kubectl takes a bare one for true."""
    plan = small_report().plan
    move = structs.replace(plan.moves[0], pod=structs.replace(plan.moves[0].pod, namespace="y"))
    assert 'namespace: "y"' in render_yaml(structs.replace(plan, moves=(move,)))
