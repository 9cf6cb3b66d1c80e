"""Old API versions: each row against what the API server of its time would have stored."""

from __future__ import annotations

import copy

import pytest

from restow.kube.objects import API_VERSIONS
from restow.kube.old_versions import CONVERSIONS, conversion_note, convert

NO_LIMIT = 2**31 - 1
LABELS = {"app": "web"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


def manifest(api_version, kind, **spec):
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "web"}, "spec": spec}


def converted(api_version, kind, **spec):
    written = manifest(api_version, kind, **spec)
    return convert(written, CONVERSIONS[api_version, kind])


FROM_TEMPLATE = {"template": TEMPLATE, "selector": {"matchLabels": LABELS}}

ROWS = [
    pytest.param(
        ("extensions/v1beta1", "Deployment"),
        {"template": TEMPLATE},
        FROM_TEMPLATE
        | {
            "strategy": {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 1}},
            "progressDeadlineSeconds": NO_LIMIT,
            "revisionHistoryLimit": NO_LIMIT,
        },
        id="extensions-deployment",
    ),
    pytest.param(
        ("extensions/v1beta1", "Deployment"),
        {"template": TEMPLATE, "strategy": {"type": "Recreate"}, "progressDeadlineSeconds": 60},
        FROM_TEMPLATE
        | {"strategy": {"type": "Recreate"}, "progressDeadlineSeconds": 60, "revisionHistoryLimit": NO_LIMIT},
        id="extensions-deployment-recreate",
    ),
    pytest.param(
        ("extensions/v1beta1", "Deployment"),
        {"template": TEMPLATE, "strategy": {"rollingUpdate": {"maxSurge": "50%"}}, "revisionHistoryLimit": 0},
        FROM_TEMPLATE
        | {
            "strategy": {"rollingUpdate": {"maxSurge": "50%", "maxUnavailable": 1}},
            "progressDeadlineSeconds": NO_LIMIT,
            "revisionHistoryLimit": 0,
        },
        id="extensions-deployment-what-is-written-stays",
    ),
    pytest.param(("extensions/v1beta1", "ReplicaSet"), {"template": TEMPLATE}, FROM_TEMPLATE, id="extensions-rs"),
    pytest.param(
        ("extensions/v1beta1", "DaemonSet"),
        {"template": TEMPLATE},
        FROM_TEMPLATE | {"updateStrategy": {"type": "OnDelete"}},
        id="extensions-daemonset",
    ),
    pytest.param(
        ("extensions/v1beta1", "DaemonSet"),
        {"template": TEMPLATE, "updateStrategy": {"type": "RollingUpdate"}},
        FROM_TEMPLATE | {"updateStrategy": {"type": "RollingUpdate"}},
        id="extensions-daemonset-rolling",
    ),
    pytest.param(
        ("extensions/v1beta1", "Job"),
        {"template": TEMPLATE},
        FROM_TEMPLATE | {"manualSelector": True},
        id="extensions-job",
    ),
    pytest.param(
        ("extensions/v1beta1", "Job"),
        {"template": TEMPLATE, "autoSelector": True},
        {"template": TEMPLATE},
        id="extensions-job-with-its-own-selector",
    ),
    pytest.param(
        ("apps/v1beta1", "Deployment"),
        {"template": TEMPLATE},
        FROM_TEMPLATE | {"revisionHistoryLimit": 2},
        id="apps-v1beta1-deployment",
    ),
    pytest.param(
        ("apps/v1beta1", "StatefulSet"),
        {"template": TEMPLATE},
        FROM_TEMPLATE | {"updateStrategy": {"type": "OnDelete"}},
        id="apps-v1beta1-statefulset",
    ),
    pytest.param(
        ("batch/v2alpha1", "CronJob"),
        {"schedule": "@hourly", "failedJobsHistoryLimit": 1},
        {"schedule": "@hourly", "failedJobsHistoryLimit": 1, "successfulJobsHistoryLimit": NO_LIMIT},
        id="batch-v2alpha1-cronjob",
    ),
    pytest.param(
        ("batch/v2alpha1", "ScheduledJob"),
        {},
        {"failedJobsHistoryLimit": NO_LIMIT, "successfulJobsHistoryLimit": NO_LIMIT},
        id="batch-v2alpha1-scheduledjob",
    ),
    pytest.param(
        ("policy/v1beta1", "PodDisruptionBudget"),
        {"selector": {}, "minAvailable": 1},
        {"minAvailable": 1},
        id="policy-v1beta1-empty-selector-selects-nothing",
    ),
    pytest.param(
        ("policy/v1beta1", "PodDisruptionBudget"),
        {"selector": {"matchLabels": LABELS}},
        {"selector": {"matchLabels": LABELS}},
        id="policy-v1beta1",
    ),
    *(
        pytest.param(row, {"template": TEMPLATE}, {"template": TEMPLATE}, id="-".join(row).replace("/", "-"))
        for row, conversion in CONVERSIONS.items()
        if not conversion.steps
    ),
]


