"""The policies of the cases."""

from __future__ import annotations

import pytest
import yaml

from bench.cases import Case
from bench.inputs import policy_of
from bench.problems import policy_for


@pytest.mark.parametrize("node_fit", [True, False])
@pytest.mark.parametrize("profile", ["low-utilization", "taints-full"])
def test_the_node_fit_of_a_case_replaces_that_of_the_profile(profile: str, node_fit: bool):
    policy = yaml.safe_load(policy_of(Case("x", cluster=profile, policy=profile, node_fit=node_fit)))
    assert policy["profiles"][0]["pluginConfig"][0] == {"name": "DefaultEvictor", "args": {"nodeFit": node_fit}}


def test_a_case_without_one_has_the_policy_of_the_profile():
    assert policy_of(Case("x", cluster="taints-full", policy="taints-full")) == policy_for("taints-full")
