"""Whatever goes wrong in the middle of steered moves, nothing waits for long, nothing is lost, and nothing is left behind.

A seed chooses the fault, the call of a steered move at which it happens, how many replicas of restow there are, and what is
being moved. ``RESTOW_E2E_STEERING_FAULTS=0:500`` is the long form, and ``make faults`` counts what must not be.
"""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest

from e2e.clock import WallClock
from e2e.control_plane import ControlPlane
from e2e.crowds import Watchman
from e2e.fake_nodes import is_usable
from e2e.fault_counts import Counts, Run, check, evicted_twice, seeds_of
from e2e.fault_proxy import FaultProxy
from e2e.faults import Late, calls
from e2e.gate_watch import GateWatch
from e2e.rest import name_of
from e2e.running import Descheduler
from e2e.shipped import LEASE, NAMESPACE
from e2e.steered import DONE, PACK, entries, fill_two_nodes, gated, install
from e2e.steering_faults import CPU, FAULTS, PATIENCE, STEPS, TAKES_PODS, TARGETS, Fault, Scene, Step, moving
from e2e.waiting import wait_until
from e2e.workloads import budget, deployment, is_ready, stateful_set, wait_for_ready

pytestmark = pytest.mark.e2e

#: A right is revoked, the API server is killed, restow is killed, an admission policy is deleted, etcd stands still, and a
#: clock is off.
SEEDS = seeds_of("RESTOW_E2E_STEERING_FAULTS", (16, 18, 31, 7, 4, 23))
#: Seconds that a pod may wait behind the gate while a replica of restow lives.
LONGEST = 10.0
_SLOW = {"test/delete-delay": "1s"}
#: Cycles after which a step is not waited for any longer.
_CYCLES = 3
_FLAGS = ("--descheduling-interval=1s", "--v=3")
ELECTION = (
    "--leader-elect",
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
)


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
        with _scene(cluster, tmp_path, chance, replicas) as scene:
            counts = _run(scene, fault, Step(calls(*step), times))
    except Exception as error:
        error.add_note(f"seed {seed}: {what}")
        raise
    check(Run("steering", seed, what, counts))


@contextmanager
def _scene(cluster: ControlPlane, directory: Path, chance: Random, replicas: int) -> Iterator[Scene]:
    """Two nodes are half full and the others empty, and restow is there."""
    fill_two_nodes(cluster)
    if cluster.admin.find("Lease", LEASE, NAMESPACE):
        cluster.admin.delete("Lease", LEASE, NAMESPACE)
    with FaultProxy(cluster) as proxy, ExitStack() as stack:
        kubeconfig = proxy.kubeconfig_for({"token": cluster.token_of("restow", NAMESPACE)}, "steered")
        flags = (*_FLAGS, *(ELECTION if replicas > 1 else ()))
        names = [f"restow-{at}" for at in range(replicas)]
        clocks = [WallClock(each) for each in _directories(directory, names)]
        runs = [
            Descheduler(
                directory,
                policy=PACK,
                kubeconfig=kubeconfig,
                flags=flags,
                name=name,
                program=clock.program,
                environment=clock.environment,
            )
            for name, clock in zip(names, clocks, strict=True)
        ]
        scene = Scene(cluster, proxy, chance, runs, clocks)
        for run in runs:
            stack.callback(run.kill)
            scene.start(run)
            wait_until("a replica lives", partial(scene.lives, run), PATIENCE)
        yield scene


def _directories(parent: Path, names: list[str]) -> Iterator[Path]:
    for name in names:
        (parent / name).mkdir()
        yield parent / name


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
    watch = GateWatch(scene.plane, lambda: scene.is_excused or not any(map(scene.lives, scene.runs)))

    def cycles() -> int:
        return len(scene.runs[0].lines(DONE))

    watchman = Watchman()
    scene.plane.audit.restart()
    with ExitStack() as watching:
        watching.enter_context(watch.watching())
        with ExitStack() as stack:
            with scene.plane.cordoned(list(TARGETS)):
                app, fewest = _crowd(scene)
                watching.enter_context(watchman.watching(scene.plane))
                done = cycles()
                stack.enter_context(scene.proxy.trouble(step, Late(scene.chance.choice((0.0, 0.5)))))
            # Of some steps there are fewer, or a cycle has passed before anything could move.
            wait_until("the step is reached", lambda: step.reached.is_set() or cycles() > done + _CYCLES, PATIENCE)
            with fault(scene):
                wait_for_the_end(scene)
        wait_for_the_end(scene)
    wait_until("all replicas live", lambda: all(map(scene.lives, scene.runs)), PATIENCE)
    for run in scene.runs:
        assert not run.lines("Traceback")
        run.send(signal.SIGTERM)
        assert run.wait() == 0
    assert (gated(scene.plane), entries(scene.plane)) == ([], {})
    return Counts(
        gated_too_long=sum(waited > LONGEST for waited in watch.waited.values()),
        evicted_twice=evicted_twice(scene.plane, "web"),
        budgets_violated=int(fault not in TAKES_PODS and watchman.fewest[app] < fewest),
    )


def wait_for_the_end(scene: Scene) -> None:
    """Until every workload is complete and ready, nothing waits behind the gate, and a cycle has ended since."""

    def well() -> bool:
        scene.start_again()
        return _is_well(scene.plane)

    def cycles() -> int:
        scene.start_again()
        return sum(len(run.lines(DONE)) for run in scene.runs)

    try:
        wait_until("all is well", well, PATIENCE, every=0.1)
        done = cycles()
        wait_until("a cycle ends", lambda: cycles() > done, PATIENCE)
        wait_until("all is well", well, PATIENCE, every=0.1)
    except TimeoutError as error:
        error.add_note("\n".join(_described(scene.plane)))
        for run in scene.runs:
            error.add_note("\n".join(run.lines()[-15:]))
        raise


def _is_well(plane: ControlPlane) -> bool:
    pods = plane.admin.items("Pod", "default")
    wanted = {"base": 4} | {
        each["metadata"]["name"]: each["spec"]["replicas"]
        for kind in ("Deployment", "StatefulSet")
        for each in moving(plane, kind)
    }
    there = Counter(each["metadata"]["labels"]["app"] for each in pods)
    complete = all(there[app] == count for app, count in wanted.items())
    config = plane.admin.find("ConfigMap", "restow-steering", NAMESPACE)
    return complete and all(map(is_ready, pods)) and not gated(plane) and not (config or {}).get("data")


def _described(plane: ControlPlane) -> Iterator[str]:
    """What a person asks first where not all is well."""
    for each in plane.admin.items("Node"):
        yield f"{name_of(each)} {'usable' if is_usable(each) else each['spec'].get('taints')}"
    for each in plane.admin.items("Pod", "default"):
        ready = "ready" if is_ready(each) else "not ready"
        leaving = " terminating" if "deletionTimestamp" in each["metadata"] else ""
        yield f"{name_of(each)} on {each['spec'].get('nodeName')}: {each['status']['phase']}, {ready}{leaving}"
    yield f"gated {gated(plane)}, entries {entries(plane)}"
