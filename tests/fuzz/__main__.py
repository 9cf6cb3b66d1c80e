"""``make fuzz``: hunts of all kinds, side by side, for a time or for a number of inputs.

python -m fuzz [--inputs N] [--minutes M] [--seed S] [--jobs J] [--kinds K,K]    hunt
python -m fuzz --repeat FILE...                                                  run kept inputs once more
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.cases import Death, keep, load
from fuzz.hunting import KINDS, Found, Hunt
from fuzz.properties import findings
from fuzz.workers import Worker

#: Inputs of one hunt, and seconds between two lines of progress.
_ROUND, _LINE_EVERY = 100, 10.0
_REPEAT = "PYTHONPATH=tests .venv/bin/python -m fuzz --repeat"


@dataclass(slots=True)
class Campaign:
    """What has been tried and found so far."""

    started: float
    inputs: Counter[str] = field(default_factory=Counter)
    found: dict[str, Path] = field(default_factory=dict)

    def take(self, kind: str, number: int, inputs: int, news: Sequence[Found]) -> None:
        """Count one hunt and keep what it found."""
        self.inputs[kind] += inputs
        for each in news:
            if each.finding.signature not in self.found:
                path = keep(each.case, each.finding.signature)
                self.found[each.finding.signature] = path
                print(f"FOUND (seed {number}): {each.finding.signature}\n  {_REPEAT} {path}", flush=True)

    def line(self) -> str:
        """How far it is."""
        seconds = time.monotonic() - self.started
        total = self.inputs.total()
        each = ", ".join(f"{kind} {count}" for kind, count in sorted(self.inputs.items()))
        return f"{seconds:6.0f} s  {total} inputs ({total / max(seconds, 1):.0f}/s), {len(self.found)} findings: {each}"


def hunt(kind: str, number: int, inputs: int, known: frozenset[str], time_limit: float) -> tuple[int, list[Found]]:
    """One hunt in a process of the pool, which keeps its worker."""
    warnings.simplefilter("ignore")
    worker = _workers.setdefault(time_limit, Worker(time_limit=time_limit))
    one = Hunt(worker, set(known))
    one.run(kind, number, inputs)
    return one.inputs, one.found


_workers: dict[float, Worker] = {}


def campaign(options: argparse.Namespace) -> int:
    """Hunt until the inputs or the minutes are used up; 1 if anything was found."""
    state = Campaign(time.monotonic())
    plan = _rounds(options)
    with ProcessPoolExecutor(options.jobs) as pool:
        running: dict[Future[tuple[int, list[Found]]], tuple[str, int]] = {}
        shown = state.started
        while True:
            while len(running) < options.jobs and _goes_on(options, state) and (task := next(plan, None)):
                inputs = min(_ROUND, options.inputs or _ROUND)
                running[pool.submit(hunt, *task, inputs, frozenset(state.found), options.time_limit)] = task
            if not running:
                break
            done, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for each in done:
                state.take(*running.pop(each), *each.result())
            if time.monotonic() - shown > _LINE_EVERY:
                shown = time.monotonic()
                print(state.line(), flush=True)
    print(state.line())
    return 1 if state.found else 0


def _rounds(options: argparse.Namespace) -> Iterator[tuple[str, int]]:
    """Kinds in turn, each time with another seed."""
    for number in itertools.count(options.seed):
        for kind in options.kinds.split(","):
            yield kind, number


def _goes_on(options: argparse.Namespace, state: Campaign) -> bool:
    in_time = not options.minutes or time.monotonic() - state.started < options.minutes * 60
    return in_time and (not options.inputs or state.inputs.total() < options.inputs)


def repeat(paths: Sequence[str]) -> int:
    """Run kept inputs and show what comes of them; 1 if anything does not hold."""
    worker, bad = Worker(), 0
    for path in paths:
        case = load(Path(path))
        result = worker.run(case)
        print(f"{path}: {case!r}")
        if not isinstance(result, Death):
            for command, ran in zip(case.commands, result, strict=True):
                print(f"  {' '.join(command)[:200]}: status {ran.status}, {ran.seconds:.2f} s\n{ran.err[:2000]!r}")
        for each in findings(case, result):
            bad = 1
            print(f"  DOES NOT HOLD: {each.signature}\n{each.text}")
    worker.close()
    return bad


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--inputs", type=int, default=0, help="how many inputs in all")
    parser.add_argument("--minutes", type=float, default=0.0, help="how long; without both for ever")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds for one input")
    parser.add_argument("--repeat", nargs="+", metavar="FILE")
    return parser.parse_args()


if __name__ == "__main__":
    chosen = _options()
    try:
        sys.exit(repeat(chosen.repeat) if chosen.repeat else campaign(chosen))
    except KeyboardInterrupt:
        sys.exit(130)
