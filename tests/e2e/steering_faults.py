"""What can go wrong in the middle of a steered move: each fault begins when its block does, and is put right at its end.

All are about a ``Scene``: a control plane, the replicas of restow on it, and the proxy between them.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from random import Random

from builders import Object
from e2e.clock import WallClock
from e2e.control_plane import ControlPlane
from e2e.fake_nodes import a_fake_node
from e2e.fault_proxy import FaultProxy
from e2e.faults import AnswerLost, Asked, Late, NeverSent, Refused, Where, calls
from e2e.rest import RefusedError
from e2e.running import Descheduler
from e2e.shipped import NAMESPACE, without
from e2e.steered import CONFIG_MAP, gated
from e2e.waiting import wait_until
from e2e.workloads import replica_set

#: The calls of a steered move, in order.
STEPS = (
    ("patch", "configmaps"),
    ("create", "pods/eviction"),
    ("patch", "pods/status"),
    ("patch", "pods"),
)
#: The nodes that pods are steered to.
TARGETS = ("node-1", "node-2")
CPU = "4"
#: Seconds for everything to be as it should be again, on busy cores. A budget that was charged for an eviction whose API
#: server died is free again after two minutes only (DeletionTimeout of the disruption controller, Kubernetes 1.36).
PATIENCE = 200.0
#: What acts for the control plane.
_CONTROLLERS = ("kube-scheduler", "kube-controller-manager", "kwok")
#: What a replica tells once it has begun to work: alone or as leader, or beside one.
_LIVES = ("replacements are ", "New leader elected")
_RIGHTS = (
    ("restow-steering", "pods"),
    ("restow-steering", "pods/status"),
    ("restow-gating", "configmaps"),
)
_OBJECTS = (
    ("ConfigMap", CONFIG_MAP["name"], NAMESPACE),
    ("MutatingAdmissionPolicy", "restow-steering", ""),
    ("MutatingAdmissionPolicyBinding", "restow-steering", ""),
    ("ValidatingAdmissionPolicy", "restow-steering", ""),
    ("ValidatingAdmissionPolicyBinding", "restow-steering", ""),
)
#: What the API server does not take back.
_OF_THE_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields")


class Step:
    """A predicate for the proxy that notes when a call is made for the n-th time, and is true of that one alone."""

    def __init__(self, where: Where, times: int) -> None:
        self._where = where
        self._left = times
        self.reached = threading.Event()

    def __call__(self, asked: Asked) -> bool:
        """Whether it is this call."""
        if self.reached.is_set() or not self._where(asked):
            return False
        self._left -= 1
        if self._left == 0:
            self.reached.set()
        return self._left == 0


@dataclass(slots=True)
class Scene:
    """Where a fault happens."""

    plane: ControlPlane
    proxy: FaultProxy
    chance: Random
    #: The first leads.
    runs: list[Descheduler]
    #: Of each.
    clocks: list[WallClock] = field(default_factory=list)
    #: Whether what waits cannot be let go now, since nobody may or can.
    is_excused: bool = field(default=False, init=False)
    #: Who is not started again, as a kubelet would.
    dead: list[Descheduler] = field(default_factory=list, init=False)
    #: How much each had logged when it was started last.
    _logged: dict[int, int] = field(default_factory=dict, init=False)

    def start(self, run: Descheduler) -> None:
        """Start a replica that has not begun, or that has ended."""
        run.kill()
        self._logged[id(run)] = len(run.lines())
        run.start()

    def start_again(self) -> None:
        """What a kubelet does: whatever has ended is started again, for instance a replica that has lost its lease.

        kube-scheduler 1.36 may end by itself ("Scheduler cache is corrupted") after the API server was away.
        """
        for component in _CONTROLLERS:
            try:
                self.plane.pid(component)
            except RuntimeError:
                self.plane.restart(component)
        for run in self.runs:
            if run not in self.dead and not run.is_running:
                self.start(run)

    def lives(self, run: Descheduler) -> bool:
        """Whether a replica runs, and has begun to work since its last start."""
        told = run.lines()[self._logged.get(id(run), 0) :]
        return run.is_running and any(each in line for line in told for each in _LIVES)


#: Begins with its block, and is put right at its end.
Fault = Callable[[Scene], AbstractContextManager[None]]


@contextmanager
def killed(scene: Scene) -> Iterator[None]:
    """The leader dies and is started again at once."""
    scene.runs[0].kill()
    scene.start(scene.runs[0])
    yield


@contextmanager
def terminated(scene: Scene) -> Iterator[None]:
    """The leader is told to end, and is started again."""
    scene.runs[0].send(signal.SIGTERM)
    assert scene.runs[0].wait() == 0
    scene.start(scene.runs[0])
    yield


@contextmanager
def dead(scene: Scene) -> Iterator[None]:
    """The leader dies and does not come back before another replica has seen to everything."""
    scene.dead.append(scene.runs[0])
    scene.runs[0].kill()
    time.sleep(scene.chance.uniform(0, 8))
    yield
    scene.dead.clear()


@contextmanager
def frozen(scene: Scene) -> Iterator[None]:
    """The leader stands still for longer than its lease lasts, and goes on as if nothing had been."""
    scene.runs[0].send(signal.SIGSTOP)
    time.sleep(scene.chance.uniform(2, 9))
    scene.runs[0].send(signal.SIGCONT)
    yield


@contextmanager
def api_server_killed(scene: Scene) -> Iterator[None]:
    """The API server is away for a while."""
    scene.plane.kill("kube-apiserver")
    time.sleep(scene.chance.uniform(0, 3))
    scene.plane.restart("kube-apiserver")
    yield


#: Seconds for which etcd stands still: longer than any request of steering waits.
ETCD_STOPPED = 20.0


@contextmanager
def etcd_stopped(scene: Scene) -> Iterator[None]:
    """etcd stands still: the API server answers no write, and goes on with those that it has begun."""
    with standing_still(scene.plane):
        scene.is_excused = True
        time.sleep(ETCD_STOPPED)
    wait_until("the API server writes again", lambda: writes(scene.plane), PATIENCE)
    scene.is_excused = False
    yield


@contextmanager
def standing_still(plane: ControlPlane) -> Iterator[None]:
    """etcd does nothing meanwhile."""
    plane.pause("etcd")
    try:
        yield
    finally:
        plane.resume("etcd")


def writes(plane: ControlPlane) -> bool:
    """Whether the API server carries out a write."""
    try:
        plane.admin.patch("Namespace", "default", {"metadata": {"annotations": {"written": str(time.time())}}})
    except (OSError, HTTPException, RefusedError):
        return False
    return True


@contextmanager
def clock_off(scene: Scene) -> Iterator[None]:
    """The leader's wall clock is minutes or hours ahead of everybody else's, or behind, until it is set again."""
    seconds = scene.chance.choice((-1, 1)) * scene.chance.choice((90.0, 600.0, 3600.0, 86400.0))
    scene.clocks[0].set_by(seconds)
    time.sleep(scene.chance.uniform(0, 8))
    yield
    scene.clocks[0].set_by(0)


@contextmanager
def object_deleted(scene: Scene) -> Iterator[None]:
    """The ConfigMap, an admission policy or a binding is deleted."""
    kind, name, namespace = scene.chance.choice(_OBJECTS)
    whole = scene.plane.admin.get(kind, name, namespace or "default")
    scene.plane.admin.delete(kind, name, namespace or "default")
    time.sleep(scene.chance.uniform(0, 2))
    yield
    metadata = {key: value for key, value in whole["metadata"].items() if key not in _OF_THE_SERVER}
    scene.plane.admin.create({key: value for key, value in whole.items() if key != "data"} | {"metadata": metadata})


@contextmanager
def right_revoked(scene: Scene) -> Iterator[None]:
    """A right of steering is taken away for a while."""
    scene.is_excused = True
    with without(scene.plane, *scene.chance.choice(_RIGHTS), "patch"):
        time.sleep(scene.chance.uniform(0, 3))
    scene.is_excused = False
    yield


@contextmanager
def target_deleted(scene: Scene) -> Iterator[None]:
    """A node that pods are steered to is deleted, and registers again."""
    name = scene.chance.choice(TARGETS)
    scene.plane.admin.delete("Node", name)
    time.sleep(scene.chance.uniform(0, 2))
    scene.plane.admin.create(a_fake_node(name, cpu=CPU))
    scene.plane.wait_for_nodes([name])
    yield


@contextmanager
def target_cordoned(scene: Scene) -> Iterator[None]:
    """Nodes that pods are steered to are cordoned."""
    with scene.plane.cordoned(list(TARGETS[: scene.chance.randint(1, 2)])):
        time.sleep(scene.chance.uniform(0, 3))
        yield


@contextmanager
def target_filled(scene: Scene) -> Iterator[None]:
    """Somebody fills the nodes that pods are steered to."""
    for node in TARGETS[: scene.chance.randint(1, 2)]:
        scene.plane.admin.create(replica_set(f"filler-{node}", cpu="2", spec={"nodeName": node}))
    yield


@contextmanager
def gated_deleted(scene: Scene) -> Iterator[None]:
    """Somebody deletes what waits behind the gate."""
    for name in gated(scene.plane):
        try:
            scene.plane.admin.delete("Pod", name)
        except RefusedError as error:
            if error.status != 404:
                raise
    yield


@contextmanager
def scaled(scene: Scene) -> Iterator[None]:
    """Somebody scales the workload that is being moved up."""
    kind, found = next((kind, each) for kind in ("Deployment", "StatefulSet") for each in moving(scene.plane, kind))
    name, replicas = found["metadata"]["name"], found["spec"]["replicas"]
    scene.plane.admin.patch(kind, name, {"spec": {"replicas": replicas + scene.chance.randint(1, 3)}})
    yield


@contextmanager
def watches_cut(scene: Scene) -> Iterator[None]:
    """restow's watches break off."""
    scene.proxy.cut_watches()
    yield


