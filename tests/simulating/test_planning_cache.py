"""What a simulated descheduler keeps from one plan to the next, and what it does not look at, changes none of its plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from executing.told import told
from restow.application.generating import GenerateRequest
from restow.application.policies import read_policy_file
from restow.descheduling.framework import View
from restow.executing.deciding import Before, CycleDecision, decide
from restow.kube.duration import HOUR
from restow.policies.fallbacks import Fallbacks
from restow.proving.planning_cache import PlanningCache
from restow.simulating import descheduler
from restow.simulating.scenarios.folder import Folder
from restow.simulating.scenarios.reading import read_scenario
from restow.simulating.scenarios.running import RunEnding, begin, config_of, run_out

#: Pods come and go while plans are carried out, and a node is drained and comes back.
SCENARIO: dict[str, Any] = {
    "apiVersion": "restow.dev/v1alpha1",
    "kind": "Scenario",
    "begins": "2026-11-30T00:00:00Z",
    "for": "2h",
    "start": ["cluster.json"],
    "descheduler": {"every": "10m", "placement": "prove"},
}


def run(folder: Path, profile: str, seed: int, check: Any) -> int:
    """Simulates a cluster whose descheduler decides with a check; returns how many plans were repaired ones."""
    objects = list(GenerateRequest(profile, nodes=16, pods=260, seed=seed).objects())
    (folder / "cluster.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    names = [each["metadata"]["name"] for each in objects if each["kind"] == "Node"]
    events = [{"at": "12m", "drain": names[1]}, {"at": "50m", "uncordon": names[1]}]
    path = folder / "scenario.yaml"
    path.write_text(json.dumps(SCENARIO | {"events": events}))
    scenario = read_scenario(path.read_bytes(), path.name, Folder(folder))
    config = config_of(scenario, Folder(folder), read_policy_file(None, Fallbacks()).loaded.policy)
    repaired = 0

    def checked(cluster: Any, rules: Any, before: Before, now: int, *, cache: PlanningCache) -> CycleDecision:
        nonlocal repaired
        repaired += before.may_move is not None
        found = decide(cluster, rules, before, now, cache=cache)
        check(found, lambda: decide(cluster, rules, before, now))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(descheduler, "decide", checked)
        assert scenario.begins is not None
        started = begin(scenario, config, scenario.begins)
        run_out(scenario, started, RunEnding(2 * HOUR, when_stable=False), lambda _: None)
        started.end()
    return repaired


@pytest.mark.parametrize("profile", ["mixed", "full"])
@pytest.mark.parametrize("seed", [1, 2])
def test_each_plan_is_the_one_that_is_made_from_nothing(tmp_path: Path, profile: str, seed: int) -> None:
    def check(found: CycleDecision, again: Any) -> None:
        kept = told(found)
        found.cycle.state.validate()
        assert told(again()) == kept

    assert run(tmp_path, profile, seed, check) > 1


@pytest.mark.parametrize("seed", [3, 4])
def test_strategies_that_pass_over_pods_which_are_not_due_find_the_moves_of_those_that_look_at_all(
    tmp_path: Path, seed: int
) -> None:
    def check(found: CycleDecision, again: Any) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(View, "is_partial", False)
            patch.setattr(View, "due", lambda _, pods: pods)
            patch.setattr(View, "due_of", lambda view, chosen: view.pods.where(chosen))
            patch.setattr(View, "due_nodes", lambda _: None)
            patch.setattr(View, "is_due", lambda view: view.pods.read() | True)
            assert again().tasks == found.tasks

    assert run(tmp_path, "mixed", seed, check) > 1
