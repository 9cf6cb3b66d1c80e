"""Whatever goes wrong in the middle of a reservation or a rollout, no pod is missed, and no placeholder is left.

A seed chooses the fault, the call at which it happens, how many replicas of restow there are, and how the pods are replaced.
``RESTOW_E2E_REPLACING_FAULTS=0:500`` is the long form, and ``make faults`` counts what must not be.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest

from e2e.control_plane import ControlPlane
from e2e.fault_counts import Counts, Run, check, evicted_twice, seeds_of
from e2e.faults import calls
from e2e.shipped import NAMESPACE
from e2e.steered import PACK, component, install
from e2e.steering_faults import CPU, FAULTS, PATIENCE, TAKES_PODS, Fault, Scene, Step, right_revoked
from e2e.steering_scenes import disturbed, packing
from e2e.test_surging_faults import controllers_stopped
from e2e.waiting import wait_until
from e2e.workloads import deployment, pods_of, stateful_set, wait_for_ready
from restow.executing.reserving import LABEL

pytestmark = pytest.mark.e2e

SEEDS = seeds_of("RESTOW_E2E_REPLACING_FAULTS", (0, 1, 2))
#: The calls of each way, in order.
STEPS = {
    "reserve": (
        ("patch", "configmaps"),
        ("create", "pods"),
        ("create", "pods/eviction"),
        ("patch", "pods/status"),
        ("delete", "pods"),
        ("patch", "pods"),
    ),
    "rollout": (
        ("patch", "configmaps"),
        ("patch", "deployments"),
        ("list", "replicasets"),
        ("patch", "pods/status"),
        ("patch", "pods"),
    ),
}
_SLOW = {"test/delete-delay": "2s"}
#: Seconds until no placeholder is left.
_FREE = 60.0


@contextmanager
def template_changed(scene: Scene) -> Iterator[None]:
    """Somebody rolls out something else."""
    if scene.plane.admin.find("Deployment", "web", "default"):
        theirs = {"spec": {"template": {"metadata": {"annotations": {"team/version": "2"}}}}}
        scene.plane.admin.patch("Deployment", "web", theirs, "default")
    yield


_FAULTS: tuple[tuple[Fault, int], ...] = (
    (controllers_stopped, 1),
    (controllers_stopped, 2),
    (template_changed, 1),
    *(each for each in FAULTS if each[0] is not right_revoked),
)


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("replacing-faults")) as plane:
        plane.add_nodes(5, cpu=CPU)
        install(plane)
        for name in ("surging", "reserving"):
            for thing in component(name, "guarding", "rights"):
                plane.admin.create(thing)
        yield plane


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_goes_wrong_no_pod_is_missed_and_no_place_stays_held(
    cluster: ControlPlane, tmp_path: Path, seed: int
) -> None:
    chance = Random(seed)
    mode = chance.choice(sorted(STEPS))
    fault, replicas = chance.choice(_FAULTS)
    step, times = chance.choice(STEPS[mode]), chance.randint(1, 2)
    what = f"{mode}, {fault.__name__} at the {times}. {' '.join(step)}, {replicas} replicas"
    try:
        with packing(cluster, tmp_path, PACK | {"restow": {"replacement": mode}}, chance, replicas) as scene:
            counts = _run(scene, fault, Step(calls(*step), times), mode)
    except Exception as error:
        error.add_note(f"seed {seed}: {what}")
        raise
    check(Run("replacing", seed, what, counts))


def _run(scene: Scene, fault: Fault, step: Step, mode: str) -> Counts:
    """Let the fault happen at a step, and see that nothing is held any more; returns what was seen."""
    crowd = partial(_one, scene) if mode == "rollout" else partial(_some, scene)
    seen = disturbed(scene, fault, step, crowd)
    wait_until("no place is held", lambda: not placeholders(scene.plane), _FREE)
    return Counts(
        gated_too_long=seen.gated_too_long,
        evicted_twice=evicted_twice(scene.plane, "web"),
        budgets_violated=int(fault not in TAKES_PODS and seen.ready < seen.fewest),
        not_put_back=len(pods_of(scene.plane.admin, "web")) - _wanted(scene.plane),
    )


def _one(scene: Scene) -> tuple[str, int]:
    """A Deployment with one replica, which is never missing."""
    scene.plane.admin.create(deployment("web", 1, cpu="100m"))
    wait_for_ready(scene.plane.admin, "web", 1, timeout=PATIENCE)
    return "web", 1


def _some(scene: Scene) -> tuple[str, int]:
    """A Deployment or a StatefulSet, of which one pod at a time may be missing."""
    pods = scene.chance.randint(1, 3)
    make = scene.chance.choice((deployment, stateful_set))
    scene.plane.admin.create(make("web", pods, cpu="100m", annotations=_SLOW))
    wait_for_ready(scene.plane.admin, "web", pods, timeout=PATIENCE)
    return "web", pods - 1


def placeholders(plane: ControlPlane) -> list[str]:
    """Those that still hold a place."""
    held = [each for each in plane.admin.items("Pod", NAMESPACE) if LABEL in each["metadata"].get("labels", {})]
    return [each["metadata"]["name"] for each in held if each["status"].get("phase") not in ("Failed", "Succeeded")]


def _wanted(plane: ControlPlane) -> int:
    found = plane.admin.find("Deployment", "web", "default") or plane.admin.get("StatefulSet", "web", "default")
    return int(found["spec"]["replicas"])
