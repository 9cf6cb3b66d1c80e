"""The policy as it was understood: the same policy, in full, and what was filled in is marked."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from builders.policies import PLUGINS, a_config, a_policy, a_profile, an_old_policy, as_yaml, strategy_policy
from restow.policies.load import load_document, load_policy, read_policy_document
from restow.policies.understood import DEFAULT_MARK, understood

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "policies").glob("*.yaml"))


def text_of(policy):
    document = read_policy_document(as_yaml(policy), "p.yaml")
    return understood(document, load_document(document, PLUGINS).policy)


def lines_of(policy):
    """Line to whether it is marked; lines that occur twice would hide one another, so use small policies."""
    found = {}
    for line in text_of(policy).splitlines():
        said, _, mark = line.partition("  #")
        found[said.strip()] = bool(mark)
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_text_is_the_same_policy(path):
    document = read_policy_document(path.read_bytes(), path.name)
    policy = load_document(document, PLUGINS).policy
    assert load_policy(understood(document, policy).encode(), "again.yaml", PLUGINS).policy == policy


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_understanding_it_again_marks_only_what_says_nothing(path):
    document = read_policy_document(path.read_bytes(), path.name)
    first = understood(document, load_document(document, PLUGINS).policy)
    document = read_policy_document(first.encode(), path.name)
    second = understood(document, load_document(document, PLUGINS).policy)
    assert {line.split(": ")[1] for line in second.splitlines() if DEFAULT_MARK in line} == {f"null  {DEFAULT_MARK}"}


def test_the_fields_of_a_kind_are_looked_up_once_however_many_profiles_have_it(monkeypatch):
    """msgspec evaluates every annotation anew each time, which was a quarter of the time for thousands of profiles."""
    asked: list[type] = []

    def fields(of):
        asked.append(of if isinstance(of, type) else type(of))
        return structs.fields(of)

    monkeypatch.setattr("restow.policies.understood.fields", fields)
    names = [f"profile-{number}" for number in range(3)]
    text = text_of(a_policy(*(a_profile(a_config("RemoveDuplicates"), name=name) for name in names)))
    assert all(f"name: {name}" in text for name in names)
    assert sorted(set(asked), key=repr) == sorted(asked, key=repr)


def test_what_was_written_is_not_marked():
    lines = lines_of(
        strategy_policy("LowNodeUtilization", {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}})
    )
    assert not lines["- name: LowNodeUtilization"]
    assert not lines["thresholds:"]
    assert not lines["cpu: 50"]
    assert lines["numberOfNodes: 0"]
    assert lines["useDeviationThresholds: false"]


def test_a_default_that_is_not_nothing_is_filled_in():
    lines = lines_of(strategy_policy("RemovePodsViolatingTopologySpreadConstraint", {}))
    assert lines["- DoNotSchedule"]
    assert lines["topologyBalanceNodeFit: true"]
    assert lines_of(strategy_policy("RemoveFailedPods"))["minPodLifetimeSeconds: 3600"]


def test_the_evictor_of_every_profile_is_shown():
    lines = lines_of(strategy_policy("RemoveDuplicates"))
    assert lines["- name: DefaultEvictor"]
    assert lines["nodeFit: false"]
    assert lines["- DefaultEvictor"]


def test_a_name_that_was_added_to_a_list_is_marked_alone():
    profile = a_profile(a_config("DefaultEvictor"), name="P", filter=[])
    profile["plugins"]["filter"]["enabled"] = None
    lines = lines_of(a_policy(profile))
    assert lines["- DefaultEvictor"]
    assert not lines["- name: P"]


def test_a_null_is_as_good_as_nothing():
    assert lines_of(strategy_policy("RemoveDuplicates", nodeSelector=None))["nodeSelector: null"]


def test_the_first_of_two_entries_counts():
    first, second = a_config("DefaultEvictor", {"minReplicas": 3}), a_config("DefaultEvictor", {"nodeFit": True})
    lines = lines_of(a_policy(a_profile(first, second)))
    assert not lines["minReplicas: 3"]
    assert lines["nodeFit: false"]


def test_a_duration_is_written_as_one():
    lines = lines_of(a_policy(a_profile(a_config("DefaultEvictor", {"minPodAge": "90m"}))))
    assert not lines["minPodAge: 1h30m0s"]


def test_the_spelling_that_upstream_drops_is_shown_as_the_one_it_reads():
    profile = a_profile(a_config("DefaultEvictor"), preEvictionFilter=["DefaultEvictor"])
    text = text_of(a_policy(profile))
    assert "preevictionfilter:\n      enabled:\n      - DefaultEvictor\n" in text


def test_an_old_policy_is_shown_as_the_new_one():
    policy = an_old_policy(
        {"PodLifeTime": {"enabled": True, "params": {"maxPodLifeTimeSeconds": 60}}}, ignorePvcPods=True
    )
    lines = lines_of(policy)
    assert not lines["- name: strategy-PodLifeTime-profile"]
    assert not lines["maxPodLifeTimeSeconds: 60"]
    assert not lines["ignorePvcPods: true"]
    assert lines["states: []"]


def test_a_deprecated_collector_is_shown_only_if_it_is_used():
    assert "metricsCollector" not in text_of(strategy_policy("RemoveDuplicates"))
    text = text_of(strategy_policy("RemoveDuplicates", metricsCollector={"enabled": True}))
    assert "metricsCollector:\n  enabled: true\n" in text


def test_an_empty_policy_is_all_defaults():
    document = read_policy_document(b"", "p.yaml")
    text = understood(document, load_document(document, PLUGINS).policy)
    assert all(line.endswith(DEFAULT_MARK) for line in text.splitlines())


def test_a_file_without_a_version_does_nothing_whatever_it_holds():
    policy = strategy_policy("RemoveDuplicates")
    assert "RemoveDuplicates" not in text_of({"profiles": policy["profiles"]})


NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=12)


@settings(max_examples=40, deadline=None)
@given(name=NAMES, kinds=st.lists(NAMES, max_size=3), selector=st.sampled_from([None, "", "a=b", "yes", "a in (b,c)"]))
def test_any_text_comes_back(name, kinds, selector):
    profile = a_profile(
        a_config("RemoveDuplicates", {"excludeOwnerKinds": kinds}), name=name, balance=["RemoveDuplicates"]
    )
    document = read_policy_document(as_yaml(a_policy(profile, nodeSelector=selector)), "p.yaml")
    policy = load_document(document, PLUGINS).policy
    assert load_policy(understood(document, policy).encode(), "again.yaml", PLUGINS).policy == policy
