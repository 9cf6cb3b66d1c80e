"""The reference of KubeDeschedulers has every field, profile, query, reason and object, and no others."""

from __future__ import annotations

import re
from typing import get_args

import msgspec
import pytest

from builders.kubedeschedulers import INSTALLED, OPENSHIFT, a_kubedescheduler
from deploy.manifests import DEPLOY, documents
from docs.pages import ROOT, prose, rows, section, text_of
from restow.operator import resource, rules
from restow.operator.desired import desired
from restow.operator.facts import QUERIES
from restow.operator.guards import GUARDS

PAGE = prose(text_of("docs/reference/kubedescheduler.md"))
SOURCES = "".join(path.read_text() for path in sorted((ROOT / "src" / "restow" / "operator").glob("*.py")))


def fields(cls):
    return {each.encode_name for each in msgspec.structs.fields(cls)}


def test_every_field_of_the_spec_has_a_row_with_its_default():
    written = rows(section(PAGE, "## The spec"))
    assert written.keys() == fields(resource.KubeDeschedulerSpec)
    for field in msgspec.structs.fields(resource.KubeDeschedulerSpec):
        shown = "`[]`" if field.default == () else f"`{field.default}`"
        is_plain = isinstance(field.default, str | int | tuple)
        assert written[field.encode_name][0] == (shown if is_plain else "none")


def test_every_customization_has_a_row():
    assert rows(section(PAGE, "## Customizations")).keys() == fields(resource.ProfileCustomizations)


def test_every_profile_has_a_row():
    assert set(rows(section(PAGE, "## Profiles"))) == set(get_args(resource.ProfileName))


@pytest.mark.parametrize("pair", rules.CONFLICTS, ids=" and ".join)
def test_the_sentence_about_conflicts_covers_every_pair(pair):
    low = {"LifecycleAndUtilization", "LongLifecycle", "DevPreviewLongLifecycle", *rules.KUBEVIRT_PROFILES}
    spreading = {"TopologyAndDuplicates", "SoftTopologyAndDuplicates"}
    assert set(pair) <= low | {"CompactAndScale"} or set(pair) in (
        spreading,
        {"TopologyAndDuplicates", "CompactAndScale"},
    )


def test_every_query_has_a_row():
    assert rows(section(PAGE, "## Usage from Prometheus")).keys() == {
        "devActualUtilizationProfile",
        *QUERIES,
        "query:PROMQL",
    }


@pytest.mark.parametrize("level", [resource.Level, resource.PackingLevel, resource.DeviationLevel], ids=str)
def test_every_level_is_named(level):
    assert all(f"`{each}`" in section(PAGE, "## Customizations") for each in get_args(level))


def test_every_reason_has_a_row():
    reasons = set(re.findall(r'\b(?:Problem|Notice)\(\s*"(\w+)"', SOURCES))
    assert len(reasons) > 20
    assert set(rows(section(PAGE, "## Conditions"))) == reasons


def test_every_object_has_a_row():
    made = [
        each["kind"]
        for profile in ("AffinityAndTaints", "KubeVirtRelieveAndMigrate")
        for seconds in (0, 1)
        for each in desired(
            a_kubedescheduler(profile, mode="Automatic", deschedulingIntervalSeconds=seconds), OPENSHIFT, INSTALLED
        ).objects
    ]
    written = re.findall(r"^\| ([A-Z][\w, ]+) \| `", section(PAGE, "## Objects"), re.MULTILINE)
    assert {kind for cell in written for kind in cell.split(", ")} == set(made)


def test_the_stops_column_is_what_the_problems_say():
    found = dict(re.findall(r'Problem\(\s*"(\w+)",[^()]*?(?:\([^()]*\)[^()]*?)*?(stops=True)?\s*\)', SOURCES))
    written = {name: cells[-1] for name, cells in rows(section(PAGE, "## Conditions")).items() if len(cells) == 2}
    assert {name for name, stops in found.items() if stops} == {name for name, said in written.items() if said == "yes"}


def granted_to_the_operator():
    """Resources that its account may write, and the names that rules have for their objects; none is any name."""
    rules = [
        rule
        for each in documents(DEPLOY / "operator" / "rights.yaml")
        if each["kind"] in {"ClusterRole", "Role"}
        for rule in each["rules"]
        if {*rule["verbs"]} - {"get", "list", "watch"}
    ]
    plurals = {plural for rule in rules for plural in rule["resources"]}
    return {
        plural: {name for rule in rules if plural in rule["resources"] for name in rule.get("resourceNames", ())}
        for plural in plurals
    }


def test_every_right_to_write_of_the_operator_has_a_row_and_no_row_is_of_another():
    table = section(PAGE, "## What its token can do").partition("| What is refused")[0]
    lines = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| `")]
    written = {
        resource: set(re.findall(r"`([^`]+)`", cells[1])) - {"create", "bind"}
        for cells in lines
        for resource in re.findall(r"`([^`]+)`", cells[0])
    }
    assert written == granted_to_the_operator()


def test_every_guard_has_a_row():
    table = section(PAGE, "## What its token can do").partition("| What is refused")[2]
    named = {name for line in table.splitlines() if line.startswith("|") for name in re.findall(r"`([^`]+)`", line)}
    assert GUARDS.keys() <= named
