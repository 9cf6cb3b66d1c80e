"""Every row of upstream's tables of policies: what stands against one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from builders.kubedeschedulers import INSTALLED, OPENSHIFT, a_kubedescheduler
from builders.operator_policies import (
    outcome,
)
from restow.operator.facts import Facts, PrometheusRoute
from restow.operator.policy import policy_of
from restow.operator.rules import Problem

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
def test_the_problem_is_told(profiles, settings, facts, told):
    done = outcome(*profiles, facts=replace(OPENSHIFT, **facts), **settings)
    (problem,) = done.problems
    assert problem == told
    assert done.text == ""


def test_a_kubevirt_profile_beside_a_scheduler_that_packs_is_no_conflict():
    facts = replace(OPENSHIFT, scheduler_profile="HighNodeUtilization")
    assert outcome("KubeVirtRelieveAndMigrate", facts=facts).problems == ()


@pytest.mark.parametrize("profile", ["KubeVirtRelieveAndMigrate", "DevKubeVirtRelieveAndMigrate"])
@pytest.mark.parametrize("known", [True, None])
def test_without_psi_a_kubevirt_profile_is_refused_and_no_other(profile, known):
    blind = replace(INSTALLED, has_pressure_metrics=False)
    (problem,) = policy_of(a_kubedescheduler(profile).spec, OPENSHIFT, blind).problems
    told = f"profile {profile} can only be used when PSI metrics are enabled for the worker nodes"
    assert problem == Problem("NoPressureMetrics", told, stops=True)
    assert policy_of(a_kubedescheduler("LongLifecycle").spec, OPENSHIFT, blind).problems == ()
    sighted = replace(INSTALLED, has_pressure_metrics=known)
    assert policy_of(a_kubedescheduler(profile).spec, OPENSHIFT, sighted).problems == ()


def test_what_nobody_knows_is_no_conflict():
    done = outcome("AffinityAndTaints", "TopologyAndDuplicates", facts=Facts())
    assert (done.problems, done.notices) == ((), ())


def test_every_problem_is_told_not_only_the_first():
    custom = {"thresholdPriority": 1, "thresholdPriorityClassName": "x", "namespaces": {"included": ["openshift"]}}
    done = outcome("CompactAndScale", custom=custom, facts=replace(OPENSHIFT, scheduler_profile="LowNodeUtilization"))
    assert [each.reason for each in done.problems] == [
        "PriorityInTwoForms",
        "ProtectedNamespaceIncluded",
        "SchedulerConflict",
    ]


def test_a_host_that_makes_no_url_is_refused_by_the_reader_of_policies():
    facts = replace(OPENSHIFT, prometheus_route=PrometheusRoute(("a b",)))
    (problem,) = outcome("KubeVirtRelieveAndMigrate", facts=facts).problems
    assert problem.reason == "UnusablePolicy"
    assert 'invalid character " " in host name' in problem.message
