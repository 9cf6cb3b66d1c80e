"""Which profiles may stand beside one another: upstream's table of validations, and the rules of the CRD."""

from __future__ import annotations

from itertools import combinations
from typing import get_args

import pytest

from builders.kubedeschedulers import INSTALLED, a_kubedescheduler
from deploy.manifests import DEPLOY, documents
from restow.operator import resource
from restow.operator.rules import (
    BOTH_PRIORITIES,
    BOTH_THRESHOLDS,
    CONFLICTS,
    DUPLICATES,
    NEGATIVE_LIFETIME,
    SINGLETON,
    check_name,
    check_spec,
)

PROFILES = get_args(resource.ProfileName)
(CRD,) = documents(DEPLOY / "operator" / "crd.yaml")
SCHEMA = CRD["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
SPEC = SCHEMA["properties"]["spec"]["properties"]
CUSTOM = SPEC["profileCustomizations"]["properties"]


def problems(*profiles: str, **settings: object) -> list[str]:
    return [each.message for each in check_spec(a_kubedescheduler(*profiles, **settings).spec)]


def rules(schema):
    return [each["message"] for each in schema.get("x-kubernetes-validations", ())]


@pytest.mark.parametrize("profile", PROFILES)
def test_every_profile_may_stand_alone(profile):
    assert problems(profile) == []


@pytest.mark.parametrize(
    "pair",
    [
        ("AffinityAndTaints", "TopologyAndDuplicates"),
        ("AffinityAndTaints", "LifecycleAndUtilization"),
        ("AffinityAndTaints", "EvictPodsWithPVC"),
        ("LifecycleAndUtilization", "EvictPodsWithLocalStorage"),
        ("LongLifecycle", "TopologyAndDuplicates"),
        ("LongLifecycle", "DevPreviewLongLifecycle"),
        ("CompactAndScale", "SoftTopologyAndDuplicates"),
        ("KubeVirtRelieveAndMigrate", "AffinityAndTaints"),
    ],
    ids=" and ".join,
)
def test_these_may_stand_together(pair):
    assert problems(*pair) == []


@pytest.mark.parametrize("pair", CONFLICTS, ids=" and ".join)
@pytest.mark.parametrize("reverse", [False, True], ids=["as listed", "the other way round"])
def test_conflicting_profiles_are_refused_and_stop_the_descheduler(pair, reverse):
    one, other = pair
    spec = a_kubedescheduler(*(reversed(pair) if reverse else pair)).spec
    (problem,) = check_spec(spec)
    assert problem.message == f"cannot declare {one} and {other} profiles simultaneously"
    assert problem.stops


def test_a_profile_twice_is_refused():
    (problem,) = check_spec(a_kubedescheduler("AffinityAndTaints", "AffinityAndTaints").spec)
    assert (problem.reason, problem.message, problem.stops) == ("DuplicateProfiles", DUPLICATES, True)


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"deschedulingIntervalSeconds": -10}, "deschedulingIntervalSeconds"),
        ({"evictionLimits": {"total": -1}}, "evictionLimits.total"),
        ({"evictionLimits": {"node": -1}}, "evictionLimits.node"),
    ],
)
def test_negative_numbers_are_refused_and_do_not_wrap_around(settings, field):
    (problem,) = check_spec(a_kubedescheduler("AffinityAndTaints", **settings).spec)
    assert problem.message == f"spec.{field} in body should be greater than or equal to 0"
    assert problem.stops


@pytest.mark.parametrize("seconds", [0, 1, 100])
def test_intervals_that_are_accepted(seconds):
    assert problems("AffinityAndTaints", deschedulingIntervalSeconds=seconds) == []


def test_a_negative_lifetime_is_refused():
    assert problems("LifecycleAndUtilization", custom={"podLifetime": "-5m"}) == [
        "spec.profileCustomizations.podLifetime must not be negative"
    ]


def test_both_forms_of_thresholds_are_refused_only_for_virtual_machines():
    both = {"devLowNodeUtilizationThresholds": "Low", "devDeviationThresholds": "Low"}
    assert problems("KubeVirtRelieveAndMigrate", custom=both) == [BOTH_THRESHOLDS]
    assert problems("LifecycleAndUtilization", custom=both) == []


