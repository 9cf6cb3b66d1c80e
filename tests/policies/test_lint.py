"""``policy lint``: where, how bad, and what. Each test is one rule."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, a_config, a_policy, a_profile, an_old_policy, as_yaml, strategy_policy
from restow.policies.lint import lint_policy


def lint(policy):
    """Findings without their lines, as ``severity: path: message``."""
    found = lint_policy(as_yaml(policy), "p.yaml", PLUGINS)
    return [f"{finding.severity}: {finding.path}: {finding.advice}" for finding in found]


def utilisation(thresholds, targets, **more):
    return {"thresholds": thresholds, "targetThresholds": targets} | more


def test_a_sound_policy_has_no_findings():
    profile = a_profile(
        a_config("DefaultEvictor", {"nodeFit": True, "podProtections": {"extraEnabled": ["PodsWithPVC"]}}),
        a_config("LowNodeUtilization", utilisation({"cpu": 20, "memory": 20}, {"cpu": 50, "memory": 50})),
        a_config("RemoveDuplicates"),
        a_config("RemovePodsViolatingNodeTaints"),
        deschedule=["RemovePodsViolatingNodeTaints"],
        balance=["RemoveDuplicates", "LowNodeUtilization"],
    )
    assert lint(a_policy(profile, nodeSelector="a=b")) == []


def test_findings_are_in_the_order_of_lines():
    text = b"""apiVersion: descheduler/v1alpha2
tracing: {}
profiles:
- name: P
  plugins:
    balance: {enabled: [RemoveDuplicates], disabled: [x]}
  pluginConfig:
  - name: RemoveDuplicates
  - name: RemoveDuplicates
