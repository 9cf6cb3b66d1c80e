"""Whatever goes wrong in the middle of ``restow apply``, a replica of ``restow run`` beside it sees to what is left.

A seed chooses the fault and the call of a steered move at which it happens. ``RESTOW_E2E_APPLY_FAULTS=0:500`` is the long
form, and ``make faults`` counts what must not be.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from random import Random

import pytest

from builders.policies import as_yaml
from e2e.child import Child
from e2e.clock import WallClock
from e2e.control_plane import ControlPlane
from e2e.crowds import Watchman
from e2e.fault_counts import Counts, Run, check, evicted_twice, seeds_of
from e2e.fault_proxy import FaultProxy
from e2e.faults import Late, all_of, callers_with, calls
from e2e.gate_watch import GateWatch
from e2e.running import Descheduler
from e2e.shipped import LEASE, NAMESPACE
from e2e.steered import DONE, PACK, entries, fill_two_nodes, gated, install
from e2e.steering_faults import CPU, PATIENCE, STEPS, TARGETS, Scene, Step, api_server_killed, etcd_stopped, watches_cut
from e2e.steering_scenes import ELECTION, LONGEST, wait_for_the_end
from e2e.waiting import wait_until
from e2e.workloads import budget, deployment, wait_for_ready

pytestmark = pytest.mark.e2e

#: It is killed before the ConfigMap is written, an eviction and the removal of a gate.
SEEDS = seeds_of("RESTOW_E2E_APPLY_FAULTS", (2, 14, 10))
APP, REPLICAS = "web", 6
#: Seconds by which each eviction is late, so that the plan takes longer than a replica's start.
_SLOW = Late(2.0)
_FLAGS = ("--descheduling-interval=1s", "--v=3", *ELECTION)


class Apply:
    """``restow apply`` of a plan, as a child process with a clock of its own."""

    def __init__(self, directory: Path, kubeconfig: Path) -> None:
        self.clock = WallClock(directory)
        self._directory = directory
        self._kubeconfig = kubeconfig
        (directory / "policy.yaml").write_bytes(as_yaml(PACK))
        self._plan = directory / "plan.json"
        self.log = directory / "apply.log"
        self._child = self._made("apply", str(self._plan), "--yes", log=self.log)

    def plan(self) -> None:
        """Make the plan."""
        policy = f"--policy-config-file={self._directory / 'policy.yaml'}"
        made = self._made("plan", policy, "--steering=nominate", "-o", "json", log=self._plan)
        made.start()
        made.wait(PATIENCE)

    def start(self) -> None:
        self._child.start()

    @property
    def is_running(self) -> bool:
        return self._child.is_running

    def kill(self) -> None:
        self._child.kill()

    def send(self, number: signal.Signals) -> None:
        """Nothing where it has ended."""
        if self._child.is_running:
            self._child.send(number)

    def wait(self) -> int:
        return self._child.wait(PATIENCE)

    def _made(self, command: str, *arguments: str, log: Path) -> Child:
        program = [sys.executable, "-m", "e2e.clock", command, *arguments, f"--kubeconfig={self._kubeconfig}"]
        sources = {"PYTHONPATH": os.pathsep.join(sys.path)}
        return Child(program, log, environment={**os.environ, **sources, **self.clock.environment})


def killed(_scene: Scene, apply: Apply) -> None:
    """It dies."""
    apply.kill()


def terminated(_scene: Scene, apply: Apply) -> None:
    """It is told to end, and ends in time."""
    apply.send(signal.SIGTERM)
    apply.wait()


def frozen(scene: Scene, apply: Apply) -> None:
    """It stands still for longer than its lease lasts, and goes on as if nothing had been."""
    apply.send(signal.SIGSTOP)
    time.sleep(scene.chance.uniform(2, 12))
    apply.send(signal.SIGCONT)


def clock_off(scene: Scene, apply: Apply) -> None:
    """Its wall clock is minutes or hours ahead, or behind."""
    apply.clock.set_by(scene.chance.choice((-1, 1)) * scene.chance.choice((90.0, 600.0, 3600.0)))


def api_server_away(scene: Scene, _apply: Apply) -> None:
    """The API server is away for a while."""
    with api_server_killed(scene):
        pass


def etcd_away(scene: Scene, _apply: Apply) -> None:
    """etcd stands still for twenty seconds."""
    with etcd_stopped(scene):
        pass


def watches_break(scene: Scene, _apply: Apply) -> None:
    """All watches break off."""
    with watches_cut(scene):
        pass


Fault = Callable[[Scene, Apply], None]
#: To be killed is what happens most.
FAULTS: tuple[Fault, ...] = (
    killed,
    killed,
    killed,
    terminated,
    frozen,
    clock_off,
    api_server_away,
    etcd_away,
    watches_break,
)


@pytest.fixture(scope="module")
def cluster(kustomize: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    with ControlPlane(tmp_path_factory.mktemp("apply-faults")) as plane:
        plane.add_nodes(5, cpu=CPU)
        install(plane)
        yield plane


@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_goes_wrong_a_replica_sees_to_what_is_left(cluster: ControlPlane, tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    fault, step, times = chance.choice(FAULTS), chance.choice(STEPS), chance.randint(1, 3)
    what = f"{fault.__name__} at the {times}. {' '.join(step)}"
    try:
        with _scene(cluster, tmp_path, chance) as (scene, apply, token):
            counts = _run(scene, apply, fault, Step(all_of(calls(*step), callers_with(token)), times))
    except Exception as error:
        error.add_note(f"seed {seed}: {what}")
        raise
    check(Run("apply", seed, what, counts))


@contextmanager
def _scene(cluster: ControlPlane, directory: Path, chance: Random) -> Iterator[tuple[Scene, Apply, str]]:
    """A plan of six moves, and a replica that is not yet started; the token is that of ``restow apply``."""
    fill_two_nodes(cluster)
    for kind, name, namespace in (("Lease", LEASE, NAMESPACE), ("PodDisruptionBudget", APP, "default")):
        if cluster.admin.find(kind, name, namespace):
            cluster.admin.delete(kind, name, namespace)
    with cluster.cordoned(list(TARGETS)):
        cluster.admin.create(deployment(APP, REPLICAS))
        wait_for_ready(cluster.admin, APP, REPLICAS, timeout=PATIENCE)
    cluster.admin.create(budget(APP, APP, max_unavailable=1))
    # Two tokens of one account, so that the proxy can tell the two apart.
    token, other = cluster.token_of("restow", NAMESPACE), cluster.token_of("restow", NAMESPACE, seconds=3700)
    with FaultProxy(cluster) as proxy, ExitStack() as stack:
        apply = Apply(directory, proxy.kubeconfig_for({"token": token}, "applying"))
        kubeconfig = proxy.kubeconfig_for({"token": other}, "beside")
        replica = Descheduler(directory, policy=PACK, kubeconfig=kubeconfig, flags=_FLAGS, name="restow")
        for each in (apply, replica):
            stack.callback(each.kill)
        apply.plan()
        yield Scene(cluster, proxy, chance, [replica]), apply, token


def _run(scene: Scene, apply: Apply, fault: Fault, step: Step) -> Counts:
    """Let the fault happen at a step, and see that all is as it should be once it is put right; returns what was seen."""
    (replica,) = scene.runs
    watch = GateWatch(scene.plane, lambda: scene.is_excused or not scene.lives(replica))
    watchman = Watchman()
    scene.plane.audit.restart()
    with watch.watching(), watchman.watching(scene.plane):
        with scene.proxy.trouble(calls("create", "pods/eviction"), _SLOW):
            apply.start()
            wait_until("it leads", lambda: _is_held(scene.plane) or not apply.is_running, PATIENCE)
            scene.start(replica)
            wait_until("a replica lives", partial(scene.lives, replica), PATIENCE)
            with scene.proxy.trouble(step, Late(scene.chance.choice((0.0, 0.5)))):
                wait_until("the step is reached", lambda: step.reached.is_set() or not apply.is_running, PATIENCE)
                fault(scene, apply)
        apply.wait()
        wait_until("nothing waits behind the gate", lambda: not gated(scene.plane), PATIENCE)
        # Of one that was killed the lease would last for two minutes more.
        if scene.plane.admin.find("Lease", LEASE, NAMESPACE):
            scene.plane.admin.delete("Lease", LEASE, NAMESPACE)
        wait_for_the_end(scene)
    assert "Traceback" not in apply.log.read_text(errors="replace")
    assert not replica.lines("Traceback")
    assert replica.lines(DONE)
    replica.send(signal.SIGTERM)
    assert replica.wait() == 0
    assert (gated(scene.plane), entries(scene.plane)) == ([], {})
    return Counts(
        gated_too_long=sum(waited > LONGEST for waited in watch.waited.values()),
        evicted_twice=evicted_twice(scene.plane, APP),
        budgets_violated=int(watchman.fewest[APP] < REPLICAS - 1),
    )


def _is_held(plane: ControlPlane) -> bool:
    lease = plane.admin.find("Lease", LEASE, NAMESPACE)
    return bool(lease and lease["spec"].get("holderIdentity"))
