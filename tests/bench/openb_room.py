"""``python -m tests.bench.openb_room NODES.csv PODS.csv``: room for pending GPU pods of the openb trace, per move.

Pods of the trace arrive on a part of its nodes and are put where most is free, as the stock scheduler does; then some
depart, at random. Pods that fit nowhere after that, though enough GPUs are free in all, wait. A line tells how many of
them get room, with how many moves: by a greedy that empties a part of one node for each pod, and by the goal ``room``.
GPUs are counted in thousandths, of a node all together.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # as pytest has it: modules by their path below tests/

from builders import NOW, Object, a_list, a_node, a_pod, ago
from proving.proven import TOLD
from restow.application.clusters import ClusterSource
from restow.application.feedback import Collected
from restow.application.goals import GoalRequest, policy_or_goal
from restow.application.planning import PlanRequest, make

_GPU = "example.com/gpu-milli"
Amounts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scene:
    """Nodes, pods on them, and pods that wait: amounts of CPU (milli), memory (MiB) and GPUs (thousandths)."""

    capacity: Amounts
    usage: Amounts
    place: Amounts
    waiting: Amounts

    def free(self) -> Amounts:
        """What is free on each node."""
        free = self.capacity.copy()
        np.subtract.at(free, self.place, self.usage)
        return free


def scene(nodes: Path, pods: Path, count: int, departing: float, seed: int) -> Scene:
    """Fill nodes with the pods of the trace, let some depart, and keep as waiting what fits nowhere then."""
    rng = np.random.default_rng(seed)
    capacity = _columns(nodes, lambda row: (int(row["cpu_milli"]), int(row["memory_mib"]), 1000 * int(row["gpu"] or 0)))
    capacity = capacity[rng.permutation(np.flatnonzero(capacity[:, 2] > 0))[:count]]
    usage = _columns(
        pods, lambda row: (int(row["cpu_milli"]), int(row["memory_mib"]), int(row["num_gpu"]) * int(row["gpu_milli"]))
    )
    usage = usage[usage[:, 2] > 0]
    free, placed, left = capacity.copy(), [], []
    for pod, request in enumerate(usage):
        node = _emptiest(free, capacity, request)
        if node >= 0:
            free[node] -= request
            placed.append((pod, node))
        elif request[2] >= 1000:
            left.append(pod)
    stay = np.array(placed)[rng.random(len(placed)) >= departing]
    held = Scene(capacity, usage[stay[:, 0]], stay[:, 1], usage[left])
    free = held.free()
    waiting = [each for each in held.waiting if _emptiest(free, capacity, each) < 0][:20]
    return Scene(held.capacity, held.usage, held.place, np.array(waiting).reshape(-1, 3))


def _columns(path: Path, read: Callable[[dict[str, str]], tuple[int, int, int]]) -> Amounts:
    with path.open(encoding="utf-8") as file:
        return np.array([read(row) for row in csv.DictReader(file)], np.int64)


def _emptiest(free: Amounts, capacity: Amounts, request: Amounts) -> int:
    fits = np.flatnonzero((free >= request).all(axis=1))
    if not len(fits):
        return -1
    share = ((free[fits] - request) / np.maximum(capacity[fits], 1)).mean(axis=1)
    return int(fits[share.argmax()])


def greedy(case: Scene) -> tuple[int, int]:
    """How many waiting pods get room, and with how many moves: for each the node from which the fewest pods must go."""
    place, free, helped, moves = case.place.copy(), case.free(), 0, 0
    for request in case.waiting:
        ways = [
            (len(way), node, way)
            for node in range(len(case.capacity))
            if (way := _way(case, place, free, node, request)) is not None
        ]
        if not ways:
            continue
        _, node, way = min(ways, key=lambda each: each[:2])
        for pod, target in way:
            free[place[pod]] += case.usage[pod]
            free[target] -= case.usage[pod]
            place[pod] = target
        free[node] -= request
        helped, moves = helped + 1, moves + len(way)
    return helped, moves


def _way(case: Scene, place: Amounts, free: Amounts, node: int, request: Amounts) -> list[tuple[int, int]] | None:
    """The largest pods of a node, one after the other, to the emptiest other node, until a request fits; None if it cannot."""
    if (case.capacity[node] < request).any():
        return None
    room, others = free[node].copy(), free.copy()
    others[node] = -1
    way: list[tuple[int, int]] = []
    for pod in sorted(np.flatnonzero(place == node).tolist(), key=lambda pod: -case.usage[pod, 2]):
        if (room >= request).all():
            return way
        target = _emptiest(others, case.capacity, case.usage[pod])
        if target >= 0:
            others[target] -= case.usage[pod]
            room += case.usage[pod]
            way.append((pod, target))
    return way if (room >= request).all() else None


def rebalanced(case: Scene, folder: Path) -> tuple[int, int]:
    """The same by ``restow plan --goal room``."""
    dump = folder / "openb.json"
    dump.write_bytes(msgspec.json.encode(a_list(*_objects(case))))
    policy = policy_or_goal(None, GoalRequest("room"))
    plan = make(PlanRequest(ClusterSource((str(dump),)), policy=policy, now=NOW), Collected()).plan
    (goal,) = plan.goals
    return round(goal.before - goal.after), len(plan.moves)


def _objects(case: Scene) -> list[Object]:
    names = [f"n{number}" for number in range(len(case.capacity))]
    nodes = [
        a_node(name, cpu=f"{cpu}m", memory=f"{memory}Mi", extended={_GPU: int(gpu)})
        for name, (cpu, memory, gpu) in zip(names, case.capacity.tolist(), strict=True)
    ]
    pods = [
        a_pod(
            f"p{number}",
            node=names[node],
            owner=("ReplicaSet", f"r{number}"),
            created=ago(3600),
            requests=_requests(row),
        )
        for number, (node, row) in enumerate(zip(case.place.tolist(), case.usage.tolist(), strict=True))
    ]
    waiting = [
        a_pod(f"w{number}", owner=("ReplicaSet", f"w{number}"), phase="Pending", requests=_requests(row))
        for number, row in enumerate(case.waiting.tolist())
    ]
    return [*nodes, *pods, *waiting, *TOLD]


def _requests(row: Sequence[int]) -> dict[str, str]:
    return {"cpu": f"{row[0]}m", "memory": f"{row[1]}Mi", _GPU: str(row[2])}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.openb_room", description=__doc__)
    parser.add_argument("nodes", type=Path)
    parser.add_argument("pods", type=Path)
    parser.add_argument("--count", type=int, default=100, help="nodes with GPUs, drawn from all of them")
    parser.add_argument("--departing", type=float, default=0.15, help="the share of pods that depart")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3, 4, 5])
    options = parser.parse_args(arguments)
    for seed in options.seeds:
        case = scene(options.nodes, options.pods, options.count, options.departing, seed)
        with TemporaryDirectory() as folder:
            began = time.perf_counter()
            ours = rebalanced(case, Path(folder))
            seconds = time.perf_counter() - began
        (helped, moves), theirs = ours, greedy(case)
        print(
            f"seed {seed}: {len(case.capacity)} nodes, {len(case.place):,} pods, {len(case.waiting)} wait; greedy: room for "
            f"{theirs[0]} with {theirs[1]} moves; room: {helped} with {moves}, {seconds:.1f} s",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
