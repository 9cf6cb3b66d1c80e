"""``policy convert``: any version in, descheduler/v1alpha2 out, with what got lost on the way."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, an_old_policy, as_json, as_yaml, strategy_policy
from restow.errors import InputError
from restow.policies.convert import convert_policy
from restow.policies.load import load_policy


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
