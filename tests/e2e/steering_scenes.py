"""Scenes in which pods are being steered away from three of five nodes, by one or two replicas of restow behind a proxy."""

from __future__ import annotations

import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random

from builders.policies import Policy
from e2e.clock import WallClock
from e2e.control_plane import ControlPlane
from e2e.crowds import Watchman
from e2e.fake_nodes import is_usable
from e2e.fault_proxy import FaultProxy
from e2e.faults import Late
from e2e.gate_watch import GateWatch
from e2e.rest import name_of
from e2e.running import Descheduler
from e2e.shipped import LEASE, NAMESPACE
from e2e.steered import DONE, entries, fill_two_nodes, gated
from e2e.steering_faults import PATIENCE, TARGETS, Fault, Scene, Step, moving
from e2e.waiting import wait_until
from e2e.workloads import is_ready

#: Seconds that a pod may wait behind the gate while a replica of restow lives.
LONGEST = 10.0
#: Cycles after which a step is not waited for any longer.
_CYCLES = 3
_FLAGS = ("--descheduling-interval=1s", "--v=3")
ELECTION = (
    "--leader-elect",
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
)


@contextmanager
def packing(cluster: ControlPlane, directory: Path, policy: Policy, chance: Random, replicas: int) -> Iterator[Scene]:
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
                policy=policy,
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


@dataclass(slots=True, frozen=True)
class Seen:
    """What others saw of a scene."""

    #: How many pods waited behind the gate for too long.
    gated_too_long: int
    #: How few pods of the workload were ready at a time, and how few may be.
    ready: int
    fewest: int


def disturbed(scene: Scene, fault: Fault, step: Step, crowd: Callable[[], tuple[str, int]]) -> Seen:
    """Let the fault happen at a step, and put it right; in the end all is well, and restow has ended in good order.

    ``crowd`` brings a workload to the empty nodes; it returns its name, and how few of its pods may be ready at a time.
    """
    watch = GateWatch(scene.plane, lambda: scene.is_excused or not any(map(scene.lives, scene.runs)))
    watchman = Watchman()

    def cycles() -> int:
        return len(scene.runs[0].lines(DONE))

    scene.plane.audit.restart()
    with ExitStack() as watching:
        watching.enter_context(watch.watching())
        with ExitStack() as stack:
            with scene.plane.cordoned(list(TARGETS)):
                app, fewest = crowd()
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
    return Seen(sum(waited > LONGEST for waited in watch.waited.values()), watchman.fewest[app], fewest)


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
