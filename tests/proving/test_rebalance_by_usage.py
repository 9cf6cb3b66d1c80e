"""Rebalance by measured usage: percentiles of what nodes and pods used, headroom, and figures that are too old."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import NOW, Object, a_node, a_pod, ago, node_metrics, pod_metrics
from cluster.histories import stored
from descheduling.harness import a_cluster, a_policy
from proving.proven import TOLD, landings, read_policy
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.usage_samples import UsageChange
from restow.descheduling.cycle import Cycle
from restow.descheduling.plan import GoalResult
from restow.descheduling.registry import strategies
from restow.kube.quantity import NANO_PER_MILLI
from restow.kube.timestamps import SECOND, parse_time
from restow.policies.codes import SteeringMode
from restow.proving.search import prove_cycle
from restow.usage.measured import KEY, KIND, OF_PODS, RecentUsage, with_sample
from restow.usage.stored import with_usage_at

AT = parse_time(NOW) // SECOND
P90: Object = {"percentile": 90, "window": "2h", "maxAge": "10m"}
#: Every five minutes of two hours, the newest of five minutes ago.
TIMES = range(AT - 7200 + 300, AT, 300)


def nodes(*names: str) -> list[Object]:
    return [a_node(name, cpu="8", memory="8Gi") for name in names]


def pods_on(node: str, *names: str) -> list[Object]:
    """Pods that request next to nothing."""
    return [a_pod(name, node=node, owner=("ReplicaSet", name), created=ago(3600), cpu="10m") for name in names]


def history(**used: Sequence[int] | int) -> list[Object]:
    """The stored history of nodes: milli-CPUs at ``TIMES``, or the same at all of them."""
    return [
        stored(node, "cpu", dict(zip(TIMES, [each] * len(TIMES) if isinstance(each, int) else each, strict=True)))
        for node, each in used.items()
    ]


def watched(used: Mapping[str, Sequence[int]]) -> RecentUsage:
    """What a daemon has watched at ``TIMES``: milli-CPUs by name, and no memory."""
    found = None
    for number, at in enumerate(TIMES):
        sample = {name: {"cpu": each[number] * NANO_PER_MILLI, "memory": 0} for name, each in used.items()}
        found = with_sample(found, at, sample, 7200)
    assert found is not None
    return found


def by_usage(cluster: ClusterSnapshot, usage: Object | None, steering: SteeringMode = "nominate", **args: Any) -> Cycle:
    """The plan for even nodes by measured CPU, with a section ``restow.usage`` or without one."""
    section = {"certainty": "possible"} | ({} if usage is None else {"usage": usage})
    asked = {"goal": "balance", "usage": "measured", "resources": ["cpu"]} | args
    policy = a_policy("Rebalance", asked, metricsProviders=[{"source": "KubernetesMetrics"}], restow=section)
    found = prove_cycle(cluster, read_policy(policy), strategies(), parse_time(NOW), steering=steering)
    found.state.validate()
    return found


def a_measured_cluster(*objects: Object) -> ClusterSnapshot:
    """As commands read it: a node without metrics has those of its history."""
    return with_usage_at(a_cluster(*objects, *TOLD), AT).cluster


def result(cycle: Cycle) -> GoalResult:
    (found,) = cycle.record.goals.values()
    return found


def told(cycle: Cycle) -> list[str]:
    """The problems and notes of a plan."""
    return [text for _, text in (*cycle.record.problems, *cycle.record.notes)]


class TestPercentile:
    SPIKE = (
        *nodes("a", "b"),
        *pods_on("a", "p", "q"),
        *history(a=1000, b=1000),
        node_metrics("a", cpu="7"),
        node_metrics("b", cpu="1"),
        *(pod_metrics(name, cpu="3") for name in "pq"),
    )

    @pytest.mark.parametrize(("usage", "moves"), [(P90, 0), (None, 1), ({"maxAge": "10m"}, 1)])
    def test_a_spike_of_the_newest_sample_moves_nothing_by_a_percentile(self, usage: Object | None, moves: int) -> None:
        assert len(landings(by_usage(a_measured_cluster(*self.SPIKE), usage))) == moves

    def test_what_was_used_most_of_the_time_counts_though_it_is_not_now(self) -> None:
        """The newest sample says that both nodes have nothing to do."""
        idle = [*nodes("a", "b"), *pods_on("a", "p", "q"), *(pod_metrics(name, cpu="3") for name in "pq")]
        idle += [*history(a=7000, b=1000), node_metrics("a", cpu="1"), node_metrics("b", cpu="1")]
        assert len(landings(by_usage(a_measured_cluster(*idle), P90))) == 1
        assert not landings(by_usage(a_measured_cluster(*idle), None))

    @pytest.mark.parametrize(("usage", "moved"), [(P90, "busy"), (None, "spiky")])
    def test_the_history_of_pods_decides_which_one_moves(self, usage: Object | None, moved: str) -> None:
        """Now the one pod uses three cores, most of the time the other one does."""
        cluster = a_measured_cluster(
            *nodes("a", "b"),
            *pods_on("a", "busy", "spiky"),
            *(node_metrics(name, cpu=cpu) for name, cpu in (("a", "6"), ("b", "0"))),
            pod_metrics("busy", cpu="100m"),
            pod_metrics("spiky", cpu="3"),
        )
        calm, busy = [100] * len(TIMES), [3000] * len(TIMES)
        recent = {
            KEY: watched({"a": [6000] * len(TIMES), "b": [0] * len(TIMES)}),
            OF_PODS: watched({"default/busy": busy, "default/spiky": calm}),
        }
        cluster = replace(cluster, others={**cluster.others, KIND: recent})
        assert landings(by_usage(cluster, usage)) == {moved: "b"}

    def test_without_metrics_of_pods_each_has_a_share_of_the_percentile_of_its_node(self) -> None:
        cluster = a_measured_cluster(*nodes("a", "b"), *pods_on("a", "p", "q"), *history(a=[*[6000] * 22, 0], b=0))
        plan = by_usage(cluster, P90)
        assert len(landings(plan)) == 1
        assert result(plan).before == pytest.approx(37.5)
        assert result(plan).after == pytest.approx(0.0)

    def test_a_node_counts_with_its_own_figure_though_its_pods_peak_in_turn(self) -> None:
        """Together the pods are at six cores at their percentiles, the node has never used more than two."""
        cluster = a_measured_cluster(
            *nodes("a", "b"),
            *pods_on("a", "p", "q", "r"),
            *history(a=2000, b=2000),
            *(pod_metrics(each) for each in "pqr"),
        )
        recent = {OF_PODS: watched({f"default/{each}": [2000] * len(TIMES) for each in "pqr"})}
        plan = by_usage(replace(cluster, others={**cluster.others, KIND: recent}), P90)
        assert result(plan).before == 0
        assert not landings(plan)

    def test_the_goal_says_from_what_usage_it_is_and_how_old_that_is(self) -> None:
        plan = by_usage(a_measured_cluster(*self.SPIKE), P90)
        assert result(plan).usage == "p90 over 2h of stored history, 24 samples or more, the newest at most 0 s old"
        assert result(by_usage(a_measured_cluster(*self.SPIKE), None)).usage == "metrics.k8s.io"

    @given(cores=st.lists(st.integers(0, 8000), min_size=2, max_size=5), share=st.integers(1, 100))
    @settings(max_examples=25, deadline=None)
    def test_constant_histories_give_the_plan_of_the_newest_values(self, cores: list[int], share: int) -> None:
        names = [f"n{number}" for number in range(len(cores))]
        objects = [*nodes(*names), *history(**dict(zip(names, cores, strict=True)))]
        for name in names:
            objects += pods_on(name, f"{name}-x", f"{name}-y")
        cluster = a_measured_cluster(*objects)
        newest = by_usage(cluster, None)
        plan = by_usage(cluster, P90 | {"percentile": share})
        assert landings(plan) == landings(newest)
        assert result(plan).after == pytest.approx(result(newest).after)


class TestPodsJustMoved:
    """Of two hours, the 90th percentile shows a pod that came after twelve minutes, and one that left after 108."""

    @pytest.mark.parametrize(
        ("minutes", "sign", "seen"), [(11, 1, False), (13, 1, True), (107, -1, False), (109, -1, True)]
    )
    def test_a_percentile_is_corrected_until_it_shows_the_move(self, minutes: int, sign: int, seen: bool) -> None:
        used = history(a=3000, b=3000)
        cluster = a_measured_cluster(*nodes("a", "b"), *pods_on("a", "p"), *used, pod_metrics("p", cpu="1"))
        change = UsageChange("b", (AT - minutes * 60) * SECOND, {"cpu": sign * 2000 * NANO_PER_MILLI})
        plan = by_usage(replace(cluster, usage_changes=[change]), P90)
        assert result(plan).before == pytest.approx(0 if seen else 12.5)


class TestHeadroom:
    """A pod of two cores would leave the other node with 62.5 % of it used."""

    UNEVEN = (
        *nodes("a", "b"),
        *pods_on("a", "p"),
        *(node_metrics(name, cpu=cpu) for name, cpu in (("a", "7"), ("b", "3"))),
        pod_metrics("p", cpu="2"),
    )

    @pytest.mark.parametrize(("headroom", "moves"), [(0, 1), (37.5, 1), (38, 0)])
    def test_a_node_takes_nothing_that_it_has_no_headroom_for(self, headroom: float, moves: int) -> None:
        assert len(landings(by_usage(a_measured_cluster(*self.UNEVEN), None, headroom=headroom))) == moves

    def test_a_pod_may_not_land_there_either_if_the_scheduler_chooses(self) -> None:
        cluster = a_measured_cluster(*self.UNEVEN, a_pod("still", node="a", cpu="4"))
        assert landings(by_usage(cluster, None, "none")) == {"p": "b"}
        assert not landings(by_usage(cluster, None, "none", headroom=38))

    def test_a_node_without_headroom_still_gives_pods(self) -> None:
        plan = by_usage(a_measured_cluster(*self.UNEVEN), None, headroom=30)
        assert landings(plan) == {"p": "b"}
        assert result(plan).before == pytest.approx(25.0)


class TestUnknown:
    def test_values_that_are_too_old_are_refused_in_words(self) -> None:
        old = [
            *nodes("a", "b"),
            *pods_on("a", "p"),
            *(node_metrics(each, cpu="1", timestamp=ago(900)) for each in "ab"),
        ]
        plan = by_usage(a_measured_cluster(*old), {"percentile": 95})
        (text,) = told(plan)
        assert text.startswith("error getting node usage: the usage of a and 1 more is not known: ")
        assert text.endswith("the newest sample is 15 min old, and maxAge is 5m")

    def test_too_few_samples_are_refused_in_words(self) -> None:
        few = [*nodes("a", "b"), *pods_on("a", "p"), *history(a=7000, b=0)]
        plan = by_usage(a_measured_cluster(*few), P90 | {"minSamples": 30})
        (text,) = told(plan)
        assert text.endswith("the usage of a and 1 more is not known: fewer than 30 samples (minSamples) within 2h")

    def test_a_node_of_which_too_little_is_known_is_left_alone(self) -> None:
        """It would be the emptiest one."""
        some = [*nodes("a", "b", "c"), *pods_on("a", "p", "q", "r"), *history(a=7000, b=1000)]
        plan = by_usage(a_measured_cluster(*some, *(pod_metrics(each, cpu="2") for each in "pqr")), P90)
        assert set(landings(plan).values()) == {"b"}
        assert told(plan) == ["the usage of c is not known: no samples"]

    def test_a_pod_of_which_nothing_is_known_stays(self) -> None:
        some = [*nodes("a", "b"), *pods_on("a", "p", "q"), *history(a=7000, b=1000), pod_metrics("q", cpu="2")]
        plan = by_usage(a_measured_cluster(*some), P90)
        assert landings(plan) == {"q": "b"}
        assert told(plan) == ["pods stay whose usage is not known: 1"]
