"""descheduler/v1alpha1: what loads, and the errors of upstream's converter."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, an_old_policy, as_json, as_yaml, strategy_policy
from restow.errors import InputError
from restow.policies.load import load_policy, read_policy_document, validate_policy
from restow.policies.v1alpha1 import convert

LABELS = {"matchLabels": {"a": "b"}}


def converted(policy):
    return convert(read_policy_document(as_yaml(policy), "old.yaml"))


def errors(strategies, **settings):
    found = validate_policy(as_yaml(an_old_policy(strategies, **settings)), "old.yaml", PLUGINS)
    return [str(finding) for finding in found]


def param_error(line, name, text):
    start = f"old.yaml:{line}: strategies.{name}.params: failed to get plugin config for strategy {name}"
    return f'{start}: strategy "{name}" param validation failed: {text}'


class TestErrors:
    def test_an_unknown_strategy_even_if_it_is_disabled(self):
        assert errors({"RemoveDuplicate": {"enabled": False}}) == [
            (
                "old.yaml:4: strategies.RemoveDuplicate: unknown strategy name: RemoveDuplicate; "
                'did you mean "RemoveDuplicates"?'
            )
        ]

    def test_two_priority_thresholds(self):
        params = {"thresholdPriority": 1, "thresholdPriorityClassName": "a"}
        assert errors({"RemoveDuplicates": {"enabled": True, "params": params}})[0] == (
            "old.yaml:6: strategies.RemoveDuplicates.params: "
            "priority threshold misconfigured for plugin RemoveDuplicates"
        )

    def test_pod_life_time_without_a_life_time(self):
        """Today's states alone were not enough."""
        params = {"podLifeTime": {"states": ["Running"]}}
        assert errors({"PodLifeTime": {"enabled": True, "params": params}}) == [
            param_error(6, "PodLifeTime", "MaxPodLifeTimeSeconds not set")
        ]

    @pytest.mark.parametrize(
        ("name", "params", "text"),
        [
            ("RemovePodsHavingTooManyRestarts", {"nodeFit": True}, "invalid PodsHavingTooManyRestarts threshold"),
            ("RemovePodsViolatingNodeAffinity", {"nodeFit": True}, "nodeAffinityType needs to be set"),
            ("HighNodeUtilization", {"nodeFit": True}, "no resource threshold is configured"),
            (
                "RemoveDuplicates",
                {"namespaces": {"include": ["a"], "exclude": ["b"]}},
                "only one of Include/Exclude namespaces can be set",
            ),
            (
                "LowNodeUtilization",
                {
                    "namespaces": {"include": ["a"]},
                    "nodeResourceUtilizationThresholds": {"thresholds": {"cpu": 1}, "targetThresholds": {"cpu": 2}},
                },
                "only Exclude namespaces can be set, inclusion is not supported",
            ),
        ],
    )
    def test_the_plugins_validators_run(self, name, params, text):
        assert errors({name: {"enabled": True, "params": params}}) == [param_error(6, name, text)]

    def test_every_broken_strategy_is_told(self):
        strategies = {name: {"enabled": True} for name in ("PodLifeTime", "RemovePodsViolatingNodeAffinity")}
        assert len(errors(strategies)) == 2

    def test_a_misfit_is_told_with_its_go_type(self):
        params = {"podsHavingTooManyRestarts": {"podRestartThreshold": "5"}}
        (text,) = errors({"RemovePodsHavingTooManyRestarts": {"enabled": True, "params": params}})
        assert (
            "json: cannot unmarshal string into Go struct field "
            "PodsHavingTooManyRestarts.strategies.params.podsHavingTooManyRestarts.podRestartThreshold of type int32"
        ) in text

    def test_a_bad_node_selector(self):
        (text,) = errors({}, nodeSelector="a in b")
        assert text.startswith("old.yaml:3: nodeSelector: unable to parse requirement")

    def test_convert_raises_the_first(self):
        with pytest.raises(InputError, match=r"^old.yaml:4: strategies.Foo: unknown strategy name: Foo"):
            converted(an_old_policy({"Foo": {}}))

    def test_only_the_old_format_is_converted(self):
        with pytest.raises(InputError, match="only descheduler/v1alpha1 can be converted"):
            converted(strategy_policy("RemoveDuplicates"))


class TestWarnings:
    def warnings(self, strategies, **settings):
        loaded = load_policy(as_yaml(an_old_policy(strategies, **settings)), "old.yaml", PLUGINS)
        return [f"{warning.line}: {warning.advice}" for warning in loaded.warnings[1:]]

    def test_the_format_itself_is_the_first(self):
        first = load_policy(as_yaml(an_old_policy({})), "old.yaml", PLUGINS).warnings[0]
        assert first.message.startswith("v1alpha1 API is deprecated: upstream has not read it since v0.31")
        assert first.line == 1

    def test_parameters_that_the_strategy_never_read(self):
        params = {"labelSelector": LABELS, "nodeAffinityType": ["a"], "nodeFit": True, "thresholdPriority": 1}
        assert self.warnings({"RemoveDuplicates": {"enabled": True, "params": params}}) == [
            "7: labelSelector has no effect on RemoveDuplicates",
            "10: nodeAffinityType has no effect on RemoveDuplicates",
        ]

    def test_parameters_of_disabled_strategies_are_nobodys_business(self):
        assert self.warnings({"RemoveDuplicates": {"params": {"labelSelector": LABELS}}}) == []

    def test_included_taints_were_never_converted(self):
        params = {"includedTaints": ["a"]}
        assert self.warnings({"RemovePodsViolatingNodeTaints": {"enabled": True, "params": params}}) == [
            "7: includedTaints has no effect on RemovePodsViolatingNodeTaints"
        ]

    def test_the_total_limit_was_never_converted(self):
        assert self.warnings({}, maxNoOfPodsToEvictTotal=1) == [
            "3: maxNoOfPodsToEvictTotal has no effect in v1alpha1; it has in v1alpha2"
        ]

    def test_unknown_keys_are_ignored_at_every_level(self):
        strategies = {"RemoveDuplicates": {"enable": True, "params": {"labelSelektor": {}}}}
        assert self.warnings(strategies, evictDaemonsetPods=True) == [
            '3: unknown key "evictDaemonsetPods" is ignored; did you mean "evictDaemonSetPods"?',
            '6: unknown key "enable" is ignored; did you mean "enabled"?',
            '8: unknown key "labelSelektor" is ignored; did you mean "labelSelector"?',
        ]

    def test_repeated_keys(self):
        text = as_json(an_old_policy({})).replace(b'"strategies"', b'"strategies": {},\n "strategies"')
        assert load_policy(text, "old.json", PLUGINS).warnings[1].path == "strategies"