@pytest.mark.parametrize(("row", "written", "meant"), ROWS)
def test_defaults_of_the_old_version_are_written_out(row, written, meant):
    assert converted(*row, **written).manifest["spec"] == meant


def test_each_row_is_a_kind_and_version_of_today():
    assert {(each.kind, each.api_version) for each in CONVERSIONS.values()} <= {*API_VERSIONS.items()}


@pytest.mark.parametrize("row", CONVERSIONS)
def test_what_was_converted_is_of_today_and_needs_no_more(row):
    made = converted(*row, template=TEMPLATE).manifest
    assert (made["apiVersion"], made["kind"]) not in CONVERSIONS


@pytest.mark.parametrize("row", CONVERSIONS)
def test_the_manifest_that_was_given_stays_as_it_is_and_shares_nothing(row):
    written = manifest(*row, template=TEMPLATE, selector={}, rollbackTo={"revision": 3})
    before = copy.deepcopy(written)
    made = convert(written, CONVERSIONS[row]).manifest
    made["spec"]["template"]["metadata"]["labels"]["app"] = "other"
    assert written == before


def test_labels_of_the_template_label_an_object_without_any():
    written = manifest("extensions/v1beta1", "ReplicaSet", template=TEMPLATE)
    assert convert(written, CONVERSIONS["extensions/v1beta1", "ReplicaSet"]).manifest["metadata"]["labels"] == LABELS
    written["metadata"]["labels"] = {"own": "x"}
    labels = convert(written, CONVERSIONS["extensions/v1beta1", "ReplicaSet"]).manifest["metadata"]["labels"]
    assert labels == {"own": "x"}


@pytest.mark.parametrize("api_version", ["extensions/v1beta1", "apps/v1beta1"])
def test_a_rollback_is_the_annotation_that_the_controller_of_today_reads(api_version):
    made = converted(api_version, "Deployment", template=TEMPLATE, rollbackTo={"revision": 3}).manifest
    assert made["metadata"]["annotations"] == {"deprecated.deployment.rollback.to": "3"}
    assert "rollbackTo" not in made["spec"]


def test_a_rollback_without_revision_is_to_the_last_one():
    made = converted("apps/v1beta1", "Deployment", template=TEMPLATE, rollbackTo={}).manifest
    assert made["metadata"]["annotations"] == {"deprecated.deployment.rollback.to": "0"}


def test_the_generation_of_a_template_is_an_annotation():
    made = converted("extensions/v1beta1", "DaemonSet", template=TEMPLATE, templateGeneration=4).manifest
    assert made["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "4"}


def test_the_note_names_the_object_both_versions_and_what_was_silent():
    made = converted("apps/v1beta1", "StatefulSet", template=TEMPLATE, selector={"matchLabels": LABELS})
    assert conversion_note("apps/v1beta1", made) == (
        "StatefulSet web: apps/v1beta1 is read as apps/v1; as it did then, "
        "its labels are those of the template, pods are updated once they are deleted"
    )


ODD = [None, 1, "x", [], {}, {"template": []}, {"template": {"metadata": "x"}}, {"strategy": 3, "updateStrategy": []}]


@pytest.mark.parametrize("spec", ODD, ids=str)
@pytest.mark.parametrize("metadata", [None, 3, {}], ids=str)
@pytest.mark.parametrize("row", CONVERSIONS)
def test_fields_of_wrong_types_are_left_to_the_decoder(row, spec, metadata):
    api_version, kind = row
    written = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
    made = convert(written, CONVERSIONS[row])
    assert made.manifest["kind"] == CONVERSIONS[row].kind
    assert kind.removeprefix("Scheduled") in conversion_note(api_version, made)
