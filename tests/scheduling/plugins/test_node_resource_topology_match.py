"""NodeResourceTopologyMatch: which nodes it refuses, how it scores them, and what it does not know yet.

Whether both are the plugin's own answers is asked in ``oracle/test_node_topology_differential.py``.
"""

from __future__ import annotations

from typing import Any

import pytest

from builders import Object, a_node, a_pod
from restow.scheduling.framework.extension_points import UnknownError
from restow.scheduling.plugins.node_resource_topology_match import (
    KIND,
    PLUGIN,
    NodeResourceTopologyMatch,
    NodeResourceTopologyMatchArgs,
    TopologyCache,
    ZoneScoringStrategy,
    check,
    shortage_on,
)
from restow.scheduling.plugins.resource_scoring import ResourceSpec
from scheduling.numa.numa_nodes import a_topology_object
from scheduling.plugins.asking import INCOMING, a_context, codes, pod_index, scores, statuses

GPU = "example.com/gpu"


def free(cpu: int | str, memory: str = "8Gi", **devices: int) -> dict[str, tuple[int | str, int | str]]:
    """What a NUMA node has of everything, all of it free."""
    amounts = {"cpu": cpu, "memory": memory, **({GPU: devices["gpus"]} if devices else {})}
    return {name: (amount, amount) for name, amount in amounts.items()}


def a_guaranteed_pod(*containers: Object, name: str = INCOMING, **more: Any) -> Object:
    """A pod whose containers have limits as high as their requests."""
    return a_pod(name, containers=[a_container(f"c{at}", **each) for at, each in enumerate(containers)], **more)


def a_container(name: str, *, memory: str = "1Gi", **amounts: Any) -> Object:
    asks = {"memory": memory, **{GPU if each == "gpus" else each: str(amount) for each, amount in amounts.items()}}
    return {"name": name, "image": "i", "resources": {"requests": asks, "limits": asks}}


def a_machine(name: str, *, gpus: bool = False) -> Object:
    node = a_node(name, cpu="32", memory="64Gi")
    node["status"]["allocatable"] |= {GPU: "8"} if gpus else {}
    return node


def the_plugin(*objects: Object, **args: Any) -> tuple[Any, NodeResourceTopologyMatch]:
    context = a_context(*objects)
    return context, NodeResourceTopologyMatch(context, PLUGIN.with_defaults(NodeResourceTopologyMatchArgs(**args)))


def asked(pod: Object, *topologies: Object) -> str:
    """The verdicts about machines that have GPUs, one for each topology."""
    machines = [a_machine(each["metadata"]["name"], gpus=True) for each in topologies]
    context, plugin = the_plugin(*machines, *topologies, pod)
    return codes(context, plugin, pod_index(context))


@pytest.mark.parametrize(
    ("pod", "scope", "expected"),
    [
        pytest.param(a_guaranteed_pod({"cpu": 4}), "container", "OK", id="one-fits"),
        pytest.param(a_guaranteed_pod({"cpu": 5}), "container", "U", id="one-does-not"),
        pytest.param(a_guaranteed_pod({"cpu": 4}, {"cpu": 4}), "container", "OK", id="each-on-its-own"),
        pytest.param(
            a_guaranteed_pod({"cpu": 3}, {"cpu": 3}, {"cpu": 2}), "container", "U", id="no-room-for-the-third"
        ),
        pytest.param(a_guaranteed_pod({"cpu": 2}, {"cpu": 2}), "pod", "OK", id="together"),
        pytest.param(a_guaranteed_pod({"cpu": 4}, {"cpu": 1}), "pod", "U", id="not-together"),
        pytest.param(a_guaranteed_pod({"cpu": 1, "memory": "9Gi"}), "container", "U", id="memory-counts"),
        pytest.param(a_guaranteed_pod({"cpu": 1, GPU: 2}), "container", "U", id="devices-count"),
        pytest.param(a_pod(INCOMING, cpu="9", memory="9Gi"), "container", "OK", id="burstable"),
        pytest.param(a_pod(INCOMING, cpu="0", memory="0"), "pod", "OK", id="asks-for-nothing"),
        pytest.param(a_guaranteed_pod({"cpu": 1, "example.com/other": 1}), "pod", "U", id="no-node-has-it"),
    ],
)
def test_a_node_is_refused_if_no_numa_node_has_enough(pod: Object, scope: str, expected: str) -> None:
    """Of two NUMA nodes with 4 CPUs, 8 GiB and 1 GPU each."""
    numa_nodes = [free(4, gpus=1), free(4, gpus=1)]
    assert asked(pod, a_topology_object("n", *numa_nodes, scope=scope)) == f"n:{expected}"


