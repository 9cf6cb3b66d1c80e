"""Plain data to structs: Go's rules and Go's words. The expected texts were printed by sigs.k8s.io/json."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, a_config, a_policy, a_profile, an_old_policy, as_yaml
from restow.descheduling.evictor_args import DefaultEvictorArgs
from restow.descheduling.plugins.low_node_utilization import LowNodeUtilizationArgs
from restow.descheduling.plugins.pod_life_time import PodConditionFilter, PodLifeTimeArgs
from restow.descheduling.plugins.remove_duplicates import RemoveDuplicatesArgs
from restow.policies.load import validate_policy
from restow.policies.policy import RestowSettings
from restow.policies.schema import decode, sound_parts

AT = ("profiles", 0, "args")


def texts(data, cls):
    return [issue.message for issue in decode(data, cls, AT).errors]


@pytest.mark.parametrize(
    ("data", "cls", "text"),
    [
        pytest.param(
            {"maxPodLifeTimeSeconds": -5},
            PodLifeTimeArgs,
            "json: cannot unmarshal number -5 into Go struct field PodLifeTimeArgs.maxPodLifeTimeSeconds of type uint",
            id="X-77",
        ),
        pytest.param(
            {"maxPodLifeTimeSeconds": "5"},
            PodLifeTimeArgs,
            "json: cannot unmarshal string into Go struct field PodLifeTimeArgs.maxPodLifeTimeSeconds of type uint",
            id="text for a number",
        ),
        pytest.param(
            {"maxPodLifeTimeSeconds": True},
            PodLifeTimeArgs,
            "json: cannot unmarshal bool into Go struct field PodLifeTimeArgs.maxPodLifeTimeSeconds of type uint",
            id="boolean for a number",
        ),
        pytest.param(
            {"maxPodLifeTimeSeconds": 2**64},
            PodLifeTimeArgs,
            "json: cannot unmarshal number 18446744073709551616 into "
            "Go struct field PodLifeTimeArgs.maxPodLifeTimeSeconds of type uint",
            id="too large",
        ),
        pytest.param(
            {"conditions": [{}, {"minTimeSinceLastTransitionSeconds": 1.5}]},
            PodLifeTimeArgs,
            "json: cannot unmarshal number 1.5 into "
            "Go struct field PodConditionFilter.conditions.minTimeSinceLastTransitionSeconds of type uint",
            id="fraction in a struct in a list",
        ),
        pytest.param(
            {"exitCodes": [5_000_000_000]},
            PodLifeTimeArgs,
            "json: cannot unmarshal number 5000000000 into Go struct field PodLifeTimeArgs.exitCodes of type int32",
            id="int32",
        ),
        pytest.param(
            {"labelSelector": {"matchLabels": {"a": 5}}},
            PodLifeTimeArgs,
            "json: cannot unmarshal number into Go struct field LabelSelector.labelSelector.matchLabels of type string",
            id="number for text in a map",
        ),
        pytest.param(
            {"states": "Running"},
            PodLifeTimeArgs,
            "json: cannot unmarshal string into Go struct field PodLifeTimeArgs.states of type []string",
            id="text for a list",
        ),
        pytest.param(
            {"includingInitContainers": "yes"},
            PodLifeTimeArgs,
            "json: cannot unmarshal string into Go struct field PodLifeTimeArgs.includingInitContainers of type bool",
            id="text for a boolean",
        ),
        pytest.param(
            {"namespaces": ["a"]},
            RemoveDuplicatesArgs,
            "json: cannot unmarshal array into Go struct field RemoveDuplicatesArgs.namespaces of type api.Namespaces",
            id="list for a struct",
        ),
        pytest.param(
            {"thresholds": {"cpu": "20"}},
            LowNodeUtilizationArgs,
            "json: cannot unmarshal string into Go struct field LowNodeUtilizationArgs.thresholds of type api.Percentage",
            id="text for a percentage",
        ),
        pytest.param(
            "foo",
            RemoveDuplicatesArgs,
            "json: cannot unmarshal string into Go value of type RemoveDuplicatesArgs",
            id="text for everything",
        ),
        pytest.param(
            {"minPodAge": 5},
            DefaultEvictorArgs,
            "json: cannot unmarshal number into Go struct field DefaultEvictorArgs.minPodAge of type string",
            id="age",
        ),
        pytest.param(
            {"minPodAge": "5x"}, DefaultEvictorArgs, 'time: unknown unit "x" in duration "5x"', id="unit of an age"
        ),
    ],
)
def test_what_does_not_fit_is_told_in_gos_words(data, cls, text):
    (message,) = texts(data, cls)
    assert message.startswith("must be ")
    assert message.endswith(f"({text})")


def test_every_misfit_is_told_with_its_path():
    decoded = decode({"states": [1, "a"], "exitCodes": {}, "conditions": [{"type": []}]}, PodLifeTimeArgs, AT)

    assert decoded.value is None
    assert [issue.path for issue in decoded.errors] == [
        (*AT, "states", 0),
        (*AT, "exitCodes"),
        (*AT, "conditions", 0, "type"),
    ]


def test_unknown_keys_are_collected_at_every_level_and_spoil_nothing():
    data = {"bogus": 1, "labelSelector": {"matchLabel": {}}, "conditions": [{"kind": "x"}]}

    decoded = decode(data, PodLifeTimeArgs, AT)

    assert decoded.value is not None
    assert [key.inner for key in decoded.unknown] == [
        ("bogus",),
        ("labelSelector", "matchLabel"),
        ("conditions", 0, "kind"),
    ]
    assert decoded.unknown[1].path == (*AT, "labelSelector", "matchLabel")


def test_keys_are_case_sensitive():
    (key,) = decode({"MaxPodLifeTimeSeconds": 5}, PodLifeTimeArgs, AT).unknown
    assert key.inner == ("MaxPodLifeTimeSeconds",)


def test_null_is_as_good_as_nothing():
    data = {"maxPodLifeTimeSeconds": None, "states": None, "labelSelector": None, "includingInitContainers": None}
    assert decode(data, PodLifeTimeArgs, AT).value == PodLifeTimeArgs()
    assert decode(None, PodLifeTimeArgs, AT).value == PodLifeTimeArgs()


def test_null_inside_a_list_or_a_map_is_the_zero_of_its_type():
    args = decode({"states": [None], "conditions": [None], "exitCodes": [None]}, PodLifeTimeArgs, AT).value
    assert (args.states, args.conditions, args.exit_codes) == (("",), (PodConditionFilter(),), (0,))
    assert decode({"thresholds": {"cpu": None}}, LowNodeUtilizationArgs, AT).value.thresholds == {"cpu": 0.0}


def test_whole_numbers_are_percentages_too():
    assert decode({"thresholds": {"cpu": 20, "memory": 2.5}}, LowNodeUtilizationArgs, AT).value.thresholds == {
        "cpu": 20.0,
        "memory": 2.5,
    }


def test_a_duration_becomes_nanoseconds():
    assert decode({"minPodAge": "1h30m"}, DefaultEvictorArgs, AT).value.min_pod_age == 90 * 60 * 10**9


def test_args_may_carry_a_type():
    assert decode({"apiVersion": "x", "kind": "y"}, RemoveDuplicatesArgs, AT).errors == ()


def test_a_choice_names_the_choices():
    assert texts({"placement": "proove"}, RestowSettings) == ["must be prove or upstream, not 'proove'"]
    assert texts({"certainty": []}, RestowSettings) == ["must be certain or likely or possible or a number, not []"]


def places(policy):
    """Where errors are found."""
    return [finding.path for finding in validate_policy(as_yaml(policy), "p.yaml", PLUGINS)]


@pytest.mark.parametrize(
    ("fault", "left"),
    [
        (("nodeSelector",), {"profiles": [{"name": "P", "names": [1, 2]}]}),
        (("profiles", 0, "name"), {"nodeSelector": 5, "profiles": [{"names": [1, 2]}]}),
        (("profiles", 0, "names", 1), {"nodeSelector": 5, "profiles": [{"name": "P"}]}),
        (("profiles", 0), {"nodeSelector": 5}),
    ],
    ids=["key", "key of a profile", "item of a list", "whole profile"],
)
def test_a_fault_takes_its_key_or_its_whole_list_with_it(fault, left):
    data = {"nodeSelector": 5, "profiles": [{"name": "P", "names": [1, 2]}]}
    assert sound_parts(data, [fault, fault]) == left
    assert data["nodeSelector"] == 5


def test_faults_of_the_outer_document_do_not_hide_those_of_arguments():
    profile = a_profile(a_config("PodLifeTime", {"bogus": 1}), a_config("RemovePodsHavingTooManyRestarts"))
    assert places(a_policy(profile, nodeSelector=5, maxNoOfPodsToEvictTotal="x")) == [
        "nodeSelector",
        "maxNoOfPodsToEvictTotal",
        "profiles[0].pluginConfig[0].args.bogus",
        "profiles[0].pluginConfig[1].args",
    ]


def test_of_a_faulty_profile_only_what_is_there_is_judged():
    """Plugins and configurations of a profile whose lists are not all there would seem to be missing."""
    faulty = a_profile(a_config("RemoveDuplicates"), balance=[{"name": "RemoveDuplicates"}], deschedule=["Zed"])
    other = a_profile(balance=["RemoveDuplicates"])
    assert places(a_policy(faulty, other)) == [
        "profiles[0].plugins.balance.enabled[0]",
        "profiles[0].plugins.deschedule.enabled[0]",
        "profiles[1].plugins.balance.enabled[0]",
    ]


def test_faults_of_the_restow_section_do_not_hide_others():
    assert places(a_policy(restow={"placement": 5}, nodeSelector="a in b")) == ["restow.placement", "nodeSelector"]


def test_a_faulty_strategy_of_the_old_format_does_not_hide_others():
    strategies = {
        "PodLifeTime": {"enabled": True, "params": {"podLifeTime": {"maxPodLifeTimeSeconds": "x"}}},
        "RemovePodsViolatingNodeAffinity": {"enabled": True},
    }
    assert places(an_old_policy(strategies, nodeSelector="a in b")) == [
        "strategies.PodLifeTime.params.podLifeTime.maxPodLifeTimeSeconds",
        "strategies.RemovePodsViolatingNodeAffinity.params",
        "nodeSelector",
    ]
