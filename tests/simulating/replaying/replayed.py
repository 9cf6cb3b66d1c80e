"""Runs of recordings."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from restow.application.past_runs import replayed
from restow.policies.policy import Policy
from restow.simulating.replaying.replay import ReplayedSpan
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import read_scenario
from restow.simulating.scenarios.running import RunEnding, ScenarioRun, begin, config_of, run_out
from restow.simulating.scenarios.scenario import Scenario

_EMPTY = b"apiVersion: restow.dev/v1alpha1\nkind: Scenario\n"


def begun(replay: ReplayedSpan) -> tuple[Scenario, ScenarioRun]:
    """A replay that has begun, without a descheduler."""
    folder = Folder(Path())
    scenario = replayed(read_scenario(_EMPTY, "s.yaml", folder), replay)
    return scenario, begin(scenario, config_of(scenario, folder, Policy()), replay.begins)


def finished(replay: ReplayedSpan) -> Any:
    """A replay that is over."""
    scenario, run = begun(replay)
    return run_out(scenario, run, RunEnding(replay.duration, when_stable=False), lambda now: None)


def a_scene(replay: ReplayedSpan) -> Any:
    """A replay that has begun, as what can be recorded."""
    _, run = begun(replay)
    return SimpleNamespace(store=run.simulation.store, clock=run.simulation.clock)
