"""Whatever goes wrong in the middle of steered moves, nothing waits for long, nothing is lost, and nothing is left behind.

A seed chooses the fault, the call of a steered move at which it happens, how many replicas of restow there are, and what is
being moved. ``RESTOW_E2E_STEERING_FAULTS=0:500`` is the long form, and ``make faults`` counts what must not be.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random

import pytest

from e2e.control_plane import ControlPlane
from e2e.fault_counts import Counts, Run, check, evicted_twice, seeds_of
from e2e.faults import calls
from e2e.steered import PACK, install
from e2e.steering_faults import CPU, FAULTS, PATIENCE, STEPS, TAKES_PODS, Fault, Scene, Step
from e2e.steering_scenes import disturbed, packing
from e2e.workloads import budget, deployment, stateful_set, wait_for_ready

pytestmark = pytest.mark.e2e

#: The API server is killed, restow is killed, an admission policy is deleted, and etcd stands still.
SEEDS = seeds_of("RESTOW_E2E_STEERING_FAULTS", (18, 31, 7))
_SLOW = {"test/delete-delay": "1s"}


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("steering-faults")) as plane:
        plane.add_nodes(5, cpu=CPU)
        install(plane)
        yield plane


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_goes_wrong_nothing_waits_and_nothing_is_lost(
    cluster: ControlPlane, tmp_path: Path, seed: int
) -> None:
    chance = Random(seed)
    fault, replicas = chance.choice(FAULTS)
    step, times = chance.choice(STEPS), chance.randint(1, 4)
    what = f"{fault.__name__} at the {times}. {' '.join(step)}, {replicas} replicas"
    try:
        with packing(cluster, tmp_path, PACK, chance, replicas) as scene:
            counts = _run(scene, fault, Step(calls(*step), times))
    except Exception as error:
        error.add_note(f"seed {seed}: {what}")
        raise
    check(Run("steering", seed, what, counts))


def _crowd(scene: Scene) -> tuple[str, int]:
    """A workload with a budget comes to the empty nodes; its pods are replaced at once, or once they are gone, which takes a while.

    Returns its name, and how many pods it has to have: one less than all of them.
    """
    name, count, make = scene.chance.choice(
        (("web", 6, deployment), ("db", 3, partial(stateful_set, annotations=_SLOW)))
    )
    scene.plane.admin.create(make(name, count))
    wait_for_ready(scene.plane.admin, name, count, timeout=PATIENCE)
    if scene.plane.admin.find("PodDisruptionBudget", name):
        scene.plane.admin.delete("PodDisruptionBudget", name)
    scene.plane.admin.create(budget(name, name, max_unavailable=1))
    return name, count - 1


def _run(scene: Scene, fault: Fault, step: Step) -> Counts:
    """Let the fault happen at a step, and see that all is as it should be once it is put right; returns what was seen."""
    seen = disturbed(scene, fault, step, lambda: _crowd(scene))
    return Counts(
        gated_too_long=seen.gated_too_long,
        evicted_twice=evicted_twice(scene.plane, "web"),
        budgets_violated=int(fault not in TAKES_PODS and seen.ready < seen.fewest),
    )
