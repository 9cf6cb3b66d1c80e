"""``restow generate``: a cluster, or the policy that goes with it."""

from __future__ import annotations

import json

SMALL = ["--nodes", "4", "--pods", "20"]


def test_a_cluster_can_be_planned(restow):
    generated = restow("generate", *SMALL)
    assert (generated.status, generated.err) == (0, "")
    assert restow("plan", "-f", "-", stdin=generated.out.encode()).out.startswith("cluster  4 nodes, 20 pods")


def test_the_same_arguments_give_the_same_bytes(restow):
    assert restow("generate", *SMALL) == restow("generate", *SMALL)
    assert restow("generate", *SMALL) != restow("generate", *SMALL, "--seed", "2")


def test_a_policy_is_valid(restow):
    policy = restow("generate", "--profile", "low-utilization", "--policy")
    assert policy.status == 0
    assert restow("policy", "validate", "-", stdin=policy.out.encode()).status == 0


def test_an_unknown_profile_lists_the_known_ones(restow):
    ran = restow("generate", "--profile", "nope")
    assert (ran.status, ran.out) == (2, "")
    assert "there is no profile nope" in ran.err
    assert "\n  low-utilization " in ran.err


def test_verbose_tells_how_long_it_took(restow):
    ran = restow("generate", *SMALL, "-v", "1")
    assert ran.err.startswith("generate 0.")
    assert len(json.loads(ran.out)["items"]) >= 24
