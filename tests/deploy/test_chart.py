"""The chart's values, their schema and their page name the same things; `make e2e` renders the chart."""

from __future__ import annotations

import json
import re

import pytest
import yaml

import restow
from builders.policies import PLUGINS
from deploy.manifests import CHART, KUBERNETES, documents
from docs.pages import ROOT, files
from restow.daemon.background import ENDS_WITHIN
from restow.documents.yaml_text import write_yaml
from restow.policies.lint import lint_policy

VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
#: Of the Descheduler's chart 0.36.
UPSTREAM = [
    "kind",
    "image",
    "imagePullSecrets",
    "resources",
    "ports",
    "securityContext",
    "podSecurityContext",
    "nameOverride",
    "fullnameOverride",
    "namespaceOverride",
    "commonLabels",
    "cronJobApiVersion",
    "schedule",
    "suspend",
    "concurrencyPolicy",
    "startingDeadlineSeconds",
    "ttlSecondsAfterFinished",
    "activeDeadlineSeconds",
    "timeZone",
    "successfulJobsHistoryLimit",
    "failedJobsHistoryLimit",
    "deschedulingInterval",
    "replicas",
    "leaderElection",
    "podDisruptionBudget",
    "command",
    "cmdOptions",
    "deschedulerPolicyAPIVersion",
    "deschedulerPolicy",
    "priorityClassName",
    "nodeSelector",
    "affinity",
    "topologySpreadConstraints",
    "tolerations",
    "dnsConfig",
    "initContainers",
    "rbac",
    "serviceAccount",
    "automountServiceAccountToken",
    "deploymentAnnotations",
    "cronJobAnnotations",
    "cronJobLabels",
    "jobAnnotations",
    "jobLabels",
    "podAnnotations",
    "podLabels",
    "livenessProbe",
    "service",
    "serviceMonitor",
    "extraServiceAccountVolumeMounts",
    "extraServiceAccountVolumes",
]
#: That only restow's chart has.
OWN = [
    "readinessProbe",
    "networkPolicy",
    "steering",
    "fencing",
    "confirmReplacements",
    "reserving",
    "surging",
    "migrating",
    "simulating",
]


def nested(value):
    """The keys below a value of the schema that may hold no others."""
    return set(value["properties"]) if value.get("additionalProperties") is False else None


def test_the_names_are_those_of_the_descheduler():
    assert sorted(VALUES) == sorted([*UPSTREAM, *OWN])


def test_the_schema_has_every_value_and_no_other():
    assert set(SCHEMA["properties"]) - {"global"} == set(VALUES)
    assert SCHEMA["additionalProperties"] is False


@pytest.mark.parametrize("name", [name for name, value in SCHEMA["properties"].items() if nested(value)])
def test_the_schema_has_every_key_within_a_value(name):
    if VALUES[name]:
        assert nested(SCHEMA["properties"][name]) == set(VALUES[name])


def test_the_page_names_every_value():
    table = (CHART / "README.md").read_text().partition("|---|---|")[2].partition("\n\n")[0]
    assert sorted(re.findall(r"`(\w+)`", table)) == sorted(VALUES)


@pytest.mark.parametrize("name", sorted(VALUES))
def test_every_value_is_used_by_a_template(name):
    text = "".join(path.read_text() for path in (CHART / "templates").iterdir())
    assert re.search(rf"\.Values\.{name}\b", text) or f'"{name}"' in text


def test_the_role_for_simulations_is_that_of_the_how_to():
    """The one that the test on a real control plane has."""
    template = (CHART / "templates" / "simulating.yaml").read_text().partition("\nrules:")[2].partition("{{")[0]
    page = ROOT / "docs/how-to/simulate-on-many-machines.md"
    role = yaml.safe_load(files(page.read_text(encoding="utf-8"))["role.yaml"])
    assert yaml.safe_load(template) == role["rules"]


def test_the_policy_is_that_of_the_manifests_and_without_a_remark():
    header = {"apiVersion": VALUES["deschedulerPolicyAPIVersion"], "kind": "DeschedulerPolicy"}
    policy = header | VALUES["deschedulerPolicy"]
    assert policy == documents(KUBERNETES / "base" / "policy.yaml")[0]
    assert lint_policy(write_yaml(policy).encode(), "values.yaml", PLUGINS) == []


def test_restow_comes_to_its_end_before_the_kubelet_kills_it():
    (seconds,) = re.findall(
        r"^terminationGracePeriodSeconds: (\d+)$", (CHART / "templates" / "_pod.tpl").read_text(), re.MULTILINE
    )
    assert int(seconds) >= ENDS_WITHIN + 5


def test_the_chart_is_of_this_version():
    (chart,) = documents(CHART / "Chart.yaml")
    assert chart["version"] == chart["appVersion"] == restow.__version__
