"""One scenario in a process of its own, whose cost the operating system tells: ``simulated_run.py SCENARIO``."""

from __future__ import annotations

import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from restow import garbage
from restow.application.policies import read_policy_file
from restow.kube.duration import HOUR
from restow.policies.fallbacks import Fallbacks
from restow.simulating import descheduler
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import read_scenario
from restow.simulating.scenarios.running import RunEnding, begin, config_of, run_out


class Timed:
    """Adds up what functions take."""

    def __init__(self) -> None:
        self.seconds, self.calls = 0.0, 0

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        def timed(*args: Any, **more: Any) -> Any:
            began = time.process_time()
            try:
                return function(*args, **more)
            finally:
                self.seconds += time.process_time() - began
                self.calls += 1

        return timed


def main() -> None:
    """Runs it as ``restow simulate`` does, and prints what it came to."""
    gc.disable()
    path = Path(sys.argv[1])
    folder = Folder(path.parent)
    began = time.process_time()
    scenario = read_scenario(path.read_bytes(), path.name, folder)
    deciding = Timed()
    descheduler.decide = deciding.of(descheduler.decide)
    config = config_of(scenario, folder, read_policy_file(None, Fallbacks()).loaded.policy)
    assert scenario.begins is not None
    garbage.collect()
    run = begin(scenario, config, scenario.begins)
    events: Counter[str] = Counter()
    run.simulation.store.subscribe_all(lambda event: events.update((event.kind,)))
    ready = time.process_time()
    run_out(scenario, run, RunEnding(scenario.duration or 24 * HOUR, when_stable=False), lambda _: None)
    ended = time.process_time()
    assert run.descheduler is not None
    result = {
        "reading": ready - began,
        "deciding": deciding.seconds,
        "simulating": ended - ready,
        "events": events.total(),
        "pods": len(run.simulation.store.list("Pod")),
        "moves": sum(each.is_made for each in run.descheduler.moves),
        "plans": deciding.calls,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
