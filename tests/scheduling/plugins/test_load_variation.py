"""LoadVariationRiskBalancing against a plain function that scores one node, and the guard against herding."""

from __future__ import annotations

import json
import math
import statistics

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import a_node, a_pod, node_metrics
from cluster.histories import a_series
from restow.cluster.usage_series import packed
from restow.kube.timestamps import SECOND, format_time
from restow.scheduling.framework.context import Context
from restow.scheduling.plugins.load_variation import LoadVariationRiskBalancing, LoadVariationRiskBalancingArgs
from scheduling.plugins.asking import INCOMING, a_context, node_indices, pod_index, scores

GIB = 1 << 30
#: When usage was last measured.
END = 1_795_219_200
CORES = 4


def stored(node: str, resource: str, values: list[int], step: int = 60):
    """The samples of a node, the last one at the end."""
    samples = {END - step * back: value for back, value in enumerate(reversed(values))}
    return json.loads(msgspec.json.encode(packed(node, resource, a_series(samples))))


def asked(*objects, request="0", memory="0", **args):
    context = a_context(*objects, a_pod(INCOMING, cpu=request, memory=memory))
    plugin = LoadVariationRiskBalancing(context, LoadVariationRiskBalancingArgs(**args))
    return scores(context, plugin, pod_index(context))


def nodes(*names):
    return [a_node(name, cpu=str(CORES), memory="8Gi") for name in names]


@pytest.mark.parametrize(
    ("values", "request_", "args", "expected"),
    [
        ([2000, 2000], "0", {}, 75),
        ([2000, 2000], "1", {}, 63),
        ([1000, 3000], "0", {}, 63),
        ([1000, 3000], "0", {"safe_variance_margin": 2.0}, 50),
        ([1000, 3000], "0", {"safe_variance_sensitivity": 2.0}, 50),
        ([1000, 3000], "0", {"safe_variance_sensitivity": 0.0}, 75),
        ([1000, 3000], "0", {"safe_variance_margin": 0.0}, 75),
        ([9000, 9000], "4", {}, 50),
        ([0, 0], "0", {}, 100),
    ],
    ids=str,
)
def test_the_score_is_what_mean_and_deviation_leave(values, request_, args, expected):
    assert asked(*nodes("n1"), stored("n1", "cpu", values), request=request_, **args) == [expected]


def test_the_worse_of_cpu_and_memory_counts():
    series = [stored("n1", "cpu", [0, 0]), stored("n1", "memory", [4 * GIB, 4 * GIB])]
    assert asked(*nodes("n1", "n2"), *series, stored("n2", "cpu", [0])) == [75, 100]


def test_a_node_of_which_nobody_knows_the_usage_scores_0():
    old = stored("n3", "cpu", [0, 0, 0, 9], step=800)
    old_alone = json.loads(msgspec.json.encode(packed("n3", "cpu", a_series({END - 901: 100}))))
    assert asked(*nodes("n1", "n2", "n3"), stored("n1", "cpu", [0]), old_alone) == [100, 0, 0]
    assert asked(*nodes("n1", "n2", "n3"), stored("n1", "cpu", [0]), old) == [100, 0, 100]


def test_metrics_without_a_history_are_an_average_that_does_not_vary():
    metrics = [node_metrics("n1", cpu="2", memory="0"), node_metrics("n2", cpu="4", memory="0")]
    assert asked(*nodes("n1", "n2"), *metrics, stored("n2", "cpu", [1000])) == [75, 88]


def test_a_node_without_cpu_scores_0():
    assert asked(a_node("n1", cpu="0", memory="8Gi"), stored("n1", "cpu", [0])) == [0]


def test_the_window_reaches_back_from_the_newest_sample_of_any_node():
    series = [stored("n1", "cpu", [4000, 0]), stored("n2", "cpu", [0, 0])]
    assert asked(*nodes("n1", "n2"), *series, window_seconds=60) == [100, 100]
    assert asked(*nodes("n1", "n2"), *series, window_seconds=61) == [50, 100]


# The guard

HERD = [a_pod(f"p{number}", cpu="1") for number in range(4)]


def chosen(guard):
    """Where pods go one after the other: each to the best node, the first by name of several."""
    cool = [stored("n1", "cpu", [0]), stored("n2", "cpu", [400]), stored("n3", "cpu", [400])]
    context = a_context(*nodes("n1", "n2", "n3"), *HERD, *cool)
    plugin = LoadVariationRiskBalancing(context, LoadVariationRiskBalancingArgs(guard_seconds=guard))
    landed = []
    for pod in HERD:
        index = pod_index(context, pod["metadata"]["name"])
        landed.append(int(np.argmax(plugin.score_all(index, np.ones(3, dtype=bool)))))
        context.state.place(index, landed[-1])
    return landed


def test_without_a_guard_all_pods_herd_on_the_coolest_node():
    assert chosen(None) == [0, 0, 0, 0]


