"""Whatever goes wrong in the middle of a surge, no pod is missed, each number of replicas comes back, and no mark is left.

A seed chooses the fault, the call at which it happens, how many replicas of restow there are, and the workload. Besides what
may go wrong with steering, others change the number of replicas meanwhile. ``RESTOW_E2E_SURGING_FAULTS=0:500`` is the long
form, and ``make faults`` counts what must not be.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from builders import Object
from e2e.beside import beside
from e2e.control_plane import ControlPlane
from e2e.fault_counts import Counts, Run, check, evicted_twice, seeds_of
from e2e.faults import calls
from e2e.shipped import USER, without
from e2e.steered import PACK, component, install
from e2e.steering_faults import CPU, FAULTS, PATIENCE, TAKES_PODS, Fault, Scene, Step, right_revoked, scaled
from e2e.steering_scenes import disturbed, packing
from e2e.workloads import deployment, pods_of, wait_for_ready
from restow.executing.surged_workloads import ANNOTATION
from restow.workloads.controllers import DELETION_COST

pytestmark = pytest.mark.e2e

SEEDS = seeds_of("RESTOW_E2E_SURGING_FAULTS", (1, 2))
#: The calls of a surge that is steered, in order.
STEPS = (
    ("patch", "configmaps"),
    ("patch", "deployments"),
    ("patch", "pods/status"),
    ("list", "endpointslices"),
    ("patch", "pods"),
)
_SURGING = PACK | {"restow": {"replacement": "surge"}}
_AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"


@contextmanager
def controllers_stopped(scene: Scene) -> Iterator[None]:
    """kube-controller-manager stands still for a while."""
    scene.plane.pause("kube-controller-manager")
    time.sleep(scene.chance.uniform(1, 8))
    scene.plane.resume("kube-controller-manager")
    yield


@contextmanager
def autoscaled(scene: Scene) -> Iterator[None]:
    """A HorizontalPodAutoscaler appears, which wants one pod more than there were."""
    wanted = _wanted(scene.plane) + 1
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"scaleTargetRef": target, "minReplicas": wanted, "maxReplicas": wanted + 1}
    named = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}}
    scene.plane.admin.call("POST", _AUTOSCALERS, named | {"spec": spec})
    yield
    scene.plane.admin.call("DELETE", f"{_AUTOSCALERS}/web")


@contextmanager
def taken_back(scene: Scene) -> Iterator[None]:
    """Somebody sets the number of replicas back again and again, as a GitOps program does that heals itself."""
    wanted = _wanted(scene.plane)

    def heal(over: threading.Event) -> None:
        while not over.wait(0.2):
            scene.plane.admin.patch("Deployment", "web", {"spec": {"replicas": wanted}})

    with beside(heal):
        time.sleep(scene.chance.uniform(1, 6))
    yield


@contextmanager
def surging_revoked(scene: Scene) -> Iterator[None]:
    """A right of surges is taken away for a while."""
    resource, verb = scene.chance.choice((("deployments", "patch"), ("endpointslices", "list")))
    with without(scene.plane, "restow-surging", resource, verb):
        time.sleep(scene.chance.uniform(0, 3))
    yield


#: Besides those of steering, with how many replicas each happens.
OF_SURGES: tuple[tuple[Fault, int], ...] = (
    (controllers_stopped, 1),
    (controllers_stopped, 2),
    (autoscaled, 1),
    (taken_back, 1),
    (surging_revoked, 1),
)
#: The right to patch pods is part of both roles, so that it cannot be taken away from one.
_FAULTS = (*OF_SURGES, *(each for each in FAULTS if each[0] is not right_revoked))


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("surging-faults")) as plane:
        plane.add_nodes(5, cpu=CPU)
        install(plane)
        for thing in component("surging", "guarding", "rights"):
            plane.admin.create(thing)
        yield plane


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_goes_wrong_no_pod_is_missed_and_all_is_put_back(
    cluster: ControlPlane, tmp_path: Path, seed: int
) -> None:
    chance = Random(seed)
    fault, replicas = chance.choice(_FAULTS)
    step, times, pods = chance.choice(STEPS), chance.randint(1, 3), chance.randint(1, 3)
    what = f"{fault.__name__} at the {times}. {' '.join(step)}, {replicas} replicas, {pods} pods"
    try:
        with packing(cluster, tmp_path, _SURGING, chance, replicas) as scene:
            counts = _run(scene, fault, Step(calls(*step), times), pods)
    except Exception as error:
        error.add_note(f"seed {seed}: {what}")
        raise
    check(Run("surging", seed, what, counts))


def _run(scene: Scene, fault: Fault, step: Step, pods: int) -> Counts:
    """Let the fault happen at a step, and see that all is put back; returns what was seen."""

    def crowd() -> tuple[str, int]:
        scene.plane.admin.create(deployment("web", pods, cpu="100m"))
        wait_for_ready(scene.plane.admin, "web", pods, timeout=PATIENCE)
        return "web", pods

    seen = disturbed(scene, fault, step, crowd)
    surged = scene.plane.audit.calls("patch", "deployments", user=USER)
    assert surged or fault not in dict(OF_SURGES), "nothing was surged"
    return Counts(
        gated_too_long=seen.gated_too_long,
        evicted_twice=evicted_twice(scene.plane, "web"),
        budgets_violated=int(fault not in TAKES_PODS and seen.ready < seen.fewest),
        not_put_back=len(_left(scene.plane)) + int(_differs(scene, fault, pods)),
    )


def _wanted(plane: ControlPlane) -> int:
    """How many replicas the workload wants for itself."""
    found = plane.admin.get("Deployment", "web")
    return int(found["spec"]["replicas"]) - (ANNOTATION in _annotations(found))


def _differs(scene: Scene, fault: Fault, pods: int) -> bool:
    """Whether the number of replicas is not the one that somebody wants."""
    there = scene.plane.admin.get("Deployment", "web")["spec"]["replicas"]
    if fault in (scaled, autoscaled):
        return bool(there < pods)
    return bool(there != pods)


def _left(plane: ControlPlane) -> list[Object]:
    """What still has a mark of a surge."""
    marked = [(plane.admin.get("Deployment", "web"), ANNOTATION)]
    marked += [(pod, DELETION_COST) for pod in pods_of(plane.admin, "web")]
    return [thing for thing, mark in marked if mark in _annotations(thing)]


def _annotations(thing: Object) -> Object:
    found: Object = thing["metadata"].get("annotations") or {}
    return found
