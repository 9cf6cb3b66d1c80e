"""What is said of names and forms that a policy cannot have: what is to be written instead."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, a_config, a_policy, a_profile, an_old_policy, as_yaml, strategy_policy
from restow.policies.load import validate_policy


def errors(policy):
    return [finding.advice for finding in validate_policy(as_yaml(policy), "p.yaml", PLUGINS)]


@pytest.mark.parametrize(
    ("plugin", "argument", "instead"),
    [
        ("PodLifeTime", "podStatusPhases", "write states: [...]"),
        (
            "RemovePodsViolatingTopologySpreadConstraint",
            "includeSoftConstraints",
            "write constraints: [DoNotSchedule, ScheduleAnyway]",
        ),
        (
            "DefaultEvictor",
            "evictableNamespaces",
            "it is an argument of LowNodeUtilization and HighNodeUtilization; here write namespaceLabelSelector",
        ),
        ("DefaultEvictor", "thresholdPriority", "write priorityThreshold: {value: ...}"),
        ("HighNodeUtilization", "namespaces", "write evictableNamespaces: {exclude: [...]}"),
        ("RemoveDuplicates", "nodeFit", "it is an argument of DefaultEvictor"),
        (
            "RemovePodsHavingTooManyRestarts",
            "podsHavingTooManyRestarts",
            "write what is inside it directly into args",
        ),
    ],
)
def test_renamed_and_misplaced_arguments_come_with_their_new_form(plugin, argument, instead):
    (text, *_) = errors(strategy_policy(plugin, {argument: True}))
    assert text == f'unknown field "{argument}" of {plugin}; {instead}'


def test_an_inner_key_of_that_name_is_another():
    (text,) = errors(strategy_policy("RemoveDuplicates", {"namespaces": {"nodeFit": []}}))
    assert text == 'unknown field "namespaces.nodeFit" of RemoveDuplicates'


def test_a_plugin_that_is_written_as_a_mapping_is_told_how_to_write_it():
    (text,) = errors(a_policy(a_profile(a_config("RemoveDuplicates"), balance=[{"name": "RemoveDuplicates"}])))
    assert text == (
        "must be text, not a mapping (json: cannot unmarshal object into Go struct field "
        "PluginSet.profiles.plugins.balance.enabled of type string); write - RemoveDuplicates"
    )


@pytest.mark.parametrize("name", ["LowNodeLoad", "MigrationController", "CustomPriority"])
def test_plugins_of_other_projects_are_called_so(name):
    found = errors(a_policy(a_profile(a_config(name), balance=[name])))
    assert [text.partition("; ")[2] for text in found] == ["it is not one of the Descheduler's own plugins"] * 2
    (text,) = errors(an_old_policy({name: {"enabled": True}}))
    assert text.endswith("; it is not one of the Descheduler's own plugins")


@pytest.mark.parametrize("name", ["LowNodeUtilisation", "PodsHavingTooManyRestarts", "RemoveDuplicate"])
def test_a_misspelled_plugin_is_not_a_foreign_one(name):
    assert "; did you mean " in errors(a_policy(a_profile(balance=[name])))[0]