maxNoOfPodsToEvictTotal: 0
"""
    found = lint_policy(text, "p.yaml", PLUGINS)
    assert [(finding.line, finding.severity) for finding in found] == [
        (2, "warning"),
        (6, "warning"),
        (9, "error"),
        (10, "warning"),
    ]


def test_a_policy_with_errors_shows_them_and_what_is_ignored():
    assert lint(strategy_policy("PodLifeTime", {"bogus": 1}, tracing={})) == [
        'warning: tracing: unknown key "tracing" is ignored; tracing is set by the --otel-* flags',
        'error: profiles[0].pluginConfig[0].args.bogus: unknown field "bogus" of PodLifeTime',
    ]


def test_a_file_without_a_version_shows_only_that():
    (finding,) = lint_policy(b"profiles: [{name: a}]", "p.yaml", PLUGINS)
    assert finding.severity == "error"
    assert "no apiVersion" in finding.advice


class TestGlobals:
    @pytest.mark.parametrize(
        "key", ["maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace", "maxNoOfPodsToEvictTotal"]
    )
    def test_a_limit_of_zero(self, key):
        assert lint(strategy_policy("RemoveDuplicates", **{key: 0})) == [
            f"warning: {key}: {key}: 0 allows no eviction at all; leave the key out for no limit"
        ]

    def test_a_negative_grace_period(self):
        assert lint(strategy_policy("RemoveDuplicates", gracePeriodSeconds=-1)) == [
            "warning: gracePeriodSeconds: a negative grace period is refused by the API server"
        ]

    def test_the_deprecated_metrics_switch(self):
        assert lint(strategy_policy("RemoveDuplicates", metricsCollector={"enabled": True})) == [
            (
                "note: metricsCollector: metricsCollector is deprecated; "
                "write metricsProviders: [{source: KubernetesMetrics}]"
            )
        ]

    def test_an_unknown_metrics_source(self):
        assert lint(strategy_policy("RemoveDuplicates", metricsProviders=[{"source": "kubernetesmetrics"}])) == [
            (
                'warning: metricsProviders[0]: metrics source "kubernetesmetrics" is ignored; '
                'did you mean "KubernetesMetrics"?'
            )
        ]

    def test_a_metrics_provider_that_nobody_asks(self):
        assert lint(strategy_policy("RemoveDuplicates", metricsProviders=[{"source": "KubernetesMetrics"}])) == [
            "note: metricsProviders[0]: no strategy asks KubernetesMetrics for usage: metricsUtilization.source"
        ]

    def test_settings_that_moved_to_the_evictor(self):
        assert lint(strategy_policy("RemoveDuplicates", evictLocalStoragePods=True)) == [
            (
                'warning: evictLocalStoragePods: unknown key "evictLocalStoragePods" is ignored; it is an argument of '
                "DefaultEvictor: podProtections.defaultDisabled: [PodsWithLocalStorage]"
            )
        ]

    def test_strategies_of_the_old_format(self):
        assert lint(strategy_policy("RemoveDuplicates", strategies={})) == [
            (
                'warning: strategies: unknown key "strategies" is ignored; it belongs to descheduler/v1alpha1: '
                "with that apiVersion it is read, and restow policy convert makes profiles of it"
            )
        ]

    def test_no_profiles(self):
        assert lint(a_policy()) == ["error: profiles: the policy has no profiles, so it does nothing"]


class TestProfiles:
    def duplicates(self, *configs, **points):
        return a_profile(a_config("RemoveDuplicates"), *configs, balance=["RemoveDuplicates"], **points)

    def test_two_profiles_of_one_name(self):
        assert lint(a_policy(self.duplicates(), self.duplicates())) == [
            'note: profiles: 2 profiles are named "P"; logs and metrics cannot tell them apart'
        ]

    def test_a_profile_without_strategies(self):
        assert lint(a_policy(a_profile(name="idle"))) == [
            "error: profiles: the policy enables no strategy, so it does nothing",
            'warning: profiles[0].plugins: profile "idle" enables no strategy: it does nothing',
        ]

    @pytest.mark.parametrize("key", ["presort", "sort"])
    def test_points_that_upstream_never_runs(self, key):
        assert lint(a_policy(self.duplicates(**{key: ["Zed"]}))) == [
            f"warning: profiles[0].plugins.{key}: {key} is read and never used"
        ]

    def test_a_disabled_list(self):
        profile = self.duplicates()
        profile["plugins"]["filter"] = {"disabled": ["DefaultEvictor"]}
        assert lint(a_policy(profile)) == [
            (
                "warning: profiles[0].plugins.filter.disabled: disabled is read and never used (DefaultEvictor): "
                "nothing is enabled by default but DefaultEvictor"
            )
        ]

    def test_a_plugin_enabled_twice(self):
        profile = a_profile(a_config("RemoveDuplicates"), balance=["RemoveDuplicates", "RemoveDuplicates"])
        assert lint(a_policy(profile)) == [
            (
                'warning: profiles[0].plugins.balance.enabled: "RemoveDuplicates" is enabled 2 times, '
                "and runs 2 times a cycle"
            )
        ]

    def test_a_plugin_configured_but_not_enabled(self):
        assert lint(a_policy(self.duplicates(a_config("RemoveFailedPods")))) == [
            "warning: profiles[0].pluginConfig[1]: RemoveFailedPods is configured, but not enabled: it never runs"
        ]

    def test_a_plugin_configured_twice(self):
        assert lint(a_policy(self.duplicates(a_config("RemoveDuplicates")))) == [
            (
                "error: profiles[0].pluginConfig[1]: RemoveDuplicates is configured before; "
                "only the first pluginConfig entry of a plugin counts"
            )
        ]

    def test_the_spelling_that_upstream_drops(self):
        assert lint(a_policy(self.duplicates(preEvictionFilter=["DefaultEvictor", "Zed"]))) == [
            (
                'warning: profiles[0].plugins.preEvictionFilter: upstream silently drops "preEvictionFilter", whatever its '
                'documentation says; it reads "preevictionfilter"'
            ),
            'warning: profiles[0].plugins.preEvictionFilter: "Zed" is ignored: it is no preEvictionFilter plugin',
        ]

    def test_the_spelling_that_upstream_reads(self):
        assert lint(a_policy(self.duplicates(preevictionfilter=["DefaultEvictor"]))) == [
            (
                'note: profiles[0].plugins.preevictionfilter: "preevictionfilter" is spelled as upstream reads it; '
                "its documentation says preEvictionFilter"
            )
        ]

    def test_an_extension_point_that_does_not_exist(self):
        profile = self.duplicates()
        profile["plugins"]["evictor"] = {"enabled": ["DefaultEvictor"]}
        assert lint(a_policy(profile)) == [
            (
                'warning: profiles[0].plugins.evictor: unknown key "evictor" is ignored; '
                "upstream has no such extension point; DefaultEvictor is always on"
            )
        ]


class TestFights:
    LOW = a_config("LowNodeUtilization", utilisation({"cpu": 20}, {"cpu": 50}))
    HIGH = a_config("HighNodeUtilization", {"thresholds": {"cpu": 20}})

    def test_in_one_profile(self):
        profile = a_profile(self.LOW, self.HIGH, balance=["LowNodeUtilization", "HighNodeUtilization"])
        assert lint(a_policy(profile)) == [
            (
                "note: profiles[0].plugins: LowNodeUtilization and HighNodeUtilization in one profile pull in opposite "
                "directions: one empties full nodes, the other fills them"
            )
        ]

    def test_in_two_profiles(self):
        profiles = [
            a_profile(self.LOW, name="a", balance=["LowNodeUtilization"]),
            a_profile(self.HIGH, name="b", balance=["HighNodeUtilization"]),
        ]
        assert [text[:80] for text in lint(a_policy(*profiles))] == [
            "note: profiles[1].plugins: LowNodeUtilization and HighNodeUtilization in one policy"[:80]
        ]

    @pytest.mark.parametrize("other", ["RemoveDuplicates", "RemovePodsViolatingTopologySpreadConstraint"])
    def test_packing_and_spreading(self, other):
        profile = a_profile(self.HIGH, a_config(other), balance=["HighNodeUtilization", other])
        (text,) = lint(a_policy(profile))
        assert f"HighNodeUtilization and {other} in one profile pull in opposite directions" in text


class TestOldFormat:
    def test_it_is_deprecated_and_its_strategies_are_examined(self):
        params = {"nodeResourceUtilizationThresholds": utilisation({"cpu": 0}, {"cpu": 50})}
        policy = an_old_policy({"LowNodeUtilization": {"enabled": True, "params": params}}, evictLocalStoragePods=True)

        found = lint(policy)

        assert found[0].startswith("warning: apiVersion: v1alpha1 API is deprecated")
        assert found[1:] == [
            (
                "warning: strategies.LowNodeUtilization.params: "
                "thresholds.cpu 0: only a node that uses none is ever underutilised"
            )
        ]

    def test_parameters_without_effect_are_told_once(self):
        params = {"labelSelector": {"matchLabels": {"a": "b"}}}
        (_, text) = lint(an_old_policy({"RemoveDuplicates": {"enabled": True, "params": params}}))
        assert text.endswith("labelSelector has no effect on RemoveDuplicates")
