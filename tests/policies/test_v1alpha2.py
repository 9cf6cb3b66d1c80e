"""descheduler/v1alpha2: what loads, with which defaults, and what upstream refuses at start-up."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, a_config, a_policy, a_profile, as_json, as_yaml, strategy_policy
from restow.descheduling.evictor_args import DefaultEvictorArgs
from restow.policies.load import load_policy, validate_policy
from restow.policies.policy import (
    MetricsProvider,
    Policy,
    Prometheus,
    RestowSettings,
    collects_kubernetes_metrics,
    prometheus_of,
)


def load(policy):
    return load_policy(as_yaml(policy), "p.yaml", PLUGINS).policy


def errors(policy):
    return [finding.advice for finding in validate_policy(as_yaml(policy), "p.yaml", PLUGINS)]


def warnings(policy):
    return [finding.advice for finding in load_policy(as_yaml(policy), "p.yaml", PLUGINS).warnings]


def duplicates_profile(**points):
    return a_profile(a_config("RemoveDuplicates"), balance=["RemoveDuplicates"], **points)


def test_an_absent_setting_is_upstreams_default():
    assert load(a_policy()) == Policy()


def test_settings():
    policy = load(
        a_policy(
            nodeSelector="a=b",
            maxNoOfPodsToEvictPerNode=0,
            maxNoOfPodsToEvictPerNamespace=2,
            maxNoOfPodsToEvictTotal=3,
            evictionFailureEventNotification=True,
            gracePeriodSeconds=-1,
        )
    )

    assert policy == Policy(
        node_selector="a=b",
        max_no_of_pods_to_evict_per_node=0,
        max_no_of_pods_to_evict_per_namespace=2,
        max_no_of_pods_to_evict_total=3,
        eviction_failure_event_notification=True,
        grace_period_seconds=-1,
    )


def test_metrics_settings():
    providers = [{"source": "KubernetesMetrics"}, {"source": "Prometheus", "prometheus": {"url": "http://p:9090"}}]

    policy = load(a_policy(metricsProviders=providers))

    prometheus = Prometheus(url="http://p:9090")
    assert policy.metrics_providers == (
        MetricsProvider(source="KubernetesMetrics"),
        MetricsProvider(source="Prometheus", prometheus=prometheus),
    )
    assert collects_kubernetes_metrics(policy)
    assert prometheus_of(policy) == prometheus
    assert collects_kubernetes_metrics(load(a_policy(metricsCollector={"enabled": True})))
    assert not collects_kubernetes_metrics(load(a_policy(metricsCollector={"enabled": False})))
    assert prometheus_of(load(a_policy())) is None


def test_profiles_and_plugins_keep_their_order_and_repetitions():
    profile = a_profile(
        a_config("RemoveDuplicates"),
        a_config("RemoveFailedPods"),
        a_config("RemovePodsViolatingNodeTaints"),
        name="second",
        deschedule=["RemovePodsViolatingNodeTaints", "RemoveFailedPods", "RemovePodsViolatingNodeTaints"],
        balance=["RemoveDuplicates"],
    )

    policy = load(a_policy(duplicates_profile(), profile))

    assert [profile.name for profile in policy.profiles] == ["P", "second"]
    assert policy.profiles[1].enabled("deschedule") == (
        "RemovePodsViolatingNodeTaints",
        "RemoveFailedPods",
        "RemovePodsViolatingNodeTaints",
    )
    assert policy.profiles[1].enabled("balance") == ("RemoveDuplicates",)


class TestDefaultEvictor:
    def test_it_is_part_of_every_profile(self):
        (profile,) = load(a_policy(duplicates_profile())).profiles

        assert profile.enabled("filter") == ("DefaultEvictor",)
        assert profile.enabled("preEvictionFilter") == ("DefaultEvictor",)
        assert profile.args["DefaultEvictor"] == DefaultEvictorArgs()

    def test_it_needs_no_configuration_where_it_is_enabled(self):
        profile = duplicates_profile(filter=["DefaultEvictor"], preevictionfilter=["DefaultEvictor"])
        assert load(a_policy(profile)).profiles[0].filter == ("DefaultEvictor",)

    def test_it_cannot_be_disabled(self):
        profile = duplicates_profile()
        profile["plugins"]["filter"] = {"disabled": ["DefaultEvictor"]}
        assert load(a_policy(profile)).profiles[0].filter == ("DefaultEvictor",)

    def test_a_priority_class_stays_a_name(self):
        threshold = {"priorityThreshold": {"name": "high"}}
        profile = a_profile(a_config("DefaultEvictor", threshold))
        assert load(a_policy(profile)).profiles[0].args["DefaultEvictor"].priority_threshold.name == "high"


def test_of_several_entries_the_first_counts():
    entries = [a_config("PodLifeTime", {"maxPodLifeTimeSeconds": seconds}) for seconds in (1, 2)]
    policy = load(a_policy(a_profile(*entries, deschedule=["PodLifeTime"])))
    assert policy.profiles[0].args["PodLifeTime"].max_pod_life_time_seconds == 1


@pytest.mark.parametrize("args", [None, {}], ids=["null", "empty"])
def test_absent_null_and_empty_args_are_the_same(args):
    written = strategy_policy("RemoveDuplicates")
    written["profiles"][0]["pluginConfig"][0]["args"] = args
    assert load(written) == load(strategy_policy("RemoveDuplicates"))


class TestPreEvictionFilter:
    """Upstream honours ``preevictionfilter`` and drops ``preEvictionFilter``; here both are read."""

    @pytest.mark.parametrize("key", ["preevictionfilter", "preEvictionFilter"])
    def test_both_spellings_are_read(self, key):
        profile = duplicates_profile(**{key: ["DefaultEvictor", "DefaultEvictor"]})
        expected = ("DefaultEvictor", "DefaultEvictor")
        assert load(a_policy(profile)).profiles[0].pre_eviction_filter == expected

    def test_both_together_are_one_list(self):
        profile = duplicates_profile(preevictionfilter=["DefaultEvictor"], preEvictionFilter=["DefaultEvictor"])
        assert load(a_policy(profile)).profiles[0].pre_eviction_filter == ("DefaultEvictor",)

    def test_an_unknown_plugin_is_an_error_only_where_upstream_reads(self):
        assert errors(a_policy(duplicates_profile(preEvictionFilter=["Zed"]))) == []
        assert errors(a_policy(duplicates_profile(preEvictionFilter="Zed"))) == []
        assert errors(a_policy(duplicates_profile(preevictionfilter=["Zed"]))) == [
            (
                'profile "P" configures preEvictionFilter extension point of non-existing plugins: Zed; '
                "it is not one of the Descheduler's own plugins"
            )
        ]


class TestRestowSection:
    def test_its_settings(self):
        restow = {"placement": "upstream", "certainty": "possible"}
        assert load(a_policy(restow=restow)).restow == RestowSettings(placement="upstream", certainty="possible")
        assert load(a_policy(restow=None)).restow == RestowSettings(placement=None, certainty="likely")

    @pytest.mark.parametrize(("written", "understood"), [(1, 1.0), (0.95, 0.95), ("possible", "possible")])
    def test_certainty_is_a_word_or_a_probability(self, written, understood):
        assert load(a_policy(restow={"certainty": written})).restow.certainty == understood

    @pytest.mark.parametrize("written", [0, -0.5, 1.01, 80])
    def test_a_probability_is_above_0_up_to_1(self, written):
        assert errors(a_policy(restow={"certainty": written})) == [
            f"must be certain, likely, possible or a probability above 0, up to 1, not {written:g}"
        ]

    def test_unlike_the_rest_of_the_policy_it_is_strict(self):
        assert errors(a_policy(restow={"placment": "prove"})) == [
            'unknown field "placment" of the restow section; did you mean "placement"?'
        ]
        assert errors(a_policy(restow={"certainty": "sure"})) == [
            "must be certain or likely or possible or a number, not 'sure'"
        ]
        assert errors(a_policy(restow=["prove"])) == ["must be a mapping, not a list"]

    def test_beside_a_value_that_cannot_be_read_the_others_are_checked(self):
        window = {"start": "x", "duration": "1h"}
        (unread, *checked) = errors(a_policy(restow={"waitForReady": "xx", "waitForBudget": "0s", "windows": [window]}))
        assert unread.startswith("must be a duration such as 1h30m")
        assert checked[0] == "must be longer than 0s"
        assert checked[1].startswith("must be a cron expression")


class TestLenientKeys:
    def test_unknown_keys_outside_args_are_ignored_with_a_warning(self):
        profile = duplicates_profile() | {"pluginConfigs": []}
        profile["plugins"]["evictor"] = {}

        assert warnings(a_policy(profile, nodeSelektor="a=b", tracing={})) == [
            'unknown key "nodeSelektor" is ignored; did you mean "nodeSelector"?',
            'unknown key "tracing" is ignored; tracing is set by the --otel-* flags',
            'unknown key "evictor" is ignored; upstream has no such extension point; DefaultEvictor is always on',
            'unknown key "pluginConfigs" is ignored; did you mean "pluginConfig"?',
        ]

    def test_a_key_in_the_wrong_case_is_unknown(self):
        assert warnings(a_policy(NodeSelector="a=b")) == [
            'unknown key "NodeSelector" is ignored; did you mean "nodeSelector"?'
        ]

    def test_of_repeated_keys_the_last_counts_with_a_warning(self):
        text = as_yaml(a_policy(maxNoOfPodsToEvictTotal=1)) + b"maxNoOfPodsToEvictTotal: 2\n"

        loaded = load_policy(text, "p.yaml", PLUGINS)

        assert loaded.policy.max_no_of_pods_to_evict_total == 2
        assert [str(warning) for warning in loaded.warnings] == [
            'p.yaml:5: maxNoOfPodsToEvictTotal: "maxNoOfPodsToEvictTotal" is written more than once; the last one counts'
        ]


class TestStrictArgs:
    def test_x_76_an_unknown_field_is_an_error(self):
        assert errors(strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 1, "bogus": 1})) == [
            'unknown field "bogus" of PodLifeTime'
        ]

    def test_an_unknown_field_inside_is_told_with_its_path(self):
        assert errors(strategy_policy("RemoveFailedPods", {"labelSelector": {"matchLabel": {}}})) == [
            'unknown field "labelSelector.matchLabel" of RemoveFailedPods; did you mean "matchLabels"?'
        ]

    def test_x_84_fields_are_case_sensitive(self):
        assert errors(strategy_policy("PodLifeTime", {"MaxPodLifeTimeSeconds": 5})) == [
            'unknown field "MaxPodLifeTimeSeconds" of PodLifeTime; did you mean "maxPodLifeTimeSeconds"?'
        ]

    def test_x_83_in_yaml_a_repeated_field_is_a_warning(self):
        text = as_yaml(strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 1}))
        text = text.replace(b"maxPodLifeTimeSeconds: 1", b"maxPodLifeTimeSeconds: 1\n      maxPodLifeTimeSeconds: 2")

        loaded = load_policy(text, "p.yaml", PLUGINS)

        assert loaded.policy.profiles[0].args["PodLifeTime"].max_pod_life_time_seconds == 2
        assert [warning.line for warning in loaded.warnings] == [9]

    def test_in_json_a_repeated_field_is_an_error(self):
        text = as_json(strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 1}))
        text = text.replace(b'"maxPodLifeTimeSeconds": 1', b'"maxPodLifeTimeSeconds": 1, "maxPodLifeTimeSeconds": 2')

        found = validate_policy(text, "p.json", PLUGINS)

        assert [finding.advice for finding in found] == ['duplicate field "maxPodLifeTimeSeconds"']

    def test_in_json_a_repeated_key_outside_args_is_a_warning(self):
        text = as_json(a_policy()).replace(b'"profiles"', b'"profiles": [],\n "profiles"')
        (warning,) = load_policy(text, "p.json", PLUGINS).warnings
        assert warning.path == "profiles"

    def test_in_json_5_0_is_no_integer(self):
        policy = strategy_policy("PodLifeTime", {"maxPodLifeTimeSeconds": 5.0})
        (finding,) = validate_policy(as_json(policy), "p.json", PLUGINS)
        assert "cannot unmarshal number 5.0 into" in finding.advice
        assert errors(policy) == []


class TestBuilding:
    def test_x_82_an_unregistered_plugin(self):
        assert errors(a_policy(a_profile(a_config("Nope")))) == [
            "in profile P: plugin Nope in pluginConfig not registered; it is not one of the Descheduler's own plugins"
        ]

    def test_a_plugin_that_does_not_exist_at_an_extension_point(self):
        profile = duplicates_profile(deschedule=["Zed", "RemoveDuplicates", "Zed"])
        start = 'profile "P" configures deschedule extension point of non-existing plugins: '
        assert errors(a_policy(profile)) == [
            f"{start}Zed; it is not one of the Descheduler's own plugins",
            f"{start}RemoveDuplicates; RemoveDuplicates belongs to balance",
        ]

    def test_a_misspelt_plugin(self):
        assert errors(a_policy(a_profile(balance=["RemoveDuplicate"]))) == [
            (
                'profile "P" configures balance extension point of non-existing plugins: RemoveDuplicate; '
                'did you mean "RemoveDuplicates"?'
            )
        ]

    def test_an_enabled_plugin_without_configuration(self):
        assert errors(a_policy(a_profile(balance=["RemoveDuplicates", "RemoveDuplicates"]))) == [
            (
                'unable to create "P" profile: unable to build RemoveDuplicates plugin: '
                'unable to find "RemoveDuplicates" plugin config; add "- name: RemoveDuplicates" to its pluginConfig'
            )
        ]

    def test_x_08_prometheus_knows_one_resource(self):
        utilisation = {"source": "Prometheus", "prometheus": {"query": "q"}}
        args = {"thresholds": {"cpu": 20}, "targetThresholds": {"cpu": 50}, "metricsUtilization": utilisation}
        profile = a_profile(a_config("LowNodeUtilization", args))

        assert errors(a_policy(profile)) == []
        start = 'unable to create "P" profile: unable to build LowNodeUtilization plugin: unable to initialize '
        assert errors(strategy_policy("LowNodeUtilization", args)) == [
            (
                f'{start}"LowNodeUtilization" plugin: {name} are expected to specify a single instance of '
                '"MetricResource" resource, got [cpu] instead'
            )
            for name in ("thresholds", "targetThresholds")
        ]

    def test_a_bad_selector_of_the_evictor(self):
        bad = {"matchExpressions": [{"key": "a", "operator": "Foo"}]}
        profile = a_profile(a_config("DefaultEvictor", {"labelSelector": bad}), filter=["DefaultEvictor"])
        assert errors(a_policy(profile)) == [
            (
                'unable to create "P" profile: unable to build DefaultEvictor plugin: '
                'unable to initialize "DefaultEvictor" plugin: "Foo" is not a valid label selector operator'
            )
        ]

    def test_the_evictor_is_built_where_it_is_not_written_too(self):
        bad = {"matchExpressions": [{"key": "a", "operator": "Foo"}]}
        (text,) = errors(a_policy(a_profile(a_config("DefaultEvictor", {"namespaceLabelSelector": bad}))))
        assert "unable to convert namespaceLabelSelector to label selector: " in text

    def test_a_bad_node_selector(self):
        (text,) = errors(a_policy(nodeSelector="a in b"))
        assert text.startswith("unable to parse requirement: found 'b'")


def test_all_problems_are_found_in_upstreams_order():
    """Decoding, validation, metrics, building: upstream stops at the first stage that fails."""
    profile = a_profile(
        a_config("RemovePodsHavingTooManyRestarts"),
        a_config("PodLifeTime", {"bogus": 1}),
        balance=["Zed"],
    )
    policy = a_policy(profile, metricsProviders=[{"source": "Prometheus"}])

    found = validate_policy(as_yaml(policy), "p.yaml", PLUGINS)

    assert [str(finding) for finding in found] == [
        'p.yaml:11: profiles[0].pluginConfig[1].args.bogus: unknown field "bogus" of PodLifeTime',
        "p.yaml:8: profiles[0].pluginConfig[0].args: in profile P: invalid PodsHavingTooManyRestarts threshold",
        "p.yaml:4: metricsProviders[0]: prometheus configuration is required when prometheus source is enabled",
        (
            'p.yaml:15: profiles[0].plugins.balance.enabled[0]: profile "P" configures balance extension point of '
            "non-existing plugins: Zed; it is not one of the Descheduler's own plugins"
        ),
    ]


def test_a_misfit_of_the_outer_document_is_told_with_its_go_type():
    assert errors(a_policy(maxNoOfPodsToEvictTotal=-1)) == [
        (
            "must be at least 0 (json: cannot unmarshal number -1 into "
            "Go struct field DeschedulerPolicy.maxNoOfPodsToEvictTotal of type uint)"
        )
    ]


@pytest.mark.parametrize("entry", [{"name": 5}, 5, {"name": ["x"]}], ids=["number", "no mapping", "list"])
def test_an_entry_that_cannot_be_read_hides_no_error_of_the_others(entry):
    """Each error is named, an unknown argument of DefaultEvictor in the entry before it too."""
    evictor = a_config("DefaultEvictor", {"nodeFitt": True})
    after = a_config("RemoveDuplicates", {"excludeOwnrKinds": []})
    profile = a_profile(evictor, entry, after, balance=["RemoveDuplicates"])
    found = errors(a_policy(profile, maxNoOfPodsToEvictTotal="x"))
    assert len(found) == 4
    assert 'unknown field "nodeFitt" of DefaultEvictor; did you mean "nodeFit"?' in found
    assert 'unknown field "excludeOwnrKinds" of RemoveDuplicates; did you mean "excludeOwnerKinds"?' in found
