"""Whatever goes wrong between ``restow scheduler`` and a real API server: no pod is bound twice, none is forgotten.

A seed chooses how many replicas there are, which requests go wrong and how, and what is killed in the middle of it.
``RESTOW_E2E_SCHEDULER_FAULTS=0:1000`` is the long form, and ``make faults`` counts what must not be.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest

from builders import a_pod
from e2e.clock import WallClock
from e2e.components import COMPONENTS
from e2e.control_plane import ControlPlane
from e2e.fake_nodes import a_fake_node
from e2e.fault_counts import Counts, Run, check, seeds_of
from e2e.fault_proxy import FaultProxy
from e2e.faults import AnswerLost, Fault, Forgotten, Late, NeverSent, Refused, calls
from e2e.rest import name_of
from e2e.schedulers import PATIENCE, Scheduler
from e2e.steering_faults import ETCD_STOPPED, Step, standing_still, writes
from e2e.waiting import wait_until

pytestmark = pytest.mark.e2e

#: A leader is killed at a binding, a node is exchanged, the API server is killed.
SEEDS = seeds_of("RESTOW_E2E_SCHEDULER_FAULTS", (6, 3, 7))
NAME = "my-scheduler"
#: Three pods to a node, and pods that do not fit before there is another one.
NODES, FITS, PODS = 3, 3, 14
_FAULTS: tuple[Fault, ...] = (
    AnswerLost(),
    NeverSent(),
    Late(1.0),
    Refused(409, "Conflict"),
    Refused(429, "TooManyRequests", 1),
    Refused(500, "InternalError"),
    Refused(503, "ServiceUnavailable"),
)
_ELECTION = (
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
    f"--leader-elect-resource-name={NAME}",
)


@dataclass
class Scene:
    """Some replicas, and the pods that they are to bind."""

    plane: ControlPlane
    proxy: FaultProxy
    namespace: str
    schedulers: list[Scheduler]
    chance: Random
    #: Those that were killed for good.
    away: list[Scheduler] = field(default_factory=list)

    def create(self, first: int, count: int) -> None:
        for at in range(first, first + count):
            made = a_pod(f"p{at}", namespace=self.namespace, cpu="300m", spec={"schedulerName": NAME})
            made["spec"]["containers"][0] |= {"name": "c", "image": "example/app:1"}
            self.plane.admin.create(made)

    def nodes_of(self) -> dict[str, str | None]:
        pods = self.plane.admin.items("Pod", self.namespace)
        return {name_of(each): each["spec"].get("nodeName") for each in pods}

    def wait(self, what: str, enough: Callable[[list[str | None]], bool]) -> None:
        """Until enough pods have nodes. Who has lost the lease ends, and is started again, as by a kubelet."""

        def look() -> bool:
            for each in self.schedulers:
                if not each.is_running and each not in self.away:
                    each.start()
            return enough(list(self.nodes_of().values()))

        wait_until(what, look, PATIENCE)


@pytest.fixture(scope="module")
def cluster(built: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    programs = [each for each in COMPONENTS if each != "kube-scheduler"]
    with ControlPlane(tmp_path_factory.mktemp("scheduler-faults"), programs=programs) as plane:
        yield plane


@pytest.fixture(scope="module")
def proxy(cluster: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(cluster) as made:
        yield made


class Replicas:
    """Schedulers that live from one scene to the next, as long as the same number of them is wanted."""

    def __init__(self, proxy: FaultProxy, directory: Path) -> None:
        self._proxy = proxy
        self._directory = directory
        self._living: list[Scheduler] = []
        self._configuration = directory / "scheduler.yaml"
        self._configuration.write_text(_CONFIGURATION)

    @contextmanager
    def running(self, count: int) -> Iterator[list[Scheduler]]:
        """So many, all of them ready; none of them lives on after a scene that went wrong."""
        if len(self._living) != count:
            self.kill()
            self._living = [self._scheduler(at, count) for at in range(count)]
        for each in self._living:
            if not each.is_running:
                each.start()
        try:
            yield self._living
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """All of them."""
        for each in self._living:
            each.kill()

    def _scheduler(self, at: int, count: int) -> Scheduler:
        election = _ELECTION if count > 1 else ("--leader-elect=false",)
        flags = (f"--config={self._configuration}", *election)
        name = f"s{at}-of-{count}"
        (self._directory / name).mkdir(exist_ok=True)
        clock = WallClock(self._directory / name)
        return Scheduler(self._directory, self._proxy.kubeconfig, *flags, name=name, clock=clock)


@pytest.fixture(scope="module")
def replicas(proxy: FaultProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicas]:
    made = Replicas(proxy, tmp_path_factory.mktemp("schedulers"))
    yield made
    made.kill()


#: Pods do not wait for long after something went wrong.
_CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
podMaxBackoffSeconds: 2
"""


def kill_a_scheduler(scene: Scene) -> None:
    """The one that is binding, at one of its requests; another one takes its place, or the other replica does."""
    killed = leader_of(scene.schedulers)
    step = Step(calls(*scene.chance.choice(_STEPS)), scene.chance.randint(1, 4))
    with scene.proxy.trouble(step, Late(scene.chance.choice((0.0, 0.5)))):
        # Of some requests there are fewer, as others are refused by the faults.
        step.reached.wait(_STEP)
    killed.kill()
    if len(scene.schedulers) == 1:
        killed.start()
    else:
        scene.away.append(killed)


