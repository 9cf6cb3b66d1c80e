"""Every row of upstream's tables of policies: the profiles."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from builders.kubedeschedulers import OPENSHIFT
from builders.operator_policies import (
    EVICTOR,
    EXCLUDED,
    INCLUDED,
    KUBEVIRT,
    ONLY_INCLUDED,
    SCORE,
    args,
    basic,
    enabled,
    names,
    outcome,
    policy,
)


def test_affinity_and_taints():
    written = policy("AffinityAndTaints")
    strategies = [
        "RemovePodsViolatingInterPodAntiAffinity",
        "RemovePodsViolatingNodeTaints",
        "RemovePodsViolatingNodeAffinity",
    ]
    assert written == {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [
            {
                "name": "AffinityAndTaints",
                "pluginConfig": [
                    {"name": strategies[0], "args": {"namespaces": EXCLUDED}},
                    {"name": strategies[1], "args": {"namespaces": EXCLUDED}},
                    {
                        "name": strategies[2],
                        "args": {
                            "namespaces": EXCLUDED,
                            "nodeAffinityType": ["requiredDuringSchedulingIgnoredDuringExecution"],
                        },
                    },
                    {"name": "DefaultEvictor", "args": EVICTOR},
                ],
                "plugins": {"deschedule": {"enabled": strategies}, "filter": {"enabled": ["DefaultEvictor"]}},
            }
        ],
    }


def test_affinity_and_taints_of_included_namespaces():
    written = policy("AffinityAndTaints", custom=ONLY_INCLUDED)
    configs = written["profiles"][0]["pluginConfig"][:-1]
    assert [each["args"]["namespaces"] for each in configs] == [INCLUDED] * 3


@pytest.mark.parametrize(
    ("profile", "constraints"),
    [
        ("TopologyAndDuplicates", ["DoNotSchedule"]),
        ("SoftTopologyAndDuplicates", ["DoNotSchedule", "ScheduleAnyway"]),
    ],
)
def test_topology_and_duplicates(profile, constraints):
    written = policy(profile)
    spreading = "RemovePodsViolatingTopologySpreadConstraint"
    assert names(written) == [profile]
    assert args(written, spreading) == {"constraints": constraints, "namespaces": EXCLUDED}
    assert args(written, "RemoveDuplicates") == {"namespaces": EXCLUDED}
    assert args(written, "DefaultEvictor") == EVICTOR
    assert enabled(written) == {"balance": [spreading, "RemoveDuplicates"], "filter": ["DefaultEvictor"]}


def test_lifecycle_and_utilization():
    written = policy("LifecycleAndUtilization")
    assert args(written, "PodLifeTime") == {"maxPodLifeTimeSeconds": 86400, "namespaces": EXCLUDED}
    assert args(written, "RemovePodsHavingTooManyRestarts") == {
        "includingInitContainers": True,
        "podRestartThreshold": 100,
        "namespaces": EXCLUDED,
    }
    assert args(written, "LowNodeUtilization") == {
        "evictableNamespaces": EXCLUDED,
        "thresholds": basic(20),
        "targetThresholds": basic(50),
    }
    assert args(written, "DefaultEvictor") == EVICTOR
    assert enabled(written) == {
        "deschedule": ["PodLifeTime", "RemovePodsHavingTooManyRestarts"],
        "balance": ["LowNodeUtilization"],
        "filter": ["DefaultEvictor"],
    }
    assert written.keys() == {"apiVersion", "kind", "profiles"}


@pytest.mark.parametrize("profile", ["LongLifecycle", "DevPreviewLongLifecycle"])
def test_long_lifecycle_is_the_same_for_pods_of_any_age(profile):
    lived, long = policy("LifecycleAndUtilization"), policy(profile)
    assert names(long) == ["LongLifecycle"]
    assert long["profiles"][0]["pluginConfig"] == lived["profiles"][0]["pluginConfig"][1:]
    assert enabled(long) == enabled(lived) | {"deschedule": ["RemovePodsHavingTooManyRestarts"]}


@pytest.mark.parametrize(
    ("level", "threshold"), [("Minimal", 10), ("Modest", 20), (None, 20), ("", 20), ("Moderate", 30)]
)
def test_compact_and_scale(level, threshold):
    facts = replace(OPENSHIFT, scheduler_profile="HighNodeUtilization")
    written = policy("CompactAndScale", custom={"devHighNodeUtilizationThresholds": level}, facts=facts)
    assert args(written, "HighNodeUtilization") == {
        "evictableNamespaces": EXCLUDED,
        "thresholds": basic(threshold),
    }
    assert enabled(written) == {"balance": ["HighNodeUtilization"], "filter": ["DefaultEvictor"]}


@pytest.mark.parametrize("profile", KUBEVIRT)
def test_kubevirt_relieve_and_migrate(profile):
    written = policy(profile)
    (made,) = written.pop("profiles")
    assert written == {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "maxNoOfPodsToEvictPerNode": 2,
        "maxNoOfPodsToEvictTotal": 5,
        "metricsProviders": [{"source": "Prometheus", "prometheus": {"url": "https://prometheus.example.com"}}],
        "nodeSelector": "kubevirt.io/schedulable=true",
    }
    utilization = {
        "evictableNamespaces": EXCLUDED,
        "evictionLimits": {"node": 2},
        "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": SCORE}},
        "thresholds": {"MetricResource": 0},
        "targetThresholds": {"MetricResource": 10},
        "useDeviationThresholds": True,
    }
    evictor = {"evictLocalStoragePods": True, "noEvictionPolicy": "Mandatory"}
    assert made == {
        "name": "KubeVirtRelieveAndMigrate",
        "pluginConfig": [
            {"name": "LowNodeUtilization", "args": utilization},
            {"name": "DefaultEvictor", "args": evictor},
        ],
        "plugins": {"balance": {"enabled": ["LowNodeUtilization"]}, "filter": {"enabled": ["DefaultEvictor"]}},
    }


def test_profiles_are_in_the_order_of_the_resource():
    assert names(policy("TopologyAndDuplicates", "EvictPodsWithPVC", "AffinityAndTaints")) == [
        "TopologyAndDuplicates",
        "AffinityAndTaints",
    ]


@pytest.mark.parametrize("first", [True, False])
def test_modifiers_change_the_evictor_wherever_they_stand(first):
    both = ["EvictPodsWithPVC", "EvictPodsWithLocalStorage"]
    profiles = [*both, "LongLifecycle"] if first else ["LongLifecycle", *both]
    written = policy(*profiles)
    assert names(written) == ["LongLifecycle"]
    assert args(written, "DefaultEvictor") == {"evictLocalStoragePods": True}


def test_modifiers_one_by_one():
    assert args(policy("LifecycleAndUtilization", "EvictPodsWithPVC"), "DefaultEvictor") == {}
    local = args(policy("LongLifecycle", "EvictPodsWithLocalStorage"), "DefaultEvictor")
    assert local == EVICTOR | {"evictLocalStoragePods": True}


def test_modifiers_alone_move_nothing():
    done = outcome("EvictPodsWithPVC")
    assert yaml.safe_load(done.text)["profiles"] == []
    assert [each.reason for each in done.notices] == ["NothingToDo"]
