"""Lint of the utilisation strategies: thresholds and metrics sources."""

from __future__ import annotations

import pytest

from builders.policies import PLUGINS, as_yaml, strategy_policy
from restow.policies.lint import lint_policy


def of_args(plugin, args, **settings):
    """Findings about the arguments of the only plugin, with paths from there on."""
    start = "profiles[0].pluginConfig[0].args."
    found = lint_policy(as_yaml(strategy_policy(plugin, args, **settings)), "p.yaml", PLUGINS)
    return [
        f"{finding.severity}: {finding.path.removeprefix(start)}: {finding.advice}"
        for finding in found
        if finding.path.startswith(start)
    ]


def utilisation(thresholds, targets, **more):
    return {"thresholds": thresholds, "targetThresholds": targets} | more


def of_low(name, low, high, *expected, **more):
    """A case of LowNodeUtilization: its thresholds, and what is found about them."""
    return pytest.param(utilisation(low, high, **more), expected, id=name)


class TestThresholds:
    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            of_low(
                "low 0",
                {"cpu": 0},
                {"cpu": 50},
                "warning: thresholds.cpu: thresholds.cpu 0: only a node that uses none is ever underutilised",
            ),
            of_low(
                "every target 100",
                {"cpu": 20},
                {"cpu": 100},
                "warning: targetThresholds: targetThresholds of 100: no node is ever above them, so nothing is ever evicted",
            ),
            of_low(
                "one target 100",
                {"cpu": 20, "memory": 20},
                {"cpu": 50, "memory": 100},
                "note: targetThresholds.memory: targetThresholds.memory 100: memory never makes a node overutilised",
            ),
            of_low(
                "no band",
                {"cpu": 50},
                {"cpu": 50},
                "note: thresholds.cpu: thresholds.cpu equals targetThresholds.cpu: no node is just right, pods may go back",
            ),
            of_low(
                "fraction",
                {"cpu": 0.2},
                {"cpu": 50},
                "warning: thresholds.cpu: thresholds.cpu 0.2 is 0.2 %, not 20 %: thresholds are percentages",
            ),
            of_low(
                "misspelt resource",
                {"memroy": 20},
                {"memroy": 50},
                'warning: targetThresholds.memroy: "memroy" is no resource that Kubernetes knows; did you mean "memory"?',
                'warning: thresholds.memroy: "memroy" is no resource that Kubernetes knows; did you mean "memory"?',
            ),
            of_low(
                "deviation 100",
                {"cpu": 100},
                {"cpu": 10},
                "warning: thresholds.cpu: thresholds.cpu 100 below the mean: "
                "only a node that uses none is ever underutilised",
                useDeviationThresholds=True,
            ),
            of_low("deviation", {"cpu": 10}, {"cpu": 10}, useDeviationThresholds=True),
            of_low("extended resource", {"nvidia.com/gpu": 20}, {"nvidia.com/gpu": 50}),
            of_low("huge pages", {"hugepages-2Mi": 20}, {"hugepages-2Mi": 50}),
            of_low(
                "numbers",
                {"cpu": 20},
                {"cpu": 50},
                "note: numberOfNodes: a negative number of nodes is the same as 0",
                "warning: evictionLimits.node: a limit of 0 allows no eviction at all",
                numberOfNodes=-1,
                evictionLimits={"node": 0},
            ),
        ],
    )
    def test_low_node_utilization(self, args, expected):
        assert sorted(of_args("LowNodeUtilization", args)) == sorted(expected)

    def test_thresholds_of_100(self):
        """Every node is under and none is over: two reasons why nothing ever happens."""
        assert [
            text.split(": ")[:2] for text in of_args("LowNodeUtilization", utilisation({"cpu": 100}, {"cpu": 100}))
        ] == [
            ["warning", "thresholds"],
            ["note", "thresholds.cpu"],
            ["warning", "targetThresholds"],
        ]

    @pytest.mark.parametrize(
        ("args", "expected"),
        [
            pytest.param(
                {"thresholds": {"cpu": 0}},
                [
                    (
                        "warning: thresholds.cpu: thresholds.cpu 0: only a node that uses none is underutilised, "
                        "and has no pod to move"
                    )
                ],
                id="0",
            ),
            pytest.param(
                {"thresholds": {"cpu": 100}},
                ["warning: thresholds: thresholds of 100: every node is underutilised, and then nothing is evicted"],
                id="100",
            ),
            pytest.param(
                {"thresholds": {"cpu": 20}, "numberOfNodes": -1},
                ["note: numberOfNodes: a negative number of nodes is the same as 0"],
                id="number",
            ),
        ],
    )
    def test_high_node_utilization(self, args, expected):
        assert of_args("HighNodeUtilization", args) == expected


KUBERNETES = [{"source": "KubernetesMetrics"}]
PROMETHEUS = [{"source": "Prometheus", "prometheus": {"url": "http://p"}}]
QUERY = {"source": "Prometheus", "prometheus": {"query": "q"}}


class TestMetrics:
    def of(self, metrics, resource="cpu", providers=(), **more):
        args = utilisation({resource: 20}, {resource: 50}, metricsUtilization=metrics, **more)
        return of_args("LowNodeUtilization", args, metricsProviders=list(providers))

    def test_what_works(self):
        assert self.of({"source": "KubernetesMetrics"}, providers=KUBERNETES) == []

    def test_prometheus_with_a_limit_works_as_it_stands(self):
        assert self.of(QUERY, "MetricResource", PROMETHEUS, evictionLimits={"node": 2}) == []

    def test_no_source(self):
        assert self.of({}) == [
            "warning: metricsUtilization: the strategy fails in every cycle: metrics source is empty"
        ]

    def test_an_unknown_source(self):
        assert self.of({"source": "prometheus"}) == [
            (
                "warning: metricsUtilization.source: the strategy fails in every cycle: unrecognized metrics source; "
                'did you mean "Prometheus"?'
            )
        ]

    def test_a_source_without_provider(self):
        assert self.of({"source": "KubernetesMetrics"}) == [
            (
                "warning: metricsUtilization: the strategy fails in every cycle without "
                "metricsProviders: [{source: KubernetesMetrics}]: metrics client not initialized"
            )
        ]
        assert self.of(QUERY, "MetricResource", evictionLimits={"node": 2}) == [
            (
                "warning: metricsUtilization: the strategy fails in every cycle without "
                "metricsProviders: [{source: Prometheus}]: prometheus client not initialized"
            ),
        ]

    def test_the_deprecated_switch(self):
        assert self.of({"metricsServer": True}, providers=KUBERNETES) == [
            "note: metricsUtilization.metricsServer: metricsServer is deprecated; write source: KubernetesMetrics"
        ]

    def test_x_16_the_deprecated_switch_wins(self):
        found = self.of(QUERY | {"metricsServer": True}, "MetricResource", KUBERNETES)
        assert (
            "warning: metricsUtilization.source: source Prometheus is ignored: metricsServer is tested first and means "
            "KubernetesMetrics"
        ) in found

    def test_resources_that_are_not_measured(self):
        assert self.of({"source": "KubernetesMetrics"}, "nvidia.com/gpu", KUBERNETES) == [
            (
                "warning: thresholds.nvidia.com/gpu: metrics.k8s.io does not measure it, and the strategy fails: "
                'unable to find "nvidia.com/gpu" resource'
            )
        ]

    def test_prometheus_without_a_limit(self):
        assert self.of(QUERY, "MetricResource", PROMETHEUS) == [
            (
                "note: metricsUtilization.source: with Prometheus one pod is evicted per node and cycle; "
                "set evictionLimits.node for more"
            ),
        ]