def leader_of(schedulers: list[Scheduler]) -> Scheduler:
    """The one that schedules, once there is one."""
    if len(schedulers) == 1:
        return schedulers[0]

    def leads(each: Scheduler) -> float:
        try:
            return each.samples().total("leader_election_master_status")
        except OSError:
            # It has just lost the lease.
            return 0

    return wait_until("one of them leads", lambda: [each for each in schedulers if leads(each)], PATIENCE)[0]


def kill_the_api_server(scene: Scene) -> None:
    scene.plane.kill("kube-apiserver")
    scene.plane.restart("kube-apiserver")


def cut_the_watches(scene: Scene) -> None:
    scene.proxy.cut_watches()


def take_a_node(scene: Scene) -> None:
    """A node goes, and its pods with it; another one comes."""
    scene.plane.admin.delete("Node", _node(scene.namespace, 0))
    scene.plane.admin.create(a_fake_node(_node(scene.namespace, NODES + 1), cpu="1"))


def stop_etcd(scene: Scene) -> None:
    """The API server answers no write for a while, and then carries out those that it has begun."""
    with standing_still(scene.plane):
        time.sleep(ETCD_STOPPED)
    wait_until("the API server writes again", lambda: writes(scene.plane), PATIENCE)


def set_the_clock(scene: Scene) -> None:
    """One replica's wall clock is minutes or hours ahead, or behind, until the end."""
    seconds = scene.chance.choice((90.0, 600.0, 3600.0, 86400.0))
    scene.schedulers[0].clock.set_by(scene.chance.choice((-1, 1)) * seconds)


#: To be killed at a request is what happens most.
_DISASTERS: tuple[Callable[[Scene], None], ...] = (
    kill_a_scheduler,
    kill_a_scheduler,
    kill_a_scheduler,
    take_a_node,
    cut_the_watches,
    kill_the_api_server,
    stop_etcd,
    set_the_clock,
)
#: The requests of a bind.
_STEPS = (("create", "pods/binding"), ("patch", "pods/status"), ("create", "events"))
#: Seconds to wait for one of them.
_STEP = 20.0


def _node(namespace: str, number: int) -> str:
    return f"{namespace}-{number}"


@pytest.mark.parametrize("seed", SEEDS)
def test_no_pod_is_bound_twice_and_none_is_forgotten(
    cluster: ControlPlane, proxy: FaultProxy, replicas: Replicas, seed: int
) -> None:
    chance = Random(seed)
    disaster, count = chance.choice(_DISASTERS), chance.randint(1, 2)
    what = f"{disaster.__name__}, {count} replicas"
    with replicas.running(count) as schedulers, a_scene(cluster, proxy, seed, schedulers, chance) as scene:
        try:
            with in_trouble(proxy, chance):
                scene.create(0, PODS // 2)
                disaster(scene)
                scene.create(PODS // 2, PODS - PODS // 2)
                scene.wait("what fits is bound", lambda nodes: sum(map(bool, nodes)) >= FITS * 2)
            check_room(scene)
            cluster.admin.create(a_fake_node(_node(scene.namespace, NODES), cpu="16"))
            scene.wait("all are bound", all)
            check_room(scene)
        except Exception as error:
            error.add_note(f"seed {seed}: {what}")
            raise
        counts = Counts(bound_twice=bound_twice(scene))
    check(Run("scheduler", seed, what, counts))


@contextmanager
def a_scene(
    plane: ControlPlane, proxy: FaultProxy, seed: int, schedulers: list[Scheduler], chance: Random
) -> Iterator[Scene]:
    """Some nodes and a namespace without pods; nothing of it is left."""
    name = f"faults-{seed}"
    namespace, names = plane.namespace(name), [_node(name, at) for at in range(NODES)]
    plane.admin.create_all([a_fake_node(each, cpu="1") for each in names])
    plane.wait_for_nodes(names)
    plane.audit.restart()
    try:
        yield Scene(plane, proxy, namespace, schedulers, chance)
    finally:
        for each in schedulers:
            each.clock.set_by(0)
        plane.clear(namespace)
        for each in plane.admin.items("Node"):
            plane.admin.delete("Node", name_of(each))


@contextmanager
def in_trouble(proxy: FaultProxy, chance: Random) -> Iterator[None]:
    """Half of the bindings and half of what is said of pods go wrong, and some watches."""
    with ExitStack() as troubles:
        for verb, resource in (("create", "pods/binding"), ("patch", "pods/status")):
            troubles.enter_context(proxy.trouble(calls(verb, resource), chance.choice(_FAULTS), share=0.5))
        troubles.enter_context(proxy.trouble(calls("watch"), Forgotten(), share=0.2))
        yield


def check_room(scene: Scene) -> None:
    """No node has more pods than fit."""
    counted = Counter(node for node in scene.nodes_of().values() if node)
    counted.pop(_node(scene.namespace, NODES), None)
    assert all(count <= FITS for count in counted.values()), counted


def bound_twice(scene: Scene) -> int:
    """For how many pods more than one binding was carried out."""
    made = Counter(
        each.object_ref.name
        for each in scene.plane.audit.calls("create", "pods", "binding")
        if each.object_ref.namespace == scene.namespace and each.response_status.code == 201
    )
    return sum(count > 1 for count in made.values())
