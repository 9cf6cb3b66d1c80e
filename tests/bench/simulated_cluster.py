"""The clusters of ``make bench PART=simulate``: nodes and Deployments that are there, pods that come and go, maintenance.

What comes and goes has the shape of the openb trace (Alibaba, ``cluster-trace-gpu-v2023``): its most frequent requests,
and logarithmic normal distributions with the means and deviations that its durations and gaps have. Each node of the
cluster is one of the most frequent kind there. Every hour one node of a hundred is drained for half an hour, so that
nodes are empty and pods too many elsewhere. The same arguments give the same bytes.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from math import exp
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

HOUR: Final = 3600
DAY: Final = 24 * HOUR
PODS_PER_NODE: Final = 20
#: On a node, a day.
_ARRIVALS: Final = 8
_PODS_PER_DEPLOYMENT: Final = 20
_BEGINS: Final = "2026-01-01T00:00:00Z"
#: What nine pods of ten of the trace request: millis of CPU, MiB, GPUs, thousandths of each; and how many of them.
_REQUESTS: Final = (
    ((3152, 5600, 1, 810), 1047),
    ((11300, 49152, 1, 1000), 857),
    ((11400, 48128, 1, 1000), 534),
    ((3152, 5600, 1, 1000), 470),
    ((11908, 47104, 1, 470), 388),
    ((12500, 57344, 0, 0), 364),
    ((8000, 30517, 1, 470), 358),
    ((32000, 49152, 0, 0), 284),
    ((18708, 64512, 1, 1000), 255),
    ((11908, 47104, 1, 650), 237),
    ((9810, 41560, 1, 1000), 195),
    ((4000, 22888, 1, 320), 111),
)
#: Mean and deviation of the logarithms of durations and of gaps between arrivals, in seconds; no pod stays for longer.
_DURATION: Final = 6.44, 1.88, 100_000.0
_GAP: Final = 4.71, 1.91
_TRACE: Final = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time"
)
#: Millis of CPU that a pod of a Deployment requests.
_CPU: Final = (500, 1000, 1500, 2000, 4000)


@dataclass(slots=True, frozen=True)
class Shape:
    """How large a simulated cluster is."""

    nodes: int
    placement: str
    hours: int = 24
    seed: int = 1
    #: A CSV file with the columns of the openb trace: its pods come and go in place of those that are made up.
    trace: Path | None = None


def write_scenario(shape: Shape, folder: Path) -> Path:
    """The scenario, with its files in a folder."""
    rng = Random(shape.seed)
    cluster = {"apiVersion": "v1", "kind": "List", "items": list(_objects(shape.nodes, rng))}
    (folder / "cluster.json").write_text(json.dumps(cluster))
    if shape.trace is None:
        _write_trace(folder / "trace.csv", shape, rng)
    scenario = {
        "apiVersion": "restow.dev/v1alpha1",
        "kind": "Scenario",
        "for": f"{shape.hours}h",
        "begins": _BEGINS,
        "start": ["cluster.json"],
        "events": list(_maintenance(shape.hours)),
        "arrivals": [_given(shape.trace, shape.hours) if shape.trace else {"trace": "trace.csv"}],
        "descheduler": {"every": "1h", "placement": shape.placement},
    }
    path = folder / "scenario.yaml"
    path.write_text(yaml.safe_dump(scenario, sort_keys=False))
    return path


def _given(trace: Path, hours: int) -> dict[str, Any]:
    """A trace that exists; as fast as it takes for all of its pods to come in time."""
    with trace.open(newline="") as file:
        times = [float(row["creation_time"]) for row in csv.DictReader(file)]
    return {"trace": str(trace.resolve()), "faster": max(1.0, (max(times) - min(times)) / (hours * HOUR))}


def _objects(nodes: int, rng: Random) -> Iterator[dict[str, Any]]:
    names = [f"node-{number:05}" for number in range(nodes)]
    # Each hour another one of a hundred, by turns.
    for number, name in enumerate(names):
        yield _node(name, zone="abc"[number % 3], turn=number % 100)
    places = iter(names * PODS_PER_NODE)
    for number in range(nodes * PODS_PER_NODE // _PODS_PER_DEPLOYMENT):
        yield from _deployment(number, places, rng)


def _node(name: str, zone: str, turn: int) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone, "turn": str(turn)}
    room = {"cpu": "96", "memory": "384Gi", "pods": "110", "alibabacloud.com/gpu-milli": "8000"}
    status = {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": name, "uid": f"node/{name}", "creationTimestamp": _BEGINS, "labels": labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}


def _deployment(number: int, places: Iterator[str], rng: Random) -> Iterator[dict[str, Any]]:
    """With its ReplicaSet, its pods on nodes, and for one of four a budget."""
    name, cpu = f"web-{number:05}", rng.choice(_CPU)
    labels = {"app": name}
    requests = {"cpu": f"{cpu}m", "memory": f"{4 * cpu}Mi"}
    spec = {"containers": [{"name": "web", "image": "example.com/web:1", "resources": {"requests": requests}}]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    desired = {"replicas": _PODS_PER_DEPLOYMENT, "selector": {"matchLabels": labels}, "template": template}
    yield _named("apps/v1", "Deployment", name, spec=desired)
    # The label that the Deployment's controller gives its ReplicaSet is any that no other one has.
    hashed = labels | {"pod-template-hash": f"{number:010}"}
    owned = {
        "replicas": _PODS_PER_DEPLOYMENT,
        "selector": {"matchLabels": hashed},
        "template": {"metadata": {"labels": hashed}, "spec": spec},
    }
    replica_set = f"{name}-{number:010}"
    yield _named("apps/v1", "ReplicaSet", replica_set, owner=("Deployment", name), labels=hashed, spec=owned)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": _BEGINS}
    for replica in range(_PODS_PER_DEPLOYMENT):
        placed = spec | {"nodeName": next(places)}
        pod = _named("v1", "Pod", f"{replica_set}-{replica:05}", owner=("ReplicaSet", replica_set), labels=hashed)
        status = {"phase": "Running", "startTime": _BEGINS, "conditions": [ready]}
        yield pod | {"spec": placed, "status": status}
    if number % 4 == 0:
        budget = {"maxUnavailable": 1, "selector": {"matchLabels": labels}}
        yield _named("policy/v1", "PodDisruptionBudget", name, spec=budget)


def _named(
    version: str,
    kind: str,
    name: str,
    *,
    owner: tuple[str, str] | None = None,
    labels: dict[str, str] | None = None,
    spec: dict[str, Any] | None = None,
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"{kind}/{name}"}
    metadata |= {"creationTimestamp": _BEGINS, "labels": labels or {"app": name}}
    if owner is not None:
        above, called = owner
        reference = {"kind": above, "name": called, "uid": f"{above}/{called}", "controller": True}
        metadata["ownerReferences"] = [{"apiVersion": "apps/v1", **reference}]
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec or {}}


def _write_trace(path: Path, shape: Shape, rng: Random) -> None:
    count = shape.nodes * _ARRIVALS * shape.hours // 24
    times = list(accumulate(exp(rng.gauss(*_GAP)) for _ in range(count)))
    mean, deviation, longest = _DURATION
    kinds, weights = zip(*_REQUESTS, strict=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(_TRACE.split(","))
        for number, time in enumerate(times):
            arrives = round(time / times[-1] * shape.hours * HOUR)
            departs = arrives + round(min(exp(rng.gauss(mean, deviation)), longest))
            (requests,) = rng.choices(kinds, weights)
            writer.writerow([f"openb-pod-{number:05}", *requests, "", "LS", "Running", arrives, departs, arrives])


def _maintenance(hours: int) -> Iterator[dict[str, str]]:
    """Nodes are drained ten minutes after the hour, and take pods again half an hour later."""
    for hour in range(hours):
        turn = f"turn={hour}"
        yield {"at": f"{60 * hour + 10}m", "drain": turn}
        yield {"at": f"{60 * hour + 40}m", "uncordon": turn}
