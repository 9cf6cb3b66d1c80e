"""A comparison in a process of its own, whose pieces say how long they take: ``-m bench.engines_run FUTURES FOR ENGINE WORKERS CONFIG``."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from restow.application.comparing import Runs
from restow.application.engines import read_engine
from restow.application.feedback import Collected
from restow.application.simulating import ScenarioRequest, read_inputs, staging_of
from restow.engines.registry import RunFeedback, make_all
from restow.engines.work import Tick

_EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_POLICIES = ("default", "careful")


@dataclass(slots=True, frozen=True)
class TimedRuns:
    """Runs that return how long each of them takes."""

    runs: Runs

    def __len__(self) -> int:
        return len(self.runs)

    def make(self, number: int, tick: Tick) -> float:
        """Make one of the runs; returns its processor time in seconds."""
        began = time.process_time()
        self.runs.make(number, tick)
        return time.process_time() - began


def main() -> None:
    """Print the seconds until the first result and until the last, and those that the pieces took."""
    futures, minutes, engine, workers, config = sys.argv[1:]
    scenario = str(_EXAMPLES / "scenarios/maintenance.yaml")
    inputs = read_inputs(
        ScenarioRequest((scenario,), int(minutes) * 60 * 10**9, now="2026-11-21T00:00:00Z"), Collected()
    )
    stagings = tuple(staging_of(inputs, str(_EXAMPLES / f"policies/{each}.yaml"), Collected()) for each in _POLICIES)
    runs = Runs(stagings, tuple(range(int(futures) // len(stagings))), inputs.ending, inputs.now)
    chosen = read_engine(engine, int(workers) or None, config or None)
    ticks: list[float] = []
    began = time.perf_counter()
    took: list[Any] = make_all(TimedRuns(runs), chosen, RunFeedback(lambda _: ticks.append(time.perf_counter())), float)
    ended = time.perf_counter()
    print(json.dumps({"first": ticks[0] - began, "whole": ended - began, "pieces": sum(took), "count": len(took)}))


if __name__ == "__main__":
    # Workers elsewhere import this module by its name.
    from bench.engines_run import main as named

    named()
