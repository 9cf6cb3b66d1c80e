"""What NodeResourceTopologyMatch says of nodes, compared with the plugin of kubernetes-sigs/scheduler-plugins itself.

It links Kubernetes 1.33, so it is built with that minor's scheduler (``make oracle MINORS=1.33``).
``RESTOW_NODE_TOPOLOGY_CASES=20000`` compares more clusters; each one is asked about several pods on several nodes.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest

from builders import Object, a_node, a_pod
from restow.scheduling.framework.extension_points import PASSES
from restow.scheduling.numa.zone_scores import ZoneScoring
from restow.scheduling.plugins.node_resource_topology_match import PLUGIN, NodeResourceTopologyMatchArgs
from scheduling.plugins.asking import a_context, pod_index

pytestmark = pytest.mark.oracle

BINARY = Path(__file__).resolve().parents[2] / "build" / "oracle" / "nodetopology"
CASES = int(os.environ.get("RESTOW_NODE_TOPOLOGY_CASES", "3000"))
GPU = "example.com/gpu"
#: What a container may ask for, by resource; what NUMA nodes have is as much or a little more.
AMOUNTS = {
    "cpu": ("250m", "1", "1500m", "2", "3", "4"),
    "memory": ("512Mi", "1Gi", "2Gi", "3Gi"),
    "hugepages-2Mi": ("64Mi", "128Mi"),
    GPU: ("1", "2"),
    "ephemeral-storage": ("1Gi",),
}
FREE = {
    "cpu": ("0", "1", "2", "3500m", "4", "8"),
    "memory": ("0", "1Gi", "2Gi", "4Gi", "8Gi"),
    "hugepages-2Mi": ("0", "64Mi", "256Mi"),
    GPU: ("0", "1", "2", "4"),
    "ephemeral-storage": ("4Gi",),
}
OLD_POLICIES = ("SingleNUMANodePodLevel", "SingleNUMANodeContainerLevel", "RestrictedPodLevel", "BestEffort", "None")


def a_question(random: Random) -> Object:
    names = [f"n{at}" for at in range(random.randint(1, 5))]
    return {
        "nodes": [a_machine(random, name) for name in names],
        # Without any, restow says that it does not know.
        "topologies": [a_topology(random, name) for name in names if name == "n0" or random.random() < 0.9],
        "pods": [a_pod_of(random, f"p{at}") for at in range(3)],
        "args": {"scoringStrategy": a_strategy(random)} if random.random() < 0.9 else {},
    }


def a_machine(random: Random, name: str) -> Object:
    more = {resource: "64" for resource in (GPU, "hugepages-2Mi") if random.random() < 0.8}
    node = a_node(name, cpu="64", memory="256Gi")
    node["status"]["allocatable"] |= more
    return node


def a_topology(random: Random, name: str) -> Object:
    numbers = list(range(random.choice((1, 2, 2, 3, 4))))
    far = random.random() < 0.7
    attributes = [
        {
            "name": "topologyManagerPolicy",
            "value": random.choice(("single-numa-node",) * 6 + ("restricted", "none", "?")),
        },
        {"name": "topologyManagerScope", "value": random.choice(("pod", "container", "?"))},
        {"name": "topologyManagerMaxNUMANodes", "value": random.choice(("8", "4", "16", "1", "many"))},
    ]
    return {
        "apiVersion": "topology.node.k8s.io/v1alpha2",
        "kind": "NodeResourceTopology",
        "metadata": {"name": name},
        "topologyPolicies": [random.choice(OLD_POLICIES)] if random.random() < 0.3 else [],
        "attributes": random.sample(attributes, random.randint(1, 3)),
        "zones": [a_zone(random, number, numbers if far else []) for number in numbers]
        + ([{"name": "rack", "type": "Rack"}] if random.random() < 0.1 else []),
    }


def a_zone(random: Random, number: int, others: list[int]) -> Object:
    resources = [
        "cpu",
        "memory",
        *(each for each in ("hugepages-2Mi", GPU, "ephemeral-storage") if random.random() < 0.5),
    ]
    if random.random() < 0.05:
        resources.remove(random.choice(("cpu", "memory")))
    return {
        "name": f"node-{number}",
        "type": "Node",
        "costs": [
            {"name": f"node-{each}", "value": 10 if each == number else random.choice((12, 20, 20, 32, 300))}
            for each in others
            if random.random() < 0.95
        ],
        "resources": [
            {"name": name, "capacity": "64", "allocatable": "64", "available": random.choice(FREE[name])}
            for name in resources
        ],
    }


def a_pod_of(random: Random, name: str) -> Object:
    kind = random.choice(("guaranteed",) * 6 + ("burstable", "burstable", "best-effort"))
    containers = [a_container(random, f"c{at}", kind) for at in range(random.choice((1, 1, 1, 2, 3)))]
    init = [a_container(random, f"i{at}", kind) for at in range(random.choice((0, 0, 0, 1, 2)))]
    for each in init:
        if random.random() < 0.4:
            each["restartPolicy"] = "Always"
    spec: Object = {"initContainers": init}
    if random.random() < 0.1:
        spec["overhead"] = {"cpu": "250m"}
    return a_pod(name, containers=containers, spec=spec)


def a_container(random: Random, name: str, kind: str) -> Object:
    basic = ("cpu", "memory") if kind == "guaranteed" else ("cpu",) if kind == "burstable" else ()
    more = ("hugepages-2Mi", GPU, "ephemeral-storage") if kind != "best-effort" else (GPU,)
    asks = {each: random.choice(AMOUNTS[each]) for each in basic}
    asks |= {each: random.choice(("0", *AMOUNTS[each])) for each in more if random.random() < 0.25}
    limits = {name: value for name, value in asks.items() if kind == "guaranteed" or name not in ("cpu", "memory")}
    return {"name": name, "image": "i", "resources": {"requests": asks, "limits": limits}}


def a_strategy(random: Random) -> Object:
    strategy: Object = {"type": random.choice([each.value for each in ZoneScoring])}
    if random.random() < 0.4:
        names = random.sample(["cpu", "memory", GPU], 2)
        strategy["resources"] = [{"name": name, "weight": random.choice((0, 1, 3))} for name in names]
    return strategy


def predicted(asked: Object) -> Iterator[list[Object]]:
    """What restow says of each node, for each pod."""
    context = a_context(*asked["nodes"], *asked["topologies"], *asked["pods"])
    args = PLUGIN.with_defaults(msgspec.convert(asked["args"], NodeResourceTopologyMatchArgs))
    assert PLUGIN.make is not None
    plugin: Any = PLUGIN.make(context, args)
    nodes = np.arange(len(asked["nodes"]))
    for pod in (pod_index(context, each["metadata"]["name"]) for each in asked["pods"]):
        verdicts = [{"refused": "", "score": 0} for _ in nodes]
        if not plugin.prefilter(pod).skip:
            found = plugin.filter(pod, nodes)
            for at, category in enumerate(found.category.tolist()):
                if category != PASSES:
                    verdicts[at]["refused"] = found.outcomes[category].reasons[0]
        scores = np.broadcast_to(plugin.score(pod, nodes), len(nodes)).tolist()
        yield [each | {"score": 0 if each["refused"] else score} for each, score in zip(verdicts, scores, strict=True)]


def test_nodes_are_refused_and_scored_as_by_the_plugin_itself() -> None:
    if not BINARY.exists():
        pytest.skip("build/oracle/nodetopology is not built: make oracle MINORS=1.33")
    random, kinds = Random("node topology"), Counter[str]()
    questions = [a_question(random) for _ in range(CASES)]
    lines = "\n".join(json.dumps(each) for each in questions) + "\n"
    ran = subprocess.run([BINARY], input=lines, capture_output=True, text=True, check=True, timeout=3600)
    for number, (asked, line) in enumerate(zip(questions, ran.stdout.splitlines(), strict=True)):
        answer = json.loads(line)
        assert "error" not in answer, answer
        for pod, ours, theirs in zip(asked["pods"], predicted(asked), answer["pods"], strict=True):
            assert ours == theirs, f"case {number}, pod {pod['metadata']['name']}: {json.dumps(asked)}"
            kinds.update(
                each["refused"] or ("some score" if 0 < each["score"] < 100 else "0 or 100") for each in theirs
            )
    rare = {
        "cannot align pod",
        "cannot align container",
        "cannot align init container",
        "cannot align sidecar container",
    }
    assert all(kinds[each] > CASES // 50 for each in rare | {"some score", "0 or 100"}), kinds
