"""``python -m tests.bench.rebalancing``: how even the joint planner's search makes 1,000 nodes, for each number of moves.

Half of the nodes are full of CPU and half of memory, independently of each other, with 20,000 pods of very different
sizes. A line tells the standard deviation of the nodes' shares of CPU and memory: at the start, after the greedy descent
alone, and after the search. `--peer PYTHON` runs Meta's Rebalancer beside, with an interpreter that has its package
`rebalancer` and NumPy.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from restow.optimizing.compiled import CompiledState, library
from restow.optimizing.evaluation import loads, violations
from restow.optimizing.goals import balance
from restow.optimizing.problem import ReassignmentProblem, problem
from restow.optimizing.search import search

#: Milli-CPU and MiB of a node, and what pods request with which probability.
_NODE = (32_000, 131_072)
_CPU = ((100, 250, 500, 1_000, 2_000, 4_000, 8_000), (0.33, 0.25, 0.16, 0.1, 0.085, 0.07, 0.005))
_MEMORY = ((256, 512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768), (0.23, 0.2, 0.2, 0.14, 0.11, 0.07, 0.036, 0.014))
#: What full and empty nodes are filled to.
_FULL, _EMPTY = 0.96, 0.02


def skewed(nodes: int, pods: int, seed: int = 1) -> ReassignmentProblem:
    """A cluster with even load as the goal, in which each node is nearly full or nearly empty of each resource."""
    rng = np.random.default_rng(seed)
    capacity = np.tile(np.array(_NODE, np.int64), (nodes, 1))
    cpu, memory = (rng.choice(sizes, pods, p=odds) for sizes, odds in (_CPU, _MEMORY))
    usage = np.stack([cpu, memory], axis=1).astype(np.int64)
    wanted = np.where(rng.random((nodes, 2)) < 0.5, _FULL, _EMPTY) * capacity
    return problem(usage, capacity, _filled(rng, usage, capacity, wanted), balance(usage, capacity))


def _filled(
    rng: np.random.Generator, usage: NDArray[np.int64], capacity: NDArray[np.int64], wanted: NDArray[np.float64]
) -> NDArray[np.int32]:
    """Where pods are if each, the largest first, goes to the one of 48 nodes that lacks most of what is wanted."""
    room = capacity.copy()
    place = np.zeros(len(usage), np.int32)
    for pod in np.argsort(-(usage / capacity[0]).max(axis=1), kind="stable"):
        nodes = rng.integers(0, len(capacity), 48)
        lacking = ((wanted[nodes] - usage[pod]) / capacity[nodes]).min(axis=1)
        lacking[(room[nodes] < usage[pod]).any(axis=1)] = -np.inf
        node = nodes[lacking.argmax()]
        place[pod] = node
        wanted[node] -= usage[pod]
        room[node] -= usage[pod]
    return place


def deviation(case: ReassignmentProblem, place: NDArray[np.int32]) -> str:
    """The standard deviation of the shares of CPU and of memory."""
    return "/".join(f"{each:.4f}" for each in (loads(case, place) / case.capacity).std(axis=0))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.rebalancing", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--moves", type=int, nargs="*", default=[300, 1_000, 2_400, 7_075])
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter with Meta's Rebalancer, to run it as well")
    options = parser.parse_args(arguments)
    case = skewed(options.nodes, options.pods)
    print(f"start: {deviation(case, case.start)}")
    for moves in options.moves:
        limited = replace(case, budget=moves)
        kernel = library()
        greedy = "-"
        if kernel is not None:
            state = CompiledState(limited, 1, kernel)
            state.greedy(moves, options.nodes)
            greedy = deviation(case, state.best)
        began, cpu_began = time.perf_counter(), time.process_time()
        found = search(limited, seed=1, seconds=options.seconds)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu_began
        print(
            f"{moves:,} moves: {deviation(case, found.place)} with {found.after.moved:,} (greedy alone {greedy}),"
            f" {seconds:.1f} s, {cpu:.1f} s of CPU"
        )
        assert not violations(limited, found.place)
        if options.peer:
            print(beside(options.peer, limited), flush=True)
    return 0


def beside(python: str, case: ReassignmentProblem) -> str:
    """What Meta's Rebalancer makes of a problem with at most as many moves."""
    with TemporaryDirectory() as directory:
        question, answer = Path(directory) / "problem.npz", Path(directory) / "place.npz"
        np.savez(question, usage=case.usage, capacity=case.capacity, start=case.start, moves=case.budget)
        program = Path(__file__).with_name("rebalancing_peer.py")
        subprocess.run([python, "-P", str(program), str(question), str(answer)], check=True, capture_output=True)
        found = np.load(answer)
    place = found["place"]
    assert not violations(case, place)
    return f"    rebalancer: {deviation(case, place)} with {np.count_nonzero(place != case.start):,}, {found['seconds']:.1f} s"


if __name__ == "__main__":
    sys.exit(main())
