"""What is left of a document without its faults, and that one fault does not hide the others."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, a_config, a_policy, a_profile, an_old_policy, as_yaml
from restow.policies.load import validate_policy
from restow.policies.sound_parts import sound_parts


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
