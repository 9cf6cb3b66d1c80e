"""``python -m tests.bench.roadef MODEL ASSIGNMENT --seconds 300 --seed 1 --output NEW``: an instance through the search.

Prints what the search found and what the independent checker says of it; the exit status is 1 if a rule is broken.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # as pytest has it: modules by their path below tests/

from bench.roadef import checker
from bench.roadef.instances import problem_of, read_assignment, read_instance, write_assignment
from restow.optimizing.search import search


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.roadef", description="ROADEF/EURO challenge 2012")
    parser.add_argument("model", type=Path)
    parser.add_argument("assignment", type=Path)
    parser.add_argument("--seconds", type=float, default=300.0, help="time limit, reading and writing included")
    parser.add_argument("--steps", type=int, help="tries instead of a time limit: the same answer on every machine")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="where the new assignment goes")
    parser.add_argument("--cpu-time", action="store_true", help="count the processor's seconds, not the clock's")
    parser.add_argument("--numpy", action="store_true", help="do without the compiled core")
    options = parser.parse_args(arguments)
    clock = time.process_time if options.cpu_time else time.perf_counter
    began, cpu_began = clock(), time.process_time()
    instance, start = read_instance(options.model), read_assignment(options.assignment)
    limits = {"steps": options.steps} if options.steps else {"seconds": options.seconds - (clock() - began) - 0.5}
    solution = search(problem_of(instance, start), seed=options.seed, clock=clock, compiled=not options.numpy, **limits)
    if options.output:
        write_assignment(options.output, solution.place)
    new, old = solution.place.tolist(), start.tolist()
    cost, broken = checker.cost(instance, old, new), checker.violations(instance, old, new)
    core = "compiled" if solution.compiled else "numpy"
    print(f"{options.model.name}: {solution.before.cost:,} -> {cost.total:,} ({cost})")
    print(f"{solution.steps:,} tries ({core}), {clock() - began:.1f} s, {time.process_time() - cpu_began:.1f} s of CPU")
    print("\n".join(broken) or "no rule is broken")
    assert cost.total == solution.after.cost, "the search and the checker disagree about the cost"
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
