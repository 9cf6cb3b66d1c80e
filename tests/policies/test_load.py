"""Versions, empty files, errors as one sentence, and the conversion to the newest version."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, an_old_policy, as_json, as_yaml, strategy_policy
from restow.documents.findings import path_text
from restow.errors import InputError
from restow.policies.load import convert_policy, load_policy, validate_policy
from restow.policies.policy import Policy


def error_of(text):
    with pytest.raises(InputError) as raised:
        load_policy(text, "policy.yaml", PLUGINS)
    return str(raised.value)


def test_yaml_and_json_load_the_same():
    policy = strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 5, "labelSelector": {"matchLabels": {"y": "no"}}})
    assert load_policy(as_yaml(policy), "p", PLUGINS) == load_policy(as_json(policy), "p", PLUGINS)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"", "an empty file"),
        (b"# nothing\n", "an empty file"),
        (b"{}", "an empty file"),
        (b"kind: DeschedulerPolicy\nprofiles: 5\n", "no apiVersion"),
        (b"apiVersion: ''\nprofiles: []\n", "no apiVersion"),
    ],
)
def test_without_a_version_nothing_runs_and_that_is_said_loudly(text, what):
    """Upstream starts with such a file, and does nothing, without a word."""
    loaded = load_policy(text, "policy.yaml", PLUGINS)

    assert loaded.policy == Policy()
    assert loaded.version == ""
    assert [str(warning) for warning in loaded.warnings] == [
        f"policy.yaml:1: {what}: upstream runs nothing with it and says nothing; add apiVersion: descheduler/v1alpha2"
    ]


def test_strategies_without_a_version_are_of_the_old_one():
    (warning,) = load_policy(b"strategies: {}\n", "policy.yaml", PLUGINS).warnings
    assert warning.advice.endswith("add apiVersion: descheduler/v1alpha1")


def test_a_missing_kind_is_no_matter():
    assert load_policy(b"apiVersion: descheduler/v1alpha2", "policy.yaml", PLUGINS).warnings == ()


@pytest.mark.parametrize(
    ("text", "registered"),
    [
        (b"apiVersion: descheduler/v1\n", 'kind "DeschedulerPolicy" is registered for version "descheduler/v1"'),
        (b"kind: Pod\n", 'kind "Pod" is registered for the internal version of group "descheduler"'),
        (b"kind: Pod\napiVersion: v1\n", 'kind "Pod" is registered for version "v1"'),
        (
            b"apiVersion: descheduler/v1alpha2\nkind: Foo\n",
            'kind "Foo" is registered for version "descheduler/v1alpha2"',
        ),
    ],
)
def test_other_kinds_and_versions_are_refused(text, registered):
    assert f": no {registered} in scheme; restow reads the DeschedulerPolicy of" in error_of(text)


@pytest.mark.parametrize("key", ["apiVersion", "kind"])
def test_the_version_must_be_text(key):
    assert error_of(f"{key}: 5\n".encode()) == (
        f"policy.yaml:1: {key}: must be text (couldn't get version/kind; json parse error: "
        f"json: cannot unmarshal number into Go struct field .{key} of type string)"
    )


def test_an_error_names_file_line_field_and_what_to_do():
    text = b"""apiVersion: descheduler/v1alpha2
profiles:
- name: default
  pluginConfig:
  - name: DefaultEvictor
  - name: LowNodeUtilization
    args:
      tresholds: {cpu: 20}
"""
    assert error_of(text) == (
        'policy.yaml:8: profiles[0].pluginConfig[1].args.tresholds: unknown field "tresholds" of LowNodeUtilization; '
        'did you mean "thresholds"?'
    )


def test_every_error_is_named_one_a_line():
    policy = strategy_policy("RemovePodsHavingTooManyRestarts", {"states": ["Failed"]})
    assert error_of(as_yaml(policy)) == (
        "policy.yaml:7: profiles[0].pluginConfig[0].args: in profile P: invalid PodsHavingTooManyRestarts threshold\n"
        "policy.yaml:7: profiles[0].pluginConfig[0].args: in profile P: states must be one of [CrashLoopBackOff Running]"
    )


def test_a_sound_policy_has_nothing_to_find():
    assert validate_policy(as_yaml(strategy_policy("RemoveDuplicates")), "policy.yaml", PLUGINS) == []


def test_further_documents_are_not_read():
    (warning,) = load_policy(b"apiVersion: descheduler/v1alpha2\n---\na: 1\n", "policy.yaml", PLUGINS).warnings
    assert warning.message == "only the first YAML document of a file is read"


def test_paths_are_written_as_people_write_them():
    assert path_text(("profiles", 0, "pluginConfig", 1, "args")) == "profiles[0].pluginConfig[1].args"
    assert path_text(()) == ""


def test_the_old_format_becomes_the_new_one():
    old = as_yaml(an_old_policy({"RemoveDuplicates": {"enabled": True}}))

    text, findings = convert_policy(old, "old.yaml", PLUGINS)

    assert text.startswith("apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n")
    assert load_policy(text.encode(), "new.yaml", PLUGINS).policy == load_policy(old, "old.yaml", PLUGINS).policy
    assert findings == []


def test_what_had_no_effect_is_told():
    params = {"labelSelector": {"matchLabels": {"a": "b"}}}
    old = as_yaml(an_old_policy({"RemoveDuplicates": {"enabled": True, "params": params}}))
    (finding,) = convert_policy(old, "old.yaml", PLUGINS)[1]
    assert finding.message == "labelSelector has no effect on RemoveDuplicates"


def test_the_new_format_comes_back_as_it_is():
    policy = strategy_policy("RemoveDuplicates", maxNoOfPodsToEvictTotal=5)
    assert convert_policy(as_json(policy), "new.json", PLUGINS) == (as_yaml(policy).decode(), [])


@pytest.mark.parametrize("text", [b"", b"profiles: []\n"])
def test_without_a_version_there_is_nothing_to_convert(text):
    with pytest.raises(InputError, match="add apiVersion: descheduler/v1alpha2"):
        convert_policy(text, "p.yaml", PLUGINS)


def test_what_upstream_refuses_is_not_converted():
    with pytest.raises(InputError, match="unknown strategy name: Foo"):
        convert_policy(as_yaml(an_old_policy({"Foo": {}})), "old.yaml", PLUGINS)
