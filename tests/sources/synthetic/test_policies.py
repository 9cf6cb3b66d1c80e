"""The policy of a profile is one that the Kubernetes Descheduler reads, and does the profile's work."""

from __future__ import annotations

import pytest
import yaml

from restow.descheduling.registry import plugins
from restow.policies.load import load_policy
from restow.sources.synthetic import policy_for, profiles


@pytest.mark.parametrize("profile", list(profiles()))
def test_every_enabled_strategy_is_configured(profile):
    policy = yaml.safe_load(policy_for(profile))
    assert (policy["apiVersion"], policy["kind"]) == ("descheduler/v1alpha2", "DeschedulerPolicy")
    (only,) = policy["profiles"]
    configured = [entry["name"] for entry in only["pluginConfig"]]
    enabled = [name for point in only["plugins"].values() for name in point["enabled"]]
    assert configured[0] == "DefaultEvictor"
    assert sorted(configured[1:]) == sorted(enabled)


def test_strategies_stand_at_their_extension_point():
    plugins = yaml.safe_load(policy_for("mixed"))["profiles"][0]["plugins"]
    assert "RemoveDuplicates" in plugins["balance"]["enabled"]
    assert "RemoveFailedPods" in plugins["deschedule"]["enabled"]


def node_fit(text):
    return yaml.safe_load(text)["profiles"][0]["pluginConfig"][0]["args"].get("nodeFit", False)


def test_node_fit_is_the_profiles_unless_told():
    assert not node_fit(policy_for("low-utilization"))
    assert node_fit(policy_for("low-utilization", node_fit=True))
    assert node_fit(policy_for("taints-full"))
    assert not node_fit(policy_for("taints-full", node_fit=False))


@pytest.mark.parametrize("profile", list(profiles()))
def test_every_policy_loads_without_a_warning(profile):
    loaded = load_policy(policy_for(profile).encode(), "policy.yaml", plugins())
    assert loaded.warnings == ()