@pytest.mark.parametrize("policy", ["restricted", "best-effort", "none", None])
def test_only_single_numa_node_refuses(policy: str | None) -> None:
    assert asked(a_guaranteed_pod({"cpu": 5}), a_topology_object("n", free(4), policy=policy)) == "n:OK"


def test_a_node_that_says_nothing_is_not_refused() -> None:
    context, plugin = the_plugin(
        a_machine("a"), a_machine("b"), a_topology_object("a", free(1)), a_guaranteed_pod({"cpu": 2})
    )
    assert codes(context, plugin, pod_index(context)) == "a:U b:OK"


@pytest.mark.parametrize(
    ("restart", "reason"), [(None, "cannot align init container"), ("Always", "cannot align sidecar container")]
)
def test_the_reason_names_what_cannot_be_aligned(restart: str | None, reason: str) -> None:
    init = a_container("i", cpu=5) | ({"restartPolicy": restart} if restart else {})
    pod = a_guaranteed_pod({"cpu": 1}, spec={"initContainers": [init]})
    context, plugin = the_plugin(a_machine("n"), a_topology_object("n", free(4)), pod)
    assert statuses(context, plugin, pod_index(context)) == {"n": ("U", reason)}


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("LeastAllocated", [58, 75, 37]),
        ("MostAllocated", [41, 25, 12]),
        ("BalancedAllocation", [98, 100, 0]),
        ("LeastNUMANodes", [94, 94, 0]),
    ],
)
def test_a_strategy_scores_the_numa_nodes(strategy: str, expected: list[int]) -> None:
    """2 CPUs and 2 GiB: of 4 CPUs and 6 GiB, of 8 of each, and of 1 CPU and 8 GiB."""
    machines = [a_machine(name) for name in "abc"]
    topologies = [
        a_topology_object(name, each) for name, each in zip("abc", (free(4, "6Gi"), free(8), free(1)), strict=True)
    ]
    pod = a_guaranteed_pod({"cpu": 2, "memory": "2Gi"})
    context, plugin = the_plugin(*machines, *topologies, pod, scoring_strategy=ZoneScoringStrategy(strategy))
    assert scores(context, plugin, pod_index(context)) == expected


def test_weights_count() -> None:
    strategy = ZoneScoringStrategy("LeastAllocated", (ResourceSpec("cpu", 3), ResourceSpec("memory", 0)))
    pod = a_guaranteed_pod({"cpu": 2, "memory": "6Gi"})
    context, plugin = the_plugin(a_machine("n"), a_topology_object("n", free(4)), pod, scoring_strategy=strategy)
    assert scores(context, plugin, pod_index(context)) == [(3 * 50 + 25) // 4]


def test_near_numa_nodes_are_preferred_to_far_ones() -> None:
    def machine_of(name: str, far: int) -> Object:
        topology = a_topology_object(name, free(4), free(4), free(1))
        for at, zone in enumerate(topology["zones"]):
            distance = {at: 10, 2: 20} if at < 2 else {2: 10, 0: 20, 1: 20}
            zone["costs"] = [{"name": f"node-{other}", "value": distance.get(other, far)} for other in range(3)]
        return topology

    pod = a_guaranteed_pod({"cpu": 6})
    objects = [a_machine("a"), a_machine("b"), machine_of("a", 12), machine_of("b", 40)]
    strategy = ZoneScoringStrategy("LeastNUMANodes")
    context, plugin = the_plugin(*objects, pod, scoring_strategy=strategy)
    assert scores(context, plugin, pod_index(context)) == [100 - 2 * 12 + 6, 100 - 2 * 12]


def test_a_machine_of_very_many_numa_nodes_costs_no_time() -> None:
    topology = a_topology_object("n", *[free(1)] * 60)
    strategy = ZoneScoringStrategy("LeastNUMANodes")
    context, plugin = the_plugin(a_machine("n"), topology, a_guaranteed_pod({"cpu": 30}), scoring_strategy=strategy)
    assert scores(context, plugin, pod_index(context)) == [0]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({}, "n:OK"),
        ({"cache_resync_period_seconds": 5}, "n:U"),
        ({"cache_resync_period_seconds": 5, "discard_reserved_nodes": True}, "n:OK"),
    ],
)
def test_with_a_cache_pods_that_came_count_on_every_numa_node(args: dict[str, Any], expected: str) -> None:
    come = a_guaranteed_pod({"cpu": 2}, name="come")
    objects = [a_machine("n"), a_topology_object("n", free(4), free(4)), come, a_guaranteed_pod({"cpu": 3})]
    context, plugin = the_plugin(*objects, **args)
    pod = pod_index(context)
    assert codes(context, plugin, pod) == "n:OK"
    context.state.place(pod_index(context, "come"), 0)
    assert codes(context, plugin, pod) == expected