@pytest.mark.parametrize(
    ("name", "namespace", "message"),
    [
        ("other", resource.NAMESPACE, SINGLETON),
        ("cluster", "elsewhere", f"only the KubeDescheduler in the namespace {resource.NAMESPACE} counts"),
    ],
)
def test_only_one_object_counts(name, namespace, message):
    (problem,) = check_name(resource.ResourceMetadata(name, namespace), INSTALLED.namespace)
    assert (problem.reason, problem.message) == ("NotTheSingleton", message)


@pytest.mark.parametrize("namespace", ["", resource.NAMESPACE])
def test_a_file_need_not_name_the_namespace(namespace):
    assert list(check_name(resource.ResourceMetadata("cluster", namespace), INSTALLED.namespace)) == []


class TestDefinition:
    """The CustomResourceDefinition says the same as the code."""

    def test_the_rules_about_profiles_in_upstreams_order(self):
        pairs = [f"cannot declare {one} and {other} profiles simultaneously" for one, other in CONFLICTS]
        assert rules(SPEC["profiles"]) == [DUPLICATES, *pairs]
        assert len(pairs) == 16

    def test_each_rule_about_a_pair_is_about_that_pair(self):
        written = [each["rule"] for each in SPEC["profiles"]["x-kubernetes-validations"][1:]]
        assert written == [f"!('{one}' in self && '{other}' in self)" for one, other in CONFLICTS]

    def test_the_other_rules(self):
        assert rules(SCHEMA) == [SINGLETON]
        assert rules(SCHEMA["properties"]["spec"]) == [BOTH_THRESHOLDS]
        assert rules(SPEC["profileCustomizations"]) == [BOTH_PRIORITIES]
        assert rules(CUSTOM["podLifetime"]) == [NEGATIVE_LIFETIME]

    def test_every_field_has_its_enumeration_and_its_default(self):
        assert set(SPEC["profiles"]["items"]["enum"]) == set(PROFILES)
        assert SPEC["profiles"]["maxItems"] == len(PROFILES)
        assert set(SPEC["mode"]["enum"]) == set(get_args(resource.Mode))
        assert SPEC["managementState"]["pattern"] == f"^({'|'.join(get_args(resource.ManagementState))})$"
        for field, kind in (("logLevel", resource.LogLevel), ("operatorLogLevel", resource.LogLevel)):
            assert set(SPEC[field]["enum"]) == {"", *get_args(kind)}
        for field, kind in (
            ("devLowNodeUtilizationThresholds", resource.Level),
            ("devHighNodeUtilizationThresholds", resource.PackingLevel),
            ("devDeviationThresholds", resource.DeviationLevel),
        ):
            assert set(CUSTOM[field]["enum"]) == {"", *get_args(kind)}

    def test_the_fields_are_those_of_the_structs_with_their_defaults(self):
        import msgspec

        fields = {each.encode_name: each for each in msgspec.structs.fields(resource.KubeDeschedulerSpec)}
        assert SPEC.keys() == fields.keys()
        defaults = {name: each["default"] for name, each in SPEC.items() if "default" in each}
        assert defaults == {name: fields[name].default for name in defaults}
        assert defaults.keys() == {
            "managementState",
            "mode",
            "deschedulingIntervalSeconds",
            "logLevel",
            "operatorLogLevel",
        }
        custom = {each.encode_name for each in msgspec.structs.fields(resource.ProfileCustomizations)}
        assert CUSTOM.keys() == custom

    def test_every_field_of_a_spec_is_described(self):
        assert all("description" in each for each in (*SPEC.values(), *CUSTOM.values()))

    def test_it_has_a_status_and_columns(self):
        version = CRD["spec"]["versions"][0]
        assert version["subresources"] == {"status": {}}
        assert [each["name"] for each in version["additionalPrinterColumns"]] == [
            "Mode",
            "Interval",
            "Degraded",
            "Reason",
            "Available",
            "Moves",
            "Evicted",
            "Refused",
            "Profiles",
            "Age",
        ]


def test_pairs_that_are_not_listed_are_no_conflict():
    listed = {frozenset(pair) for pair in CONFLICTS}
    for pair in combinations(PROFILES, 2):
        assert bool(problems(*pair)) == (frozenset(pair) in listed)
