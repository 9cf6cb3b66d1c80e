"""Each problem has the work that its description promises, counted here without any strategy's code.

Sizes: 200 nodes and 6,000 pods, a twenty-fifth of the measured 5,000 and 150,000.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import datetime
from functools import cache

import pytest
import yaml

from bench.problems import ALL_PROFILES, generate, policy_for
from restow.descheduling.registry import plugins
from restow.policies.load import load_policy
from restow.sources.synthetic import NOW
from restow.sources.synthetic.names import ZONE

NODES, PODS = 200, 6000


@cache
def cluster(profile: str):
    objects = list(generate(profile, NODES, PODS, 1))
    nodes = {item["metadata"]["name"]: item for item in objects if item["kind"] == "Node"}
    return nodes, [item for item in objects if item["kind"] == "Pod"]


def app(pod):
    return pod["metadata"]["labels"]["app"]


def node(pod):
    return pod["spec"]["nodeName"]


def by_owner(pods, key):
    """``{app: Counter of key(pod)}``."""
    counts = defaultdict(Counter)
    for pod in pods:
        counts[app(pod)][key(pod)] += 1
    return counts


def free_milli(nodes, pods):
    """CPU that no pod requests, by node."""
    free = {name: int(item["status"]["allocatable"]["cpu"].removesuffix("m")) for name, item in nodes.items()}
    for pod in pods:
        free[node(pod)] -= 100
    return free


def test_low_utilization_has_half_its_nodes_at_77_percent_and_half_at_23():
    nodes, pods = cluster("low-utilization")
    assert Counter(Counter(node(pod) for pod in pods).values()) == {46: NODES // 2, 14: NODES // 2}
    assert {item["status"]["allocatable"]["cpu"] for item in nodes.values()} == {"6000m"}
    # To 50 % of 6 cores with 100m each: 16 pods a hot node, and the cold ones have room for exactly as many.
    assert (46 - 30) * NODES // 2 == 40_000 // 25


def test_duplicates_runs_every_owner_in_pairs():
    _, pods = cluster("duplicates")
    pairs = by_owner(pods, node)
    assert all(set(counts.values()) == {2} for counts in pairs.values())
    assert sum(len(counts) for counts in pairs.values()) == 75_000 // 25


def test_node_affinity_puts_two_of_three_pods_into_the_wrong_zone():
    nodes, pods = cluster("node-affinity")
    wrong = [pod for pod in pods if nodes[node(pod)]["metadata"]["labels"][ZONE] != required_zone(pod)]
    assert len(wrong) == 100_000 // 25
    assert min(free_milli(nodes, pods).values()) >= 100


def test_node_affinity_nowhere_matches_no_node():
    nodes, pods = cluster("node-affinity-nowhere")
    zones = {item["metadata"]["labels"][ZONE] for item in nodes.values()}
    assert not zones & {required_zone(pod) for pod in pods}


def required_zone(pod):
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    return required["nodeSelectorTerms"][0]["matchExpressions"][0]["values"][0]


@pytest.mark.parametrize(("profile", "namespaces"), [("spread-zone", 30), ("spread-one-namespace", 1)])
def test_spread_zone_has_thirteen_moves_in_three_owners(profile, namespaces):
    nodes, pods = cluster(profile)
    zones = by_owner(pods, lambda pod: nodes[node(pod)]["metadata"]["labels"][ZONE])
    assert {tuple(sorted(counts.values())) for counts in zones.values()} == {(1, 1, 8), (1, 2, 7)}
    moves = sum({8: 5, 7: 4}[max(counts.values())] for counts in zones.values())
    assert abs(moves - 65_000 // 25) < 10
    assert len({pod["metadata"]["namespace"] for pod in pods}) == namespaces
    assert min(free_milli(nodes, pods).values()) >= 100


@pytest.mark.parametrize("profile", ["spread-hostname", "anti-affinity", "anti-affinity-one-namespace"])
def test_almost_even_profiles_have_one_crowded_owner_in_a_hundred(profile):
    _, pods = cluster(profile)
    crowded = [counts for counts in by_owner(pods, node).values() if max(counts.values()) > 1]
    assert len(crowded) == 150 // 25
    assert all(max(counts.values()) == 2 for counts in crowded)


@pytest.mark.parametrize("profile", ["taints-full", "spread-nofit"])
def test_full_profiles_have_no_cpu_left_anywhere(profile):
    assert set(free_milli(*cluster(profile)).values()) == {0}


def test_spread_nofit_has_large_uneven_owners():
    nodes, pods = cluster("spread-nofit")
    zones = by_owner(pods, lambda pod: nodes[node(pod)]["metadata"]["labels"][ZONE])
    assert {sum(counts.values()) for counts in zones.values()} == {PODS // 30}
    assert all(max(counts.values()) > 2 * min(counts.values()) for counts in zones.values())


@pytest.mark.parametrize(("profile", "old"), [("lifetime", 1500 // 25), ("lifetime-nodefit", 0)])
def test_lifetime_has_one_old_pod_in_a_hundred(profile, old):
    _, pods = cluster(profile)
    ages = [datetime.fromisoformat(NOW) - datetime.fromisoformat(pod["metadata"]["creationTimestamp"]) for pod in pods]
    assert sum(age.days > 5 * 365 for age in ages) == old
    assert sum(age.days >= 28 for age in ages) == old


def test_taints_has_none():
    nodes, _ = cluster("taints")
    assert all("taints" not in item["spec"] for item in nodes.values())


def test_restarts_and_failed_have_their_share():
    _, crashing = cluster("restarts")
    assert sum(pod["status"]["containerStatuses"][0]["restartCount"] >= 100 for pod in crashing) == 3000 // 25
    _, failed = cluster("failed")
    assert sum(pod["status"]["phase"] == "Failed" for pod in failed) == 15_000 // 25


def test_pods_of_uniform_clusters_are_evictable():
    """Controlled, of ordinary priority, without volumes: nothing but the scenario's own rules decides."""
    for profile in ("low-utilization", "spread-zone"):
        _, pods = cluster(profile)
        assert all(pod["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet" for pod in pods)
        assert all(pod["spec"]["priority"] == 0 and "volumes" not in pod["spec"] for pod in pods)


@pytest.mark.parametrize("profile", list(ALL_PROFILES))
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


def test_node_fit_is_off_unless_the_profile_is_about_it():
    assert not node_fit(policy_for("low-utilization"))
    assert node_fit(policy_for("taints-full"))


@pytest.mark.parametrize("profile", list(ALL_PROFILES))
def test_every_policy_loads_without_a_warning(profile):
    loaded = load_policy(policy_for(profile).encode(), "policy.yaml", plugins())
    assert loaded.warnings == ()