@contextmanager
def calls_fail(scene: Scene) -> Iterator[None]:
    """Some of the calls of restow fail, come late, or are answered in vain."""
    trouble = scene.chance.choice((Refused(500, "InternalError"), Refused(429), Late(1.5), AnswerLost(), NeverSent()))
    with scene.proxy.trouble(calls("patch"), trouble, times=3), scene.proxy.trouble(calls("create"), trouble, times=2):
        time.sleep(scene.chance.uniform(0.5, 3))
    yield


def moving(plane: ControlPlane, kind: str) -> list[Object]:
    """The workloads whose pods are moved."""
    return [each for each in plane.admin.items(kind, "default") if each["metadata"]["name"] in ("web", "db")]


#: With how many replicas each happens.
FAULTS: tuple[tuple[Fault, int], ...] = (
    (killed, 1),
    (terminated, 1),
    (dead, 2),
    (frozen, 2),
    (api_server_killed, 1),
    (api_server_killed, 2),
    (etcd_stopped, 1),
    (etcd_stopped, 2),
    (clock_off, 1),
    (clock_off, 2),
    (object_deleted, 1),
    (right_revoked, 1),
    (target_deleted, 1),
    (target_cordoned, 1),
    (target_filled, 1),
    (gated_deleted, 1),
    (scaled, 1),
    (watches_cut, 1),
    (calls_fail, 1),
)
#: Those that take pods away by themselves, whatever budgets say.
TAKES_PODS: tuple[Fault, ...] = (target_deleted, gated_deleted)
