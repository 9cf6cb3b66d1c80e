"""Every row of upstream's tables of policies: profiles and their customizations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from builders.kubedeschedulers import INSTALLED, OPENSHIFT, PROTECTED, a_kubedescheduler
from restow.operator.facts import Facts, PrometheusRoute
from restow.operator.policy import policy_of
from restow.operator.problems import Problem
from restow.operator.prometheus import QUERIES

EXCLUDED = {"exclude": PROTECTED}
INCLUDED = {"include": ["includedNamespace"]}
EVICTOR = {"ignorePvcPods": True}
SCORE = "descheduler:node:linear_amplified_ideal_point_positive_distance:k3:avg1m"
KUBEVIRT = ("KubeVirtRelieveAndMigrate", "DevKubeVirtRelieveAndMigrate")
ONLY_INCLUDED = {"namespaces": {"included": ["includedNamespace"]}}


def outcome(*profiles: str, facts: Facts = OPENSHIFT, **settings: Any) -> Any:
    return policy_of(a_kubedescheduler(*profiles, **settings).spec, facts, INSTALLED)


def policy(*profiles: str, **settings: Any) -> Any:
    done = outcome(*profiles, **settings)
    assert done.problems == ()
    return yaml.safe_load(done.text)


def args(document: Any, plugin: str, profile: int = 0) -> Any:
    (found,) = (each["args"] for each in document["profiles"][profile]["pluginConfig"] if each["name"] == plugin)
    return found


def enabled(document: Any, profile: int = 0) -> Any:
    return {point: of["enabled"] for point, of in document["profiles"][profile]["plugins"].items()}


def names(document: Any) -> list[str]:
    return [each["name"] for each in document["profiles"]]


def basic(percentage: int) -> dict[str, int]:
    return {"cpu": percentage, "memory": percentage, "pods": percentage}


class TestProfiles:
    def test_affinity_and_taints(self):
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

    def test_affinity_and_taints_of_included_namespaces(self):
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
    def test_topology_and_duplicates(self, profile, constraints):
        written = policy(profile)
        spreading = "RemovePodsViolatingTopologySpreadConstraint"
        assert names(written) == [profile]
        assert args(written, spreading) == {"constraints": constraints, "namespaces": EXCLUDED}
        assert args(written, "RemoveDuplicates") == {"namespaces": EXCLUDED}
        assert args(written, "DefaultEvictor") == EVICTOR
        assert enabled(written) == {"balance": [spreading, "RemoveDuplicates"], "filter": ["DefaultEvictor"]}

    def test_lifecycle_and_utilization(self):
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
    def test_long_lifecycle_is_the_same_for_pods_of_any_age(self, profile):
        lived, long = policy("LifecycleAndUtilization"), policy(profile)
        assert names(long) == ["LongLifecycle"]
        assert long["profiles"][0]["pluginConfig"] == lived["profiles"][0]["pluginConfig"][1:]
        assert enabled(long) == enabled(lived) | {"deschedule": ["RemovePodsHavingTooManyRestarts"]}

    @pytest.mark.parametrize(
        ("level", "threshold"), [("Minimal", 10), ("Modest", 20), (None, 20), ("", 20), ("Moderate", 30)]
    )
    def test_compact_and_scale(self, level, threshold):
        facts = replace(OPENSHIFT, scheduler_profile="HighNodeUtilization")
        written = policy("CompactAndScale", custom={"devHighNodeUtilizationThresholds": level}, facts=facts)
        assert args(written, "HighNodeUtilization") == {
            "evictableNamespaces": EXCLUDED,
            "thresholds": basic(threshold),
        }
        assert enabled(written) == {"balance": ["HighNodeUtilization"], "filter": ["DefaultEvictor"]}

    @pytest.mark.parametrize("profile", KUBEVIRT)
    def test_kubevirt_relieve_and_migrate(self, profile):
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

    def test_profiles_are_in_the_order_of_the_resource(self):
        assert names(policy("TopologyAndDuplicates", "EvictPodsWithPVC", "AffinityAndTaints")) == [
            "TopologyAndDuplicates",
            "AffinityAndTaints",
        ]

    @pytest.mark.parametrize("first", [True, False])
    def test_modifiers_change_the_evictor_wherever_they_stand(self, first):
        both = ["EvictPodsWithPVC", "EvictPodsWithLocalStorage"]
        profiles = [*both, "LongLifecycle"] if first else ["LongLifecycle", *both]
        written = policy(*profiles)
        assert names(written) == ["LongLifecycle"]
        assert args(written, "DefaultEvictor") == {"evictLocalStoragePods": True}

    def test_modifiers_one_by_one(self):
        assert args(policy("LifecycleAndUtilization", "EvictPodsWithPVC"), "DefaultEvictor") == {}
        local = args(policy("LongLifecycle", "EvictPodsWithLocalStorage"), "DefaultEvictor")
        assert local == EVICTOR | {"evictLocalStoragePods": True}

    def test_modifiers_alone_move_nothing(self):
        done = outcome("EvictPodsWithPVC")
        assert yaml.safe_load(done.text)["profiles"] == []
        assert [each.reason for each in done.notices] == ["NothingToDo"]


class TestCustomizations:
    @pytest.mark.parametrize(("lifetime", "seconds"), [("5m", 300), ("1.5s", 1), ("0s", 0), ("168h", 604800)])
    def test_a_lifetime_is_in_whole_seconds(self, lifetime, seconds):
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
    def test_a_priority_threshold_is_in_every_profile(self, profile, custom, threshold):
        assert args(policy(profile, custom=custom), "DefaultEvictor")["priorityThreshold"] == threshold

    @pytest.mark.parametrize(
        ("level", "low", "high"), [("Low", 10, 30), ("Medium", 20, 50), (None, 20, 50), ("", 20, 50), ("High", 40, 70)]
    )
    def test_levels_of_utilization(self, level, low, high):
        written = policy("LifecycleAndUtilization", custom={"devLowNodeUtilizationThresholds": level})
        utilization = args(written, "LowNodeUtilization")
        assert (utilization["thresholds"], utilization["targetThresholds"]) == (basic(low), basic(high))

    def test_included_namespaces_bind_what_can_be_bound_and_protected_ones_stay_closed(self):
        custom = {"devLowNodeUtilizationThresholds": "Low", **ONLY_INCLUDED}
        done = outcome("LifecycleAndUtilization", custom=custom)
        written = yaml.safe_load(done.text)
        assert args(written, "PodLifeTime")["namespaces"] == INCLUDED
        assert args(written, "RemovePodsHavingTooManyRestarts")["namespaces"] == INCLUDED
        assert args(written, "LowNodeUtilization")["evictableNamespaces"] == EXCLUDED
        assert [each.reason for each in done.notices] == ["IncludedNamespacesNotApplied"]

    def test_compact_and_scale_never_opens_protected_namespaces(self):
        """Upstream does, where namespaces are included."""
        done = outcome("CompactAndScale", custom=ONLY_INCLUDED)
        assert args(yaml.safe_load(done.text), "HighNodeUtilization")["evictableNamespaces"] == EXCLUDED
        assert [each.reason for each in done.notices] == ["IncludedNamespacesNotApplied"]

    def test_excluded_namespaces_come_after_the_protected_ones(self):
        written = policy("LongLifecycle", custom={"namespaces": {"excluded": ["b", "a"]}})
        expected = {"exclude": [*PROTECTED, "b", "a"]}
        assert args(written, "RemovePodsHavingTooManyRestarts")["namespaces"] == expected
        assert args(written, "LowNodeUtilization")["evictableNamespaces"] == expected

    def test_protected_namespaces_are_those_that_are_there(self):
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

    def test_eviction_limits(self):
        limits = {"total": 10, "node": 3}
        written = policy(
            "LifecycleAndUtilization", custom={"devLowNodeUtilizationThresholds": ""}, evictionLimits=limits
        )
        assert (written["maxNoOfPodsToEvictTotal"], written["maxNoOfPodsToEvictPerNode"]) == (10, 3)
        assert args(written, "LowNodeUtilization")["evictionLimits"] == {"node": 3}

    def test_a_limit_of_none_at_all(self):
        written = policy("AffinityAndTaints", evictionLimits={"total": 0, "node": 0})
        assert (written["maxNoOfPodsToEvictTotal"], written["maxNoOfPodsToEvictPerNode"]) == (0, 0)

    @pytest.mark.parametrize("profile", KUBEVIRT)
    @pytest.mark.parametrize(
        ("limits", "total", "node"), [({"total": 10, "node": 3}, 10, 3), ({"total": 10}, 10, 2), ({"node": 1}, 5, 1)]
    )
    def test_limits_of_virtual_machines_are_overridden_one_by_one(self, profile, limits, total, node):
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
    def test_levels_of_virtual_machines(self, profile, custom, low, high, deviation):
        utilization = args(policy(profile, custom=custom), "LowNodeUtilization")
        assert utilization["thresholds"] == {"MetricResource": low}
        assert utilization["targetThresholds"] == {"MetricResource": high}
        assert utilization.get("useDeviationThresholds") == deviation

    def test_deviations_and_a_query_of_virtual_machines(self):
        custom = {"devDeviationThresholds": "Low", "devActualUtilizationProfile": "PrometheusCPUCombined"}
        utilization = args(policy("DevKubeVirtRelieveAndMigrate", custom=custom), "LowNodeUtilization")
        query = "descheduler:combined_utilization_and_pressure:avg1m"
        assert utilization["metricsUtilization"]["prometheus"]["query"] == query

    def test_virtual_machines_of_included_namespaces(self):
        written = policy("DevKubeVirtRelieveAndMigrate", custom=ONLY_INCLUDED)
        assert args(written, "LowNodeUtilization")["evictableNamespaces"] == EXCLUDED

    @pytest.mark.parametrize("modifiers", [["EvictPodsWithPVC"], ["EvictPodsWithLocalStorage"]])
    def test_modifiers_do_not_change_virtual_machines(self, modifiers):
        written = policy("KubeVirtRelieveAndMigrate", *modifiers)
        assert args(written, "DefaultEvictor") == {"evictLocalStoragePods": True, "noEvictionPolicy": "Mandatory"}

    @pytest.mark.parametrize("name", QUERIES)
    def test_utilization_by_prometheus(self, name):
        written = policy("LongLifecycle", custom={"devActualUtilizationProfile": name})
        utilization = args(written, "LowNodeUtilization")
        assert utilization["thresholds"] == {"MetricResource": 20}
        assert utilization["targetThresholds"] == {"MetricResource": 50}
        assert utilization["metricsUtilization"] == {"source": "Prometheus", "prometheus": {"query": QUERIES[name]}}
        assert "useDeviationThresholds" not in utilization
        url = "https://prometheus.example.com"
        assert written["metricsProviders"] == [{"source": "Prometheus", "prometheus": {"url": url}}]

    def test_the_name_that_two_queries_are_made_of(self):
        assert QUERIES["PrometheusCPUUsage"] == "instance:node_cpu:rate:sum"
        assert QUERIES["PrometheusCPUPSIPressureByUtilization"] == (
            "avg by (instance) ( rate(node_pressure_cpu_waiting_seconds_total[1m])) and (1 - avg by (instance) "
            '(rate(node_cpu_seconds_total{mode="idle"}[1m]))) > 0.7 or avg by (instance) '
            "( rate(node_pressure_cpu_waiting_seconds_total[1m])) * 0"
        )

    def test_a_query_of_ones_own(self):
        written = policy("LongLifecycle", custom={"devActualUtilizationProfile": 'query:sum(a{b="c"}) by (instance)'})
        query = args(written, "LowNodeUtilization")["metricsUtilization"]["prometheus"]["query"]
        assert query == 'sum(a{b="c"}) by (instance)'

    def test_prometheus_is_named_whether_or_not_a_profile_asks_it(self):
        written = policy("AffinityAndTaints", custom={"devActualUtilizationProfile": "PrometheusCPUUsage"})
        assert "metricsProviders" in written

    def test_deviations_are_nothing_to_lifecycle_and_utilization(self):
        custom = {"devDeviationThresholds": "Low", "devLowNodeUtilizationThresholds": "High"}
        done = outcome("LifecycleAndUtilization", custom=custom)
        assert args(yaml.safe_load(done.text), "LowNodeUtilization")["thresholds"] == basic(40)
        assert [each.reason for each in done.notices] == ["CustomizationWithoutEffect"]


class TestProblems:
    """What stands against a policy, with upstream's sentences and whether the descheduler is stopped for it."""

    @pytest.mark.parametrize(
        ("profiles", "settings", "facts", "told"),
        [
            pytest.param(
                (),
                {},
                {},
                Problem("NoProfiles", "descheduler should have at least 1 profile enabled", False),
                id="none",
            ),
            pytest.param(
                ("LifecycleAndUtilization",),
                {"custom": {"thresholdPriority": 1000, "thresholdPriorityClassName": "className"}},
                {},
                Problem(
                    "PriorityInTwoForms",
                    "It is invalid to set both .spec.profileCustomizations.thresholdPriority and "
                    ".spec.profileCustomizations.ThresholdPriorityClassName fields",
                    False,
                ),
                id="both forms of a priority",
            ),
            pytest.param(
                ("LifecycleAndUtilization",),
                {"custom": {"namespaces": {"included": ["a"], "excluded": ["b"]}}},
                {},
                Problem(
                    "NamespacesIncludedAndExcluded",
                    "It is forbidden to combine both included and excluded namespaces",
                    False,
                ),
                id="included and excluded",
            ),
            pytest.param(
                ("LifecycleAndUtilization",),
                {"custom": {"namespaces": {"included": ["a", "kube-system"]}}},
                {"namespaces": ("openshift-a",)},
                Problem(
                    "ProtectedNamespaceIncluded",
                    "Protected namespace kube-system included. It is forbidden to include any of the protected namespaces "
                    "from [kube-system hypershift openshift openshift-a openshift-kube-descheduler-operator]",
                    False,
                ),
                id="a protected namespace",
            ),
            pytest.param(
                ("LifecycleAndUtilization",),
                {"custom": {"namespaces": {"included": ["openshift-later"]}}},
                {"namespaces": ()},
                Problem(
                    "ProtectedNamespaceIncluded",
                    "Protected namespace openshift-later included. It is forbidden to include any of the protected "
                    "namespaces from [kube-system hypershift openshift openshift-kube-descheduler-operator openshift-later]",
                    False,
                ),
                id="a protected namespace that is not there yet",
            ),
            pytest.param(
                ("DevKubeVirtRelieveAndMigrate",),
                {"custom": {"devLowNodeUtilizationThresholds": "Low", "devDeviationThresholds": "Low"}},
                {},
                Problem(
                    "ThresholdsInTwoForms",
                    "only one of DevLowNodeUtilizationThresholds and DevDeviationThresholds customizations can be configured "
                    "simultaneously",
                    False,
                ),
                id="both forms of thresholds",
            ),
            pytest.param(
                ("DevKubeVirtRelieveAndMigrate",),
                {},
                {"has_kubevirt_nodes": False},
                Problem(
                    "KubeVirtNotDeployed",
                    "profile DevKubeVirtRelieveAndMigrate can only be used when KubeVirt is properly deployed",
                    True,
                ),
                id="no KubeVirt",
            ),
            pytest.param(
                ("KubeVirtRelieveAndMigrate",),
                {},
                {"has_pressure_metrics": False},
                Problem(
                    "NoPressureMetrics",
                    "profile KubeVirtRelieveAndMigrate can only be used when PSI metrics are enabled for the worker nodes",
                    True,
                ),
                id="no PSI",
            ),
            pytest.param(
                ("KubeVirtRelieveAndMigrate",),
                {},
                {"prometheus_route": None},
                Problem(
                    "PrometheusRouteNotFound",
                    "unable to get openshift-monitoring/prometheus-k8s route: not found",
                    True,
                ),
                id="no route",
            ),
            pytest.param(
                ("LongLifecycle",),
                {"custom": {"devActualUtilizationProfile": "PrometheusCPUUsage"}},
                {"prometheus_route": None, "is_openshift": False},
                Problem(
                    "PrometheusRouteNotFound",
                    "unable to get openshift-monitoring/prometheus-k8s route: this cluster has no routes; give the operator "
                    "--prometheus-url",
                    True,
                ),
                id="no OpenShift",
            ),
            pytest.param(
                ("KubeVirtRelieveAndMigrate",),
                {},
                {"prometheus_route": PrometheusRoute()},
                Problem(
                    "PrometheusRouteWithoutIngress",
                    "No ingress found in openshift-monitoring/prometheus-k8s route",
                    True,
                ),
                id="a route without ingress",
            ),
            pytest.param(
                ("KubeVirtRelieveAndMigrate",),
                {},
                {"prometheus_route": PrometheusRoute(("",))},
                Problem(
                    "PrometheusRouteWithoutHost",
                    "Host for status.ingress[0] in openshift-monitoring/prometheus-k8s route is empty",
                    True,
                ),
                id="a route without host",
            ),
            pytest.param(
                ("KubeVirtRelieveAndMigrate",),
                {},
                {"is_monitored": False},
                Problem(
                    "NamespaceNotMonitored",
                    "namespace openshift-kube-descheduler-operator is not labeled with openshift.io/cluster-monitoring=true",
                    False,
                ),
                id="a namespace that is not monitored",
            ),
            pytest.param(
                ("LongLifecycle",),
                {"custom": {"devActualUtilizationProfile": "PrometheusCPUUsag"}},
                {},
                Problem(
                    "UnknownPrometheusProfile",
                    'unknown prometheus profile: PrometheusCPUUsag; did you mean "PrometheusCPUUsage"?',
                    False,
                ),
                id="an unknown query",
            ),
            pytest.param(
                ("LongLifecycle",),
                {"custom": {"devActualUtilizationProfile": "query: "}},
                {},
                Problem(
                    "UnknownPrometheusProfile",
                    "unknown prometheus profile: query: ; write a query after query:",
                    False,
                ),
                id="an empty query",
            ),
            pytest.param(
                ("AffinityAndTaints",),
                {"custom": {"thresholdPriorityClassName": "x"}},
                {"priority_classes": {"y": 1}},
                Problem(
                    "UnusablePriorityThreshold",
                    'unable to get priority value from the priority class: priorityclasses.scheduling.k8s.io "x" not found; '
                    "if the cluster has it, add it to the input: kubectl get priorityclasses -o json",
                    False,
                ),
                id="a priority class that is not there",
            ),
            pytest.param(
                ("AffinityAndTaints",),
                {"custom": {"thresholdPriority": 2000000001}},
                {},
                Problem(
                    "UnusablePriorityThreshold",
                    "priority threshold can't be greater than 2000000000, and this one is 2000000001",
                    False,
                ),
                id="a priority above that of the system",
            ),
            *(
                pytest.param(
                    (profile,),
                    {},
                    {"scheduler_profile": "HighNodeUtilization"},
                    Problem(
                        "SchedulerConflict",
                        "enabling Descheduler LowNodeUtilization with Scheduler HighNodeUtilization may cause an "
                        "eviction/scheduling hot loop",
                        True,
                    ),
                    id=f"{profile} and a scheduler that packs",
                )
                for profile in ("LifecycleAndUtilization", "LongLifecycle", "DevPreviewLongLifecycle")
            ),
            pytest.param(
                ("CompactAndScale",),
                {},
                {"scheduler_profile": "LowNodeUtilization"},
                Problem(
                    "SchedulerConflict",
                    "enabling Descheduler CompactAndScale with Scheduler LowNodeUtilization may cause an eviction/scheduling "
                    "hot loop",
                    True,
                ),
                id="CompactAndScale and a scheduler that spreads",
            ),
        ],
    )
    def test_the_problem_is_told(self, profiles, settings, facts, told):
        done = outcome(*profiles, facts=replace(OPENSHIFT, **facts), **settings)
        (problem,) = done.problems
        assert problem == told
        assert done.text == ""

    def test_a_kubevirt_profile_beside_a_scheduler_that_packs_is_no_conflict(self):
        facts = replace(OPENSHIFT, scheduler_profile="HighNodeUtilization")
        assert outcome("KubeVirtRelieveAndMigrate", facts=facts).problems == ()

    def test_what_nobody_knows_is_no_conflict(self):
        done = outcome("AffinityAndTaints", "TopologyAndDuplicates", facts=Facts())
        assert (done.problems, done.notices) == ((), ())

    def test_every_problem_is_told_not_only_the_first(self):
        custom = {"thresholdPriority": 1, "thresholdPriorityClassName": "x", "namespaces": {"included": ["openshift"]}}
        done = outcome(
            "CompactAndScale", custom=custom, facts=replace(OPENSHIFT, scheduler_profile="LowNodeUtilization")
        )
        assert [each.reason for each in done.problems] == [
            "PriorityInTwoForms",
            "ProtectedNamespaceIncluded",
            "SchedulerConflict",
        ]

    def test_a_host_that_makes_no_url_is_refused_by_the_reader_of_policies(self):
        facts = replace(OPENSHIFT, prometheus_route=PrometheusRoute(("a b",)))
        (problem,) = outcome("KubeVirtRelieveAndMigrate", facts=facts).problems
        assert problem.reason == "UnusablePolicy"
        assert 'invalid character " " in host name' in problem.message
