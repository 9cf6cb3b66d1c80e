"""Old flags fill in what a policy leaves out, whatever the policy looks like."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, a_config, a_policy, a_profile, an_old_policy, as_yaml
from restow.errors import InputError
from restow.policies.fallbacks import Fallbacks, with_fallbacks
from restow.policies.load import load_policy, read_policy_document

LOCAL = Fallbacks(evict_local_storage_pods=True)


def filled(policy, fallbacks):
    return with_fallbacks(read_policy_document(as_yaml(policy), "p.yaml"), fallbacks).data


def evictor_args(*configs):
    profile = filled(a_policy(a_profile(*configs)), LOCAL)["profiles"][0]
    return next(entry["args"] for entry in profile["pluginConfig"] if entry["name"] == "DefaultEvictor")


def test_without_flags_the_document_is_the_same():
    document = read_policy_document(as_yaml(a_policy()), "p.yaml")
    assert with_fallbacks(document, Fallbacks()) is document
    assert with_fallbacks(document, Fallbacks(max_pods_to_evict_per_node=0)).data == document.data


def test_the_document_itself_is_not_changed():
    document = read_policy_document(as_yaml(a_policy(a_profile(a_config("DefaultEvictor", {})))), "p.yaml")
    with_fallbacks(document, LOCAL)
    assert document.data["profiles"][0]["pluginConfig"] == [{"name": "DefaultEvictor", "args": {}}]


def test_globals_go_to_the_top_of_either_version():
    flags = Fallbacks(node_selector="a=b", max_pods_to_evict_per_node=3)
    for policy in (a_policy(), an_old_policy({})):
        data = filled(policy, flags)
        assert (data["nodeSelector"], data["maxNoOfPodsToEvictPerNode"]) == ("a=b", 3)


def test_a_null_says_nothing():
    assert filled(a_policy(nodeSelector=None), Fallbacks(node_selector="a=b"))["nodeSelector"] == "a=b"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({}, {"evictLocalStoragePods": True}),
        ({"evictLocalStoragePods": False}, {"evictLocalStoragePods": False}),
        ({"ignorePvcPods": True}, {"ignorePvcPods": True, "evictLocalStoragePods": True}),
        (
            {"podProtections": {"extraEnabled": ["PodsWithPVC"]}},
            {"podProtections": {"extraEnabled": ["PodsWithPVC"], "defaultDisabled": ["PodsWithLocalStorage"]}},
        ),
        (
            {"podProtections": {"defaultDisabled": ["DaemonSetPods"]}},
            {"podProtections": {"defaultDisabled": ["DaemonSetPods"]}},
        ),
    ],
    ids=["nothing", "no", "other old words", "new words", "new words that say it"],
)
def test_local_storage_is_said_in_the_words_of_the_policy(written, expected):
    assert evictor_args(a_config("DefaultEvictor", written)) == expected


def test_a_profile_without_an_evictor_gets_one():
    assert evictor_args(a_config("RemoveDuplicates")) == {"evictLocalStoragePods": True}


def test_the_evictor_that_counts_is_the_first():
    first, second = a_config("DefaultEvictor", {"nodeFit": True}), a_config("DefaultEvictor", {})
    assert evictor_args(first, second) == {"nodeFit": True, "evictLocalStoragePods": True}


@pytest.mark.parametrize(
    "profiles",
    [
        3,
        [3],
        [{"pluginConfig": 3}],
        [{"pluginConfig": [3]}],
        [{"pluginConfig": [a_config("DefaultEvictor", 3)]}],
    ],
    ids=str,
)
def test_what_is_no_policy_is_left_for_the_reader_to_refuse(profiles):
    data = filled({**a_policy(), "profiles": profiles}, LOCAL)
    with pytest.raises(InputError, match=r"^p\.yaml:"):
        load_policy(as_yaml(data), "p.yaml", PLUGINS)


def test_a_profile_that_is_null_stays_null():
    assert filled({**a_policy(), "profiles": [None]}, LOCAL)["profiles"] == [None]
