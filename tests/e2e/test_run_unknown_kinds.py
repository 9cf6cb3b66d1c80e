"""restow loses sight of what protects pods: it evicts on what it knew for a while, then nothing until it sees again.

How long it trusts what it heard is shortened, and what is watched changes more often than that.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from builders import Object, a_container, a_pod
from builders.policies import strategy_policy
from e2e.beside import beside
from e2e.control_plane import ControlPlane
from e2e.deschedulers import UNLIMITED
from e2e.fault_proxy import FaultProxy
from e2e.faults import Mute, Paged, Refused, calls, later_pages
from e2e.running import Descheduler
from e2e.waiting import wait_until
from e2e.workloads import budget, deployment, wait_for_ready

pytestmark = pytest.mark.e2e

#: Seconds.
TRUSTED = 12.0
_PULSE = 1.0
_TRUSTING_LESS = (
    f"import restow.live.reflector as reflector; reflector.TRUSTED = {TRUSTED}; reflector.REFUSED = reflector.BackOff(first=0.5, cap=2.0)\n"
    "import restow.live.cluster as cluster; cluster._LOOK = 0.5\n"
    "from restow.cli.main import main; main()"
)
_NEVER_DECIDING = (
    "import time, restow.descheduler.cycles as cycles\n"
    "cycles.LONGEST_DECISION = 2.0\n"
    "cycles.decide = lambda *_, **__: time.sleep(1e6)\n"
    "from restow.cli.main import main; main()"
)
OUT = {"restow.dev/eviction": "disabled"}
ACCOUNT = "out-of-sight"
#: Namespaces last; of kinds that change seldom nothing would be heard within the time.
RULES = (
    {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list", "watch"]},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["pods/eviction", "events"], "verbs": ["create", "patch"]},
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"]},
)


@dataclass(slots=True, frozen=True)
class Scene:
    """Pods that go again and again in one namespace, and pods of another one that has opted out."""

    plane: ControlPlane
    proxy: FaultProxy
    #: By way of the proxy, as an account with the rules.
    kubeconfig: Path
    directory: Path
    namespace: str
    quiet: str

    def restow(self, program: str = _TRUSTING_LESS, **settings: object) -> Descheduler:
        """Not started."""
        arguments = {"maxPodLifeTimeSeconds": 1, "namespaces": {"include": [self.namespace, self.quiet]}}
        policy = strategy_policy("PodLifeTime", arguments, restow={"placement": "upstream", **settings})
        return Descheduler(
            self.directory,
            policy=policy,
            kubeconfig=self.kubeconfig,
            flags=["--descheduling-interval=1s", "--v=3", "--logging-format=json", *UNLIMITED],
            program=[sys.executable, "-c", program, "run"],
        )

    @property
    def evictions(self) -> int:
        """How many were asked for where pods may go; an AssertionError if others were."""
        asked = self.plane.audit.calls("create", "pods", "eviction")
        assert {call.object_ref.namespace for call in asked} <= {self.namespace}
        return len(asked)

    def wait_for_evictions(self, more: int, timeout: float = 60.0) -> None:
        goal = self.evictions + more
        wait_until(f"{more} more evictions", lambda: self.evictions >= goal, timeout)


Trouble = Callable[[Scene], AbstractContextManager[None]]


def a_role(*rules: Object) -> Object:
    named = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": ACCOUNT}}
    return {**named, "rules": list(rules)}


@contextmanager
def a_right_that_is_taken_away(scene: Scene) -> Iterator[None]:
    scene.plane.admin.replace(a_role(*RULES[:-1]))
    try:
        yield
    finally:
        scene.plane.admin.replace(a_role(*RULES))


@contextmanager
def a_watch_that_hangs(scene: Scene) -> Iterator[None]:
    with scene.proxy.trouble(calls("watch", "namespaces"), Mute()):
        yield


@contextmanager
def lists_that_fail_half_way(scene: Scene) -> Iterator[None]:
    """After 410 the first page comes again and again, and never the second."""
    with (
        scene.proxy.trouble(calls("watch", "namespaces"), Refused(410, "Expired")),
        scene.proxy.trouble(lambda asked: asked.resource == "namespaces" and later_pages(asked), Refused(500)),
        scene.proxy.trouble(calls("list", "namespaces"), Paged(1)),
    ):
        yield


@contextmanager
def nodes_that_are_not_told_of(scene: Scene) -> Iterator[None]:
    with scene.proxy.trouble(calls("watch", "nodes"), Mute()):
        yield


@contextmanager
def changing(plane: ControlPlane, namespace: str) -> Iterator[None]:
    """Some objects of the kinds that every eviction depends on change each second; quiet ones are told of each minute."""
    nodes = plane.admin.items("Node")

    def change(over: threading.Event) -> None:
        count = 0
        while not over.wait(_PULSE):
            count += 1
            pulse = {"metadata": {"annotations": {"test/pulse": str(count)}}}
            plane.admin.patch("Node", nodes[0]["metadata"]["name"], pulse)
            plane.admin.patch("Namespace", namespace, pulse)
            plane.admin.patch("Pod", "pulse", pulse, namespace)

    with beside(change):
        yield


@pytest.fixture(scope="module")
def proxy(plane: ControlPlane) -> Iterator[FaultProxy]:
    with FaultProxy(plane) as made:
        yield made


@pytest.fixture(scope="module")
def kubeconfig(plane: ControlPlane, proxy: FaultProxy) -> Path:
    plane.admin.create(a_role(*RULES))
    return proxy.kubeconfig_for({"token": plane.service_account(ACCOUNT, roles=(ACCOUNT,))}, ACCOUNT)


@pytest.fixture
def scene(plane: ControlPlane, proxy: FaultProxy, kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[Scene]:
    quiet = plane.namespace(f"{namespace}-quiet")
    plane.admin.patch("Namespace", quiet, {"metadata": {"annotations": OUT}})
    for each in (namespace, quiet):
        plane.admin.create(deployment("web", 2, namespace=each))
        wait_for_ready(plane.admin, "web", 2, each)
    plane.admin.create(a_pod("pulse", namespace=namespace, spec={"containers": [a_container("c", image="a:1")]}))
    plane.audit.restart()
    with changing(plane, namespace):
        yield Scene(plane, proxy, kubeconfig, tmp_path, namespace, quiet)
    plane.clear(quiet)


def wait_for_cycles(restow: Descheduler, count: int) -> None:
    """So many more, whatever becomes of them."""
    goal = restow.samples().total("restow_cycles_total") + count
    wait_until("cycles go on", lambda: restow.samples().total("restow_cycles_total") >= goal, 60.0)


def why_not_ready(restow: Descheduler) -> str:
    status, page = restow.get("/readyz")
    assert status == 503
    return page


@pytest.mark.parametrize(
    ("trouble", "resource", "kind"),
    [
        pytest.param(a_right_that_is_taken_away, "namespaces", "Namespace", id="a right is taken away"),
        pytest.param(a_watch_that_hangs, "namespaces", "Namespace", id="a watch hangs"),
        pytest.param(lists_that_fail_half_way, "namespaces", "Namespace", id="lists fail half way"),
        pytest.param(nodes_that_are_not_told_of, "nodes", "Node", id="nodes are not told of"),
    ],
)
def test_nothing_is_evicted_until_it_is_seen_again(scene: Scene, trouble: Trouble, resource: str, kind: str) -> None:
    """And nothing at all where a namespace has opted out."""
    lost = f"the API server has not reported on {resource} for "
    with scene.restow() as restow:
        scene.wait_for_evictions(2)
        assert restow.samples().total("restow_kind_known", kind=kind) == 1
        with trouble(scene):
            scene.proxy.cut_watches()
            # What was known is good for a while.
            scene.wait_for_evictions(1, timeout=TRUSTED)
            restow.wait_for_line(f"{lost}{TRUSTED:.0f} s")
            assert restow.samples().total("restow_kind_known", kind=kind) == 0
            assert lost in why_not_ready(restow)
            # Requests that were out come to their end.
            wait_for_cycles(restow, 1)
            before = scene.evictions
            wait_for_cycles(restow, 4)
            assert scene.evictions == before
        scene.wait_for_evictions(2)
        restow.wait_for_line(f"{resource} are known again")
        wait_until("it is ready", restow.is_ready)
        assert restow.samples().total("restow_kind_known", kind=kind) == 1
        restow.send(signal.SIGTERM)
        assert restow.wait() == 0
    assert len(restow.lines(f"{lost}{TRUSTED:.0f} s: their current state is unknown")) == 1
    assert len(restow.lines(f"{resource} are known again")) == 1
    assert not restow.lines("Traceback")


def test_a_plan_that_waits_is_left_when_pods_are_not_told_of_any_more(scene: Scene) -> None:
    """Its budget gets room when nobody knows any more what the plan trusts; nothing is evicted then."""
    scene.plane.admin.create(budget("web", "web", namespace=scene.namespace, min_available=2))
    with scene.restow(waitForBudget="5m") as restow:
        restow.wait_for_line("Waiting to evict pod")
        with scene.proxy.trouble(calls("watch", "pods"), Mute()):
            scene.proxy.cut_watches()
            restow.wait_for_line("Planned eviction dropped")
            scene.plane.admin.delete("PodDisruptionBudget", "web", scene.namespace)
            restow.wait_for_line("Descheduling cycle failed")
            wait_for_cycles(restow, 2)
            assert not restow.lines("Evicted pod")
        restow.wait_for_line("Evicted pod")
    assert {each["code"] for each in restow.entries("Planned eviction dropped")} == {"Unknown"}
    failed = restow.entries("Descheduling cycle failed")
    assert all(each["err"].startswith("the API server has not reported on pods for ") for each in failed)


def test_without_the_right_to_list_namespaces_from_the_start_nothing_is_evicted(scene: Scene) -> None:
    restow = scene.restow()
    try:
        with a_right_that_is_taken_away(scene):
            restow.start()
            wait_until("cycles are done", lambda: restow.entries("Number of evictions/requests")[3:], 60.0)
            assert restow.samples().total("restow_last_cycle_refusals", stage="evictor", code="Unknown") > 0
            assert "add the rule" in why_not_ready(restow)
            assert scene.evictions == 0
        scene.wait_for_evictions(1)
        wait_until("it is ready", restow.is_ready)
    finally:
        restow.kill()


def test_a_decision_without_an_end_ends_the_process(scene: Scene) -> None:
    """The kubelet starts it again."""
    with scene.restow(_NEVER_DECIDING) as restow:
        assert restow.wait() == 1
    (failed,) = restow.entries("failed to run descheduler server")
    assert failed["err"] == "a decision did not finish within 2 s"
    assert not restow.lines("Traceback")
    assert scene.evictions == 0