@pytest.mark.parametrize("args", [{}, {"cache_resync_period_seconds": 5}])
def test_an_object_that_comes_changes_or_goes_is_read_again(args: dict[str, Any]) -> None:
    machines = [a_machine("m"), a_machine("n")]
    context, plugin = the_plugin(*machines, a_topology_object("n", free(4)), a_guaranteed_pod({"cpu": 5}), **args)
    pod = pod_index(context)

    def after(name: str, *numa_nodes: Any) -> str:
        made = (
            a_context(a_topology_object(name, *numa_nodes)).state.cluster.kind(KIND)["", name] if numa_nodes else None
        )
        context.state.put(KIND, ("", name), made)
        return codes(context, plugin, pod)

    assert codes(context, plugin, pod) == "m:OK n:U"
    assert after("n", free(8)) == "m:OK n:OK"
    assert after("m", free(1)) == "m:U n:OK"
    assert after("n", free(2)) == "m:U n:U"
    assert scores(context, plugin, pod) == [43, 43]
    assert after("m") == "m:OK n:U"
    assert scores(context, plugin, pod) == [0, 43]
    assert after("n") == "m:OK n:OK"


def test_nodes_with_new_pods_are_told_apart() -> None:
    """Each of many nodes has another pod that came, which the objects do not know of yet."""
    names = [f"n{at}" for at in range(4)]
    come = [a_guaranteed_pod({"cpu": at}, name=f"come-{at}") for at in range(1, 5)]
    topologies = [a_topology_object(name, free(6)) for name in names]
    objects = [*map(a_machine, names), *topologies, *come, a_guaranteed_pod({"cpu": 3})]
    context, plugin = the_plugin(*objects, cache_resync_period_seconds=1)
    for at in range(4):
        context.state.place(pod_index(context, f"come-{at + 1}"), at)
    assert codes(context, plugin, pod_index(context)) == "n0:OK n1:OK n2:OK n3:U"


def test_without_the_kind_in_the_input_nothing_is_known_of_pods_that_ask_for_something() -> None:
    context, plugin = the_plugin(a_machine("n"), a_guaranteed_pod({"cpu": 1}), a_pod("idle", cpu="0", memory="0"))
    assert codes(context, plugin, pod_index(context, "idle")) == "n:OK"
    with pytest.raises(UnknownError, match="objects of kind NodeResourceTopology are not known here"):
        plugin.prefilter(pod_index(context))


@pytest.mark.parametrize(
    ("pod", "scope", "expected"),
    [
        (
            a_guaranteed_pod({"cpu": 3, "memory": "9Gi"}),
            "container",
            "it wants 3 CPUs and 9Gi memory of one NUMA node; node-0 has 8Gi memory; node-1 has 2500m CPU and 8Gi memory",
        ),
        (
            a_guaranteed_pod({"cpu": 4}, {"cpu": 1}),
            "pod",
            "it wants 5 CPUs and 2Gi memory of one NUMA node; node-0 has 4 CPUs; node-1 has 2500m CPU",
        ),
        (
            a_guaranteed_pod({"cpu": 4}, {"cpu": "2600m"}),
            "container",
            "it wants 2600m CPU and 1Gi memory of one NUMA node; node-0 has 0 CPUs; node-1 has 2500m CPU",
        ),
        (a_guaranteed_pod({"cpu": 1, "gpus": 1}), "container", "the node has no example.com/gpu"),
        (a_guaranteed_pod({"cpu": 1}), "container", ""),
    ],
    ids=["both", "together", "in-turn", "absent", "placed"],
)
def test_what_a_refused_pod_lacks_is_said_in_words(pod: Object, scope: str, expected: str) -> None:
    context = a_context(a_machine("n"), a_topology_object("n", free(4), free("2500m"), scope=scope), pod)
    assert shortage_on(context.state, pod_index(context), 0) == expected


def test_a_node_without_an_object_lacks_nothing() -> None:
    context = a_context(a_machine("n"), a_guaranteed_pod({"cpu": 1}))
    assert shortage_on(context.state, pod_index(context), 0) == ""


def test_what_is_wrong_with_arguments() -> None:
    [problem] = check(NodeResourceTopologyMatchArgs(scoring_strategy=ZoneScoringStrategy("MostNUMANodes")))
    assert (problem.path, problem.message) == (
        ("scoringStrategy", "type"),
        'Invalid value: "MostNUMANodes": invalid ScoringStrategyType',
    )
    assert not list(check(NodeResourceTopologyMatchArgs(cache=TopologyCache(foreign_pods_detect="None"))))
