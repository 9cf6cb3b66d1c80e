"""LowNodeUtilization by Prometheus with ``restow.usage``: percentiles, few and old samples, cycles, trends, shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from builders import HOSTNAME, Object, a_node, a_pod, node_metrics, pod_metrics, pods_on, std_node
from builders import NOW as NOW_TEXT
from descheduling.harness import a_cluster, a_policy, cycle
from proving.proven import TOLD, read_policy
from restow.cluster.usage_samples import QueryResult, UsageQuery, query_result
from restow.descheduling.cycle import Cycle
from restow.descheduling.registry import strategies
from restow.explaining.answers import explain_node
from restow.explaining.what_if import Setting
from restow.kube.timestamps import parse_time
from restow.proving.search import prove_cycle
from restow.reporting.explain_table import node_sections
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE

QUERY = "load"
AT = 1_795_219_200.0
HOT, CALM = [0.9] * 60, [0.1] * 60
#: One spike of two minutes in an hour.
SPIKE = [0.2] * 58 + [0.95] * 2
LIMITS = {
    "thresholds": {"MetricResource": 30},
    "targetThresholds": {"MetricResource": 50},
    "metricsUtilization": {"source": "Prometheus", "prometheus": {"query": QUERY}},
}
OWNER = ("ReplicaSet", "web")
FRESH = {"minSamples": 30, "maxAge": "2m"}
TWO_OF_THREE = {"cycles": 2, "ofCycles": 3}
NOW = {"n1": [0.9], "n2": [0.1], "n3": [0.1]}


def told(
    by_node: Mapping[str, Sequence[float]], *, age: float = 0.0, earlier: Sequence[QueryResult] = ()
) -> QueryResult:
    """A value a minute, the last one so many seconds ago."""
    samples = [
        (node, AT - age - 60.0 * (len(values) - 1 - index), value)
        for node, values in by_node.items()
        for index, value in enumerate(values)
    ]
    return QueryResult(AT, query_result(samples, AT).samples, earlier=tuple(earlier))


def decided(result: QueryResult, usage: Object | None, pods: Sequence[Object] = (), **more: Any) -> Cycle:
    return cycle(
        "LowNodeUtilization",
        LIMITS,
        nodes=[std_node("n1", 4000, 3000, 100), std_node("n2", 4000, 3000, 100), std_node("n3", 4000, 3000, 100)],
        pods=pods or pods_on("n1", *(f"p{index}" for index in range(6)), cpu="500m", owner=OWNER),
        usage={UsageQuery("Prometheus", QUERY): result},
        restow=None if usage is None else {"usage": usage},
        **more,
    )


def moved(done: Cycle) -> list[str]:
    assert not done.record.problems, done.record.problems
    return [done.state.cluster.pods.names[each.pod] for each in done.record.evictions]


def notes(done: Cycle) -> str:
    return "; ".join(message for _, message in done.record.notes)


class TestPercentile:
    SPIKING = told({"n1": SPIKE, "n2": CALM, "n3": CALM})

    def test_a_spike_moves_a_pod_by_the_newest_value_and_none_by_a_percentile(self) -> None:
        assert len(moved(decided(self.SPIKING, None))) == 1
        assert len(moved(decided(self.SPIKING, {}))) == 1
        assert moved(decided(self.SPIKING, {"percentile": 95})) == []

    def test_what_lasts_moves_a_pod_and_the_reason_has_figure_query_and_age(self) -> None:
        done = decided(told({"n1": HOT, "n2": CALM, "n3": CALM}, age=45.0), {"percentile": 95})
        [move] = done.record.evictions
        assert move.reason == (
            "n1 at MetricResource 90 % (p95 over 1h of Prometheus load, 60 samples, the newest 45 s old), target 50 %"
        )


class TestUnknownNodes:
    def test_a_node_with_too_few_samples_gives_nothing_and_stops_nobody(self) -> None:
        done = decided(told({"n1": HOT[:10], "n2": CALM, "n3": CALM}), FRESH)
        assert moved(done) == []
        assert "the usage of n1 is not known" in notes(done)

    def test_a_node_whose_samples_are_too_old_gives_nothing(self) -> None:
        assert moved(decided(told({"n1": HOT, "n2": CALM, "n3": CALM}, age=121.0), FRESH)) == []
        assert len(moved(decided(told({"n1": HOT, "n2": CALM, "n3": CALM}, age=60.0), FRESH))) == 1

    def test_a_node_without_samples_is_not_meant_to_take_pods(self) -> None:
        done = decided(told({"n1": HOT, "n2": [0.4] * 60}), FRESH)
        assert moved(done) == []
        assert "No node is underutilized" in notes(done)

    def test_a_node_of_two_series_is_not_known(self) -> None:
        twice = QueryResult(AT, query_result([("n1", AT, 0.9), ("n1", AT, 0.2), ("n2", AT, 0.1)], AT).samples)
        assert moved(decided(twice, {})) == []

    def test_without_the_section_one_missing_node_stops_the_strategy_as_upstream(self) -> None:
        done = decided(told({"n1": HOT, "n2": CALM}), None)
        assert [message for _, message in done.record.problems] == [
            "error getting node usage: unable to find metric entry for n3"
        ]


class TestCycles:
    def after(self, *values: float) -> Cycle:
        """The last one first."""
        earlier = [told({"n1": [value], "n2": [0.1], "n3": [0.1]}) for value in values]
        return decided(told(NOW, earlier=earlier), TWO_OF_THREE)

    def test_a_node_must_have_been_overused_in_so_many_cycles(self) -> None:
        assert moved(self.after(0.2, 0.2)) == []
        assert len(moved(self.after(0.9, 0.2))) == 1
        assert len(moved(self.after(0.2, 0.9))) == 1

    def test_the_first_cycle_moves_nothing_and_says_why(self) -> None:
        done = self.after()
        assert moved(done) == []
        assert "n1 keeps all pods: overused in fewer than 2 of the last 3 cycles (1 known)" in notes(done)

    def test_a_cycle_without_an_answer_is_none_in_which_it_was_overused(self) -> None:
        assert moved(decided(told(NOW, earlier=[QueryResult(AT, problem="down")]), TWO_OF_THREE)) == []


class TestTrend:
    def test_a_peak_that_is_falling_already_moves_nothing(self) -> None:
        falling = [0.9 - 0.02 * minute for minute in range(11)]
        result = told({"n1": falling, "n2": CALM, "n3": CALM})
        assert len(moved(decided(result, {}))) == 1
        done = decided(result, {"trendGuard": "11m"})
        assert moved(done) == []
        assert "n1 keeps all pods: falling: it will be at its target within 11m0s" in notes(done)

    def test_what_falls_too_slowly_moves(self) -> None:
        slow = [0.9 - 0.002 * minute for minute in range(11)]
        assert len(moved(decided(told({"n1": slow, "n2": CALM, "n3": CALM}), {"trendGuard": "11m"}))) == 1


class TestShares:
    LOADS = told({"n1": HOT, "n2": CALM, "n3": CALM})

    def test_a_node_gives_pods_until_its_share_is_at_the_target(self) -> None:
        """Six equal pods of 15 % each: 90, 75, 60, 45."""
        assert len(moved(decided(self.LOADS, {"perPod": "cpu"}))) == 3

    def test_pods_without_a_share_stay(self) -> None:
        idle = pods_on("n1", "idle", owner=OWNER)
        busy = pods_on("n1", "a", "b", "c", cpu="500m", owner=OWNER)
        assert "idle" not in moved(decided(self.LOADS, {"perPod": "cpu"}, [*idle, *busy]))

    def test_what_metrics_say_of_all_pods_counts_more_than_requests(self) -> None:
        """One pod uses nearly all of it, so it is enough that this one goes, or none of the others is."""
        pods = pods_on("n1", "big", "s1", "s2", "s3", cpu="500m", owner=OWNER)
        usage = {"big": "900m", "s1": "40m", "s2": "30m", "s3": "30m"}
        metrics = [pod_metrics(name, cpu=cpu) for name, cpu in usage.items()]
        done = decided(self.LOADS, {"perPod": "cpu"}, pods, others=[*metrics, node_metrics("n1", cpu="1")])
        assert moved(done) == ["big"]


class TestProof:
    """A proven plan has several rounds, and the samples are the same in each of them."""

    def setting(self, **restow: Any) -> Setting:
        policy = a_policy("LowNodeUtilization", LIMITS, restow=restow) | {
            "metricsProviders": [{"source": "Prometheus", "prometheus": {"url": "http://p"}}]
        }
        nodes = [a_node(f"n{number}", cpu="4", memory="8Gi", labels={HOSTNAME: f"n{number}"}) for number in (1, 2, 3)]
        pods = [
            a_pod(f"p{number}", node="n1", owner=OWNER, cpu="500m", labels={"app": "web"}, phase="Running")
            for number in range(6)
        ]
        cluster = replace(
            a_cluster(*nodes, *pods, *TOLD),
            usage={UsageQuery("Prometheus", QUERY): told({"n1": HOT, "n2": CALM, "n3": CALM})},
        )
        rules, now, profiles = read_policy(policy), parse_time(NOW_TEXT), (DEFAULT_PROFILE,)
        done = prove_cycle(cluster, rules, strategies(), now, profiles)
        return Setting(done, cluster, rules, strategies(), now, "prove", "none", profiles)

    def test_one_pod_leaves_an_overused_node_however_many_rounds_there_are(self) -> None:
        assert len(moved(self.setting().cycle)) == 1

    def test_with_shares_the_figures_follow_the_replacements(self) -> None:
        assert len(moved(self.setting(usage={"perPod": "cpu"}).cycle)) == 3

    def test_an_explanation_says_by_which_figure_of_which_age(self) -> None:
        explanation = explain_node(self.setting(usage={"percentile": 90}), 0)
        [view] = explanation.strategies
        assert (view.before, view.gives) == ("over", True)
        assert view.origin == "p90 over 1h of Prometheus load, 60 samples, the newest 0 s old"
        told = "\n".join(line.plain for lines in node_sections(explanation, 200) for line in lines)
        assert f"MetricResource 90 %, {view.origin} (thresholds 30 % and 50 %)" in told


@pytest.mark.parametrize("value", [1.5, -0.1])
def test_figures_that_are_no_shares_are_an_error_with_the_section_too(value: float) -> None:
    done = decided(told({"n1": [value], "n2": [0.1], "n3": [0.1]}), {})
    assert "outside of <0; 1> interval" in done.record.problems[0][1]
