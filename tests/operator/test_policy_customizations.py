"""Every row of upstream's tables of policies: what customizations change about the profiles."""

from __future__ import annotations

from dataclasses import replace

import pytest
import yaml

from builders.kubedeschedulers import OPENSHIFT, PROTECTED
from builders.operator_policies import (
    EXCLUDED,
    INCLUDED,
    KUBEVIRT,
    ONLY_INCLUDED,
    args,
    basic,
    outcome,
    policy,
)
from restow.operator.facts import QUERIES


@pytest.mark.parametrize(("lifetime", "seconds"), [("5m", 300), ("1.5s", 1), ("0s", 0), ("168h", 604800)])
def test_a_lifetime_is_in_whole_seconds(lifetime, seconds):
    written = policy("LifecycleAndUtilization", custom={"podLifetime": lifetime})
    assert args(written, "PodLifeTime")["maxPodLifeTimeSeconds"] == seconds


@pytest.mark.parametrize(
    ("custom", "threshold"),
    [
        ({"thresholdPriorityClassName": "className"}, {"name": "className"}),
        ({"thresholdPriority": 1000}, {"value": 1000}),
        ({"thresholdPriority": 0}, {"value": 0}),
    ],
)
@pytest.mark.parametrize("profile", ["LifecycleAndUtilization", "CompactAndScale", *KUBEVIRT])
def test_a_priority_threshold_is_in_every_profile(profile, custom, threshold):
    assert args(policy(profile, custom=custom), "DefaultEvictor")["priorityThreshold"] == threshold


@pytest.mark.parametrize(
    ("level", "low", "high"), [("Low", 10, 30), ("Medium", 20, 50), (None, 20, 50), ("", 20, 50), ("High", 40, 70)]
)
def test_levels_of_utilization(level, low, high):
    written = policy("LifecycleAndUtilization", custom={"devLowNodeUtilizationThresholds": level})
    utilization = args(written, "LowNodeUtilization")
    assert (utilization["thresholds"], utilization["targetThresholds"]) == (basic(low), basic(high))


def test_included_namespaces_bind_what_can_be_bound_and_protected_ones_stay_closed():
    custom = {"devLowNodeUtilizationThresholds": "Low", **ONLY_INCLUDED}
    done = outcome("LifecycleAndUtilization", custom=custom)
    written = yaml.safe_load(done.text)
    assert args(written, "PodLifeTime")["namespaces"] == INCLUDED
    assert args(written, "RemovePodsHavingTooManyRestarts")["namespaces"] == INCLUDED
    assert args(written, "LowNodeUtilization")["evictableNamespaces"] == EXCLUDED
    assert [each.reason for each in done.notices] == ["IncludedNamespacesNotApplied"]


def test_compact_and_scale_never_opens_protected_namespaces():
    """Upstream does, where namespaces are included."""
    done = outcome("CompactAndScale", custom=ONLY_INCLUDED)
    assert args(yaml.safe_load(done.text), "HighNodeUtilization")["evictableNamespaces"] == EXCLUDED
    assert [each.reason for each in done.notices] == ["IncludedNamespacesNotApplied"]


def test_excluded_namespaces_come_after_the_protected_ones():
    written = policy("LongLifecycle", custom={"namespaces": {"excluded": ["b", "a"]}})
    expected = {"exclude": [*PROTECTED, "b", "a"]}
    assert args(written, "RemovePodsHavingTooManyRestarts")["namespaces"] == expected
    assert args(written, "LowNodeUtilization")["evictableNamespaces"] == expected


def test_protected_namespaces_are_those_that_are_there():
    facts = replace(OPENSHIFT, namespaces=("openshift-new", "openshifted", "hypershift-a", "kube-public"))
    written = policy("AffinityAndTaints", facts=facts)
    assert args(written, "RemovePodsViolatingNodeTaints")["namespaces"]["exclude"] == [
        "kube-system",
        "hypershift",
        "openshift",
        "hypershift-a",
        "openshift-kube-descheduler-operator",
        "openshift-new",
    ]


def test_eviction_limits():
    limits = {"total": 10, "node": 3}
    written = policy("LifecycleAndUtilization", custom={"devLowNodeUtilizationThresholds": ""}, evictionLimits=limits)
    assert (written["maxNoOfPodsToEvictTotal"], written["maxNoOfPodsToEvictPerNode"]) == (10, 3)
    assert args(written, "LowNodeUtilization")["evictionLimits"] == {"node": 3}


def test_a_limit_of_none_at_all():
    written = policy("AffinityAndTaints", evictionLimits={"total": 0, "node": 0})
    assert (written["maxNoOfPodsToEvictTotal"], written["maxNoOfPodsToEvictPerNode"]) == (0, 0)


@pytest.mark.parametrize("profile", KUBEVIRT)
@pytest.mark.parametrize(
    ("limits", "total", "node"), [({"total": 10, "node": 3}, 10, 3), ({"total": 10}, 10, 2), ({"node": 1}, 5, 1)]
)
def test_limits_of_virtual_machines_are_overridden_one_by_one(profile, limits, total, node):
    written = policy(profile, evictionLimits=limits)
    assert (written["maxNoOfPodsToEvictTotal"], written["maxNoOfPodsToEvictPerNode"]) == (total, node)
    assert args(written, "LowNodeUtilization")["evictionLimits"] == {"node": node}