def test_with_a_guard_placements_count_before_their_load_is_seen():
    assert chosen(0) == [0, 1, 2, 0]


def test_what_leaves_again_counts_no_more():
    context = a_context(*nodes("n1"), *HERD, stored("n1", "cpu", [0]))
    plugin = LoadVariationRiskBalancing(context, LoadVariationRiskBalancingArgs(guard_seconds=0))
    mark = context.state.checkpoint()
    context.state.place(pod_index(context, "p0"), 0)
    assert scores(context, plugin, pod_index(context, "p1")) == [75]
    context.state.undo(mark)
    assert scores(context, plugin, pod_index(context, "p1")) == [88]


@pytest.mark.parametrize(("age", "expected"), [(-10, 75), (0, 75), (299, 75), (300, 100), (10_000, 100)])
def test_pods_that_came_shortly_before_the_last_sample_count_too(age, expected):
    pod = a_pod("young", node="n1", cpu="2")
    pod["metadata"]["creationTimestamp"] = format_time((END - age) * SECOND)
    assert asked(*nodes("n1"), pod, stored("n1", "cpu", [0]), guard_seconds=300) == [expected]


# Against a plain function


def plain_score(samples, capacity, unseen, request, args):
    """The score of one node; samples and the others by resource."""
    found = []
    for resource, values in samples.items():
        if not values:
            continue
        if capacity[resource] <= 0:
            found.append(0.0)
            continue
        average = min(statistics.fmean(values), capacity[resource]) + unseen[resource] + request[resource]
        deviation = min(statistics.pstdev(map(float, values)) / capacity[resource], 1.0)
        if args.safe_variance_sensitivity:
            deviation = deviation ** (1 / args.safe_variance_sensitivity)
        else:
            deviation = math.floor(deviation)
        deviation = min(deviation * args.safe_variance_margin, 1.0)
        found.append((1 - (min(average / capacity[resource], 1.0) + deviation) / 2) * 100)
    return min(found, default=0.0)


USED = st.lists(st.integers(0, 6000), max_size=4)
ARGS = st.builds(
    LoadVariationRiskBalancingArgs,
    safe_variance_margin=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
    safe_variance_sensitivity=st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    guard_seconds=st.just(0),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(USED, USED), min_size=1, max_size=5), st.lists(st.integers(0, 4), max_size=4), ARGS)
def test_all_nodes_at_once_score_as_one_after_the_other(used, placed, args):
    """Memory is counted in MiB here, and as many pods are placed as there are numbers of nodes."""
    names = [f"n{number}" for number in range(len(used))]
    series = [stored(name, "cpu", cpu) for name, (cpu, _) in zip(names, used, strict=True) if cpu]
    series += [
        stored(name, "memory", [each << 20 for each in memory])
        for name, (_, memory) in zip(names, used, strict=True)
        if memory
    ]
    pods = [a_pod(f"p{number}", cpu="500m", memory="512Mi") for number in range(len(placed))]
    context = a_context(*nodes(*names), *series, *pods, a_pod(INCOMING, cpu="250m", memory="1Gi"))
    plugin = LoadVariationRiskBalancing(context, args)
    everywhere = node_indices(context, names)
    plugin.score(pod_index(context), everywhere)
    count = [0] * len(names)
    for number, node in enumerate(placed):
        context.state.place(pod_index(context, f"p{number}"), node % len(names))
        count[node % len(names)] += 1

    found = plugin.score(pod_index(context), everywhere)

    for node, (cpu, memory) in enumerate(used):
        expected = plain_score(
            {"cpu": cpu, "memory": memory},
            {"cpu": CORES * 1000, "memory": 8192},
            {"cpu": 500 * count[node], "memory": 512 * count[node]},
            {"cpu": 250, "memory": 1024},
            args,
        )
        assert abs(found[node] - expected) <= 0.5 + 1e-6
    assert (found == plugin.score_all(pod_index(context), np.ones(len(names), dtype=bool))).all()
    again = LoadVariationRiskBalancing(Context.of(context.state), args)
    assert (found == again.score(pod_index(context), everywhere)).all()


def test_a_pod_whose_load_cannot_be_seen_yet_is_told_from_one_that_is_in_the_figures() -> None:
    """When it goes, only what it requests goes with it, and else nothing of what was measured."""
    measured = [stored("n", "cpu", [1000, 1000])]
    recent, settled = (a_pod(name, node="n", created=format_time(at * SECOND)) for name, at in (("p", END), ("q", 0)))
    context = a_context(*nodes("n"), *measured, recent, settled)
    plugin = LoadVariationRiskBalancing(context, LoadVariationRiskBalancingArgs(guard_seconds=60))
    names = list(context.state.cluster.pods.names)
    assert plugin.signature(names.index("p")) != plugin.signature(names.index("q"))
