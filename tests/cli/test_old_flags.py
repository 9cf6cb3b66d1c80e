"""Flags and policies of Descheduler 0.5 to 0.22 do what they did."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builders import (
    EMPTY_DIR,
    NOW,
    Owner,
    a_list,
    a_node,
    a_pod,
    node_affinity,
    node_term,
    pod_anti_affinity,
    pod_term,
    selector,
)
from builders.policies import a_config, a_policy, a_profile, an_old_policy, as_yaml, strategy_policy
from cli.conftest import TOLD

FOUR_STRATEGIES = Path(__file__).parents[2] / "examples" / "policies" / "descheduler-0.10.yaml"
AGE = {"maxPodLifeTimeSeconds": 60}


@pytest.fixture
def evicted(restow, tmp_path):
    """The names of the pods that a policy evicts from a cluster."""

    def ran(objects, policy, *flags):
        (tmp_path / "cluster.json").write_text(json.dumps(a_list(*objects, *TOLD)))
        (tmp_path / "policy.yaml").write_bytes(policy)
        files = ["-f", "cluster.json", "--policy-config-file", "policy.yaml"]
        found = restow("plan", *files, "--now", NOW, "-o", "json", *flags)
        assert found.status == 0, found.err
        return [move["pod"]["name"] for move in json.loads(found.out)["moves"]]

    return ran


def old_pods_on(nodes, **options):
    return [
        a_pod(f"{node}-{at}", node=node, owner=Owner("ReplicaSet", "r"), created="2020-01-01T00:00:00Z", **options)
        for node in nodes
        for at in range(3)
    ]


NODES = [a_node("n1", labels={"role": "worker"}), a_node("n2", labels={"role": "worker"}), a_node("n3")]
CLUSTER = [*NODES, *old_pods_on(["n1", "n3"])]

#: The same strategy in both versions.
POLICIES = {
    "v1alpha1": lambda **settings: as_yaml(
        an_old_policy({"PodLifeTime": {"enabled": True, "params": {"podLifeTime": AGE}}}, **settings)
    ),
    "v1alpha2": lambda **settings: as_yaml(strategy_policy("PodLifeTime", AGE, **settings)),
}


@pytest.fixture(params=POLICIES)
def policy(request):
    return POLICIES[request.param]


class TestMaxPodsToEvictPerNode:
    def test_limits_each_node(self, evicted, policy):
        assert evicted(CLUSTER, policy(), "--max-pods-to-evict-per-node", "1") == ["n1-0", "n3-0"]

    def test_zero_is_no_limit(self, evicted, policy):
        assert len(evicted(CLUSTER, policy(), "--max-pods-to-evict-per-node", "0")) == 6

    def test_the_policy_goes_first(self, evicted, policy):
        text = policy(maxNoOfPodsToEvictPerNode=2)
        assert len(evicted(CLUSTER, text, "--max-pods-to-evict-per-node=1")) == 4

    def test_even_a_policy_that_allows_nothing(self, evicted, policy):
        assert evicted(CLUSTER, policy(maxNoOfPodsToEvictPerNode=0), "--max-pods-to-evict-per-node=1") == []


def test_a_limit_beyond_every_number_is_unusable(restow, cluster):
    ran = restow("plan", "-f", cluster, "--max-pods-to-evict-per-node", "9" * 40)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == "--max-pods-to-evict-per-node must be at most 18446744073709551615; 0 is no limit\n"


class TestNodeSelector:
    def test_picks_nodes(self, evicted, policy):
        assert evicted(CLUSTER, policy(), "--node-selector", "role=worker") == ["n1-0", "n1-1", "n1-2"]

    def test_the_policy_goes_first(self, evicted, policy):
        assert len(evicted(CLUSTER, policy(nodeSelector=""), "--node-selector=role=worker")) == 6

    def test_an_unreadable_one_is_unusable(self, restow, cluster):
        ran = restow("plan", "-f", cluster, "--node-selector", "a in b")
        assert (ran.status, ran.out) == (2, "")
        assert ran.err == "--node-selector \"a in b\": unable to parse requirement: found 'b' expected: '('\n"


class TestEvictLocalStoragePods:
    CLUSTER = (*NODES, *old_pods_on(["n1"], volumes=[EMPTY_DIR]))

    def test_without_it_they_stay(self, evicted, policy):
        assert evicted(self.CLUSTER, policy()) == []

    @pytest.mark.parametrize("flag", ["--evict-local-storage-pods", "--evict-local-storage-pods=true"])
    def test_lets_them_go(self, evicted, policy, flag):
        assert len(evicted(self.CLUSTER, policy(), flag)) == 3

    def test_the_old_policy_goes_first(self, evicted):
        policy = POLICIES["v1alpha1"](evictLocalStoragePods=False)
        assert evicted(self.CLUSTER, policy, "--evict-local-storage-pods") == []

    def test_the_new_policy_goes_first(self, evicted):
        evictor = a_config("DefaultEvictor", {"evictLocalStoragePods": False})
        profile = a_profile(evictor, a_config("PodLifeTime", AGE), deschedule=["PodLifeTime"])
        assert evicted(self.CLUSTER, as_yaml(a_policy(profile)), "--evict-local-storage-pods") == []


def test_the_flags_work_with_the_bundled_policy(restow, cluster):
    assert restow("plan", "-f", cluster, "--max-pods-to-evict-per-node=5", "--evict-local-storage-pods").status == 0


class TestFourStrategies:
    """The policy of 0.5 to 0.10: each of its strategies works as it did."""

    @pytest.fixture
    def moved(self, evicted):
        return lambda *objects, flags=(): evicted(objects, FOUR_STRATEGIES.read_bytes(), *flags)

    def test_duplicates(self, moved):
        pods = [a_pod(f"p{at}", node="n1", owner=Owner("ReplicaSet", "r"), cpu="1") for at in (1, 2)]
        assert moved(a_node("n1"), a_node("n2"), *pods) == ["p2"]

    def test_low_node_utilization(self, moved):
        pods = [a_pod(f"p{at}", node="n1", owner=Owner("ReplicaSet", f"r{at}"), cpu="1") for at in range(3)]
        assert len(moved(a_node("n1"), a_node("n2"), *pods)) == 1

    def test_inter_pod_anti_affinity(self, moved):
        apart = pod_anti_affinity([pod_term(selector(labels={"app": "db"}))])
        pods = [
            a_pod(f"p{at}", node="n1", owner=Owner("StatefulSet", f"db{at}"), labels={"app": "db"}, affinity=apart)
            for at in (1, 2)
        ]
        assert len(moved(a_node("n1"), a_node("n2"), *pods)) == 1

    def test_node_affinity(self, moved):
        wanted = node_affinity([node_term(("disk", "In", "ssd"))])
        pod = a_pod("p", node="n1", owner=Owner("ReplicaSet", "r"), affinity=wanted)
        assert moved(a_node("n1"), a_node("n2", labels={"disk": "ssd"}), pod) == ["p"]

    def test_with_its_flags(self, moved):
        pods = [a_pod(f"p{at}", node="n1", owner=Owner("ReplicaSet", "r"), cpu="100m") for at in range(8)]
        nodes = [a_node(f"n{at}", labels={"role": "worker"}) for at in range(1, 5)]
        flags = ("--node-selector=role=worker", "--max-pods-to-evict-per-node=2", "--evict-local-storage-pods")
        assert len(moved(*nodes, *pods)) == 6
        assert len(moved(*nodes, *pods, flags=flags)) == 2