@pytest.mark.parametrize("profile", KUBEVIRT)
@pytest.mark.parametrize(
    ("custom", "low", "high", "deviation"),
    [
        ({"devLowNodeUtilizationThresholds": "Low"}, 10, 30, None),
        ({"devLowNodeUtilizationThresholds": "Medium"}, 20, 50, None),
        ({"devLowNodeUtilizationThresholds": "High"}, 40, 70, None),
        ({"devLowNodeUtilizationThresholds": ""}, 0, 10, True),
        ({"devDeviationThresholds": ""}, 0, 10, True),
        ({"devDeviationThresholds": "Low"}, 10, 10, True),
        ({"devDeviationThresholds": "Medium"}, 20, 20, True),
        ({"devDeviationThresholds": "High"}, 30, 30, True),
        ({"devDeviationThresholds": "AsymmetricLow"}, 0, 10, True),
        ({"devDeviationThresholds": "AsymmetricMedium"}, 0, 20, True),
        ({"devDeviationThresholds": "AsymmetricHigh"}, 0, 30, True),
    ],
)
def test_levels_of_virtual_machines(profile, custom, low, high, deviation):
    utilization = args(policy(profile, custom=custom), "LowNodeUtilization")
    assert utilization["thresholds"] == {"MetricResource": low}
    assert utilization["targetThresholds"] == {"MetricResource": high}
    assert utilization.get("useDeviationThresholds") == deviation


def test_deviations_and_a_query_of_virtual_machines():
    custom = {"devDeviationThresholds": "Low", "devActualUtilizationProfile": "PrometheusCPUCombined"}
    utilization = args(policy("DevKubeVirtRelieveAndMigrate", custom=custom), "LowNodeUtilization")
    query = "descheduler:combined_utilization_and_pressure:avg1m"
    assert utilization["metricsUtilization"]["prometheus"]["query"] == query


def test_virtual_machines_of_included_namespaces():
    written = policy("DevKubeVirtRelieveAndMigrate", custom=ONLY_INCLUDED)
    assert args(written, "LowNodeUtilization")["evictableNamespaces"] == EXCLUDED


@pytest.mark.parametrize("modifiers", [["EvictPodsWithPVC"], ["EvictPodsWithLocalStorage"]])
def test_modifiers_do_not_change_virtual_machines(modifiers):
    written = policy("KubeVirtRelieveAndMigrate", *modifiers)
    assert args(written, "DefaultEvictor") == {"evictLocalStoragePods": True, "noEvictionPolicy": "Mandatory"}


@pytest.mark.parametrize("name", QUERIES)
def test_utilization_by_prometheus(name):
    written = policy("LongLifecycle", custom={"devActualUtilizationProfile": name})
    utilization = args(written, "LowNodeUtilization")
    assert utilization["thresholds"] == {"MetricResource": 20}
    assert utilization["targetThresholds"] == {"MetricResource": 50}
    assert utilization["metricsUtilization"] == {"source": "Prometheus", "prometheus": {"query": QUERIES[name]}}
    assert "useDeviationThresholds" not in utilization
    url = "https://prometheus.example.com"
    assert written["metricsProviders"] == [{"source": "Prometheus", "prometheus": {"url": url}}]


def test_the_name_that_two_queries_are_made_of():
    assert QUERIES["PrometheusCPUUsage"] == "instance:node_cpu:rate:sum"
    assert QUERIES["PrometheusCPUPSIPressureByUtilization"] == (
        "avg by (instance) ( rate(node_pressure_cpu_waiting_seconds_total[1m])) and (1 - avg by (instance) "
        '(rate(node_cpu_seconds_total{mode="idle"}[1m]))) > 0.7 or avg by (instance) '
        "( rate(node_pressure_cpu_waiting_seconds_total[1m])) * 0"
    )


def test_a_query_of_ones_own():
    written = policy("LongLifecycle", custom={"devActualUtilizationProfile": 'query:sum(a{b="c"}) by (instance)'})
    query = args(written, "LowNodeUtilization")["metricsUtilization"]["prometheus"]["query"]
    assert query == 'sum(a{b="c"}) by (instance)'


def test_prometheus_is_named_whether_or_not_a_profile_asks_it():
    written = policy("AffinityAndTaints", custom={"devActualUtilizationProfile": "PrometheusCPUUsage"})
    assert "metricsProviders" in written


def test_deviations_are_nothing_to_lifecycle_and_utilization():
    custom = {"devDeviationThresholds": "Low", "devLowNodeUtilizationThresholds": "High"}
    done = outcome("LifecycleAndUtilization", custom=custom)
    assert args(yaml.safe_load(done.text), "LowNodeUtilization")["thresholds"] == basic(40)
    assert [each.reason for each in done.notices] == ["CustomizationWithoutEffect"]
