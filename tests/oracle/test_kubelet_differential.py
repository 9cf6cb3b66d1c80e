"""Whether a kubelet takes pods that it aligns with NUMA nodes, compared with its own managers on random machines and pods.

``RESTOW_KUBELET_CASES=20000`` compares more machines; each one is asked about several pods, one after the other.
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
import pytest

from builders import a_pod
from descheduling.harness import a_cluster
from restow.kube.objects import NodeResourceTopology
from restow.scheduling.numa.admission import Admission, FreeAmounts, admission, spans_memory
from restow.scheduling.numa.needs import Part, parts_of
from restow.scheduling.numa.topology import NumaTopology, topology_of

pytestmark = pytest.mark.oracle

BINARY = Path(__file__).resolve().parents[2] / "build" / "oracle" / "kubelet"
CASES = int(os.environ.get("RESTOW_KUBELET_CASES", "1500"))
GIB = 2**30
Object = dict[str, Any]


def a_question(random: Random) -> Object:
    """A machine and pods for it."""
    numa_nodes = random.choice((1, 2, 2, 2, 3, 4))
    cores = random.choice((2, 4, 8))
    memory = random.choice((4, 8, 16))
    alike = random.random() < 0.8
    machine = {
        "threads": random.choice((1, 2)),
        "reservedCPUs": random.choice((1, 1, 2)),
        "numaNodes": [
            {
                "cores": cores if alike else random.choice((2, 4, 8)),
                "memory": (memory if alike else random.choice((2, 4, 8))) * GIB,
                "hugePages": random.choice((0, 0, 512)),
                "reservedMemory": GIB if number == 0 else 0,
            }
            for number in range(numa_nodes)
        ],
    }
    return {
        "machine": machine,
        "policy": random.choice(("single-numa-node", "restricted")),
        "scope": random.choice(("container", "pod")),
        "memory": random.random() < 0.5,
        "pods": [pod_of(random, f"p{at}") for at in range(random.randint(2, 7))],
    }


def pod_of(random: Random, name: str) -> Object:
    """A pod of one to three containers, most of them with CPUs of their own."""
    containers = [a_container(random, f"c{at}") for at in range(random.choice((1, 1, 1, 2, 3)))]
    init = [a_container(random, f"i{at}") for at in range(random.choice((0, 0, 0, 1, 2)))]
    for each in init:
        if random.random() < 0.4:
            each["restartPolicy"] = "Always"
    if random.random() < 0.15:
        containers[0]["resources"].pop("limits")
    return a_pod(name, containers=containers, spec={"initContainers": init})


def a_container(random: Random, name: str) -> Object:
    cpu = random.choice(("500m", "1", "1", "2", "2", "3", "4", "6", "8", "12", "1500m"))
    amounts = {"cpu": cpu, "memory": f"{random.choice((1, 1, 1, 2, 3, 5))}Gi"}
    if random.random() < 0.1:
        amounts["hugepages-2Mi"] = f"{random.choice((64, 512, 1024))}Mi"
    return {"name": name, "image": "i", "resources": {"requests": dict(amounts), "limits": amounts}}


def topology_in(asked: Object, before: list[Object]) -> NumaTopology:
    """The topology that an exporter would write now. Memory is said where there is a memory manager for it."""
    zones = [
        {
            "name": f"node-{number}",
            "type": "Node",
            "resources": [
                {"name": name, **{field: str(value) for field, value in amounts.items()}}
                for name, amounts in sorted(node.items())
                if name == "cpu" or asked["memory"]
            ],
        }
        for number, node in enumerate(before)
    ]
    attributes = {"topologyManagerPolicy": asked["policy"], "topologyManagerScope": asked["scope"]}
    found = topology_of(
        msgspec.convert(
            {
                "zones": zones,
                "attributes": [{"name": name, "value": value} for name, value in attributes.items()],
            },
            NodeResourceTopology,
        )
    )
    assert found is not None
    return found


def parts_in(pod: Object, topology: NumaTopology) -> tuple[Part, ...]:
    snapshot = a_cluster(pod)
    resources = snapshot.pods.tables.resources[snapshot.pods.resources[0]]
    return parts_of(resources, topology.scope, topology.resources)


def predicted(asked: Object, pods: list[Object]) -> Iterator[Admission]:
    """What restow says of each pod, with what the NUMA nodes really had before it."""
    is_grouped = False
    for pod, answer in zip(asked["pods"], pods, strict=True):
        topology = topology_in(asked, answer["before"])
        parts = parts_in(pod, topology)
        free = tuple(each.available for each in topology.numa_nodes)
        yield Admission.OPEN if is_grouped and parts else admission(topology, FreeAmounts(free, free), parts)
        is_grouped = is_grouped or (not answer["refused"] and spans_memory(topology, parts))


@pytest.fixture(scope="module")
def answers() -> list[tuple[Object, Object]]:
    """Random questions and the real answers."""
    if not BINARY.exists():
        pytest.skip("run `make oracle`")
    questions = [a_question(Random(seed)) for seed in range(CASES)]
    text = "\n".join(map(json.dumps, questions)) + "\n"
    done = subprocess.run([BINARY], input=text, capture_output=True, text=True, check=True, timeout=600)
    return list(zip(questions, map(json.loads, done.stdout.splitlines()), strict=True))


def test_a_kubelet_answers_as_predicted(answers: list[tuple[Object, Object]]) -> None:
    """Where the answer is said to be open, it may be either; that is rare."""
    met: Counter[tuple[str, bool]] = Counter()
    for seed, (asked, answer) in enumerate(answers):
        assert "error" not in answer, (seed, answer)
        for at, known in enumerate(predicted(asked, answer["pods"])):
            is_taken = not answer["pods"][at]["refused"]
            met[known.value, is_taken] += 1
            if known is not Admission.OPEN:
                assert (known is Admission.TAKEN) == is_taken, (seed, at, known, answer["pods"][at])
    assert met["taken", True] > len(answers)
    assert met["refused", False] > len(answers) / 4
    assert met["open", True] + met["open", False] < sum(met.values()) / 10
