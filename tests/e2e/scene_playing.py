"""Scenes, simulated and played on the real control plane: many at the same time, each in a namespace of its own."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import pairwise
from threading import Event, Lock, Thread
from types import TracebackType
from typing import Final, Self

from builders import Object
from e2e.control_plane import ControlPlane
from e2e.fake_nodes import a_fake_node
from e2e.histories import KINDS, SCENE, Change, Moment, Picture, difference, happenings, moments, picture
from e2e.kinds import collection
from e2e.scene_steps import After, Scene, Step
from e2e.waiting import wait_until
from restow.kube.manifests import Manifest, document_of, kind_of, manifest_of
from restow.kube.timestamps import SECOND
from restow.simulating.actors import start_actors
from restow.simulating.api_server import store as stores
from restow.simulating.kubelets import KubeletSettings
from restow.simulating.virtual_cluster import VirtualCluster

_START: Final = 1_767_225_600 * SECOND
#: As kwok plays the kubelets: everything happens at once, unless annotations say when.
_AT_ONCE: Final = KubeletSettings(start=0, ready=0, run=0, delete=0)
#: Seconds: how long it is quiet before the next step, how much longer than simulated a real step may take, how long a
#: minute counts as just begun.
_PAUSE: Final = 1.0
_PATIENCE: Final = 20.0
#: No step of a scene takes longer that is not a long one; a simulated Deployment is quiet only after its deadline.
_SHORT: Final = 60.0
_BEGINNING: Final = 3
_LONGEST: Final = 3600


@dataclass(slots=True, frozen=True)
class Expected:
    """What a simulation comes to."""

    changes: list[Change]
    moments: list[Moment]
    #: Before each step, and at the end: how much has happened, and what is to be seen.
    before: list[tuple[int, Picture]]
    #: How many seconds each of these took.
    took: list[float]


def simulated(scene: Scene, nodes: Iterable[Object], namespace: str) -> Expected:
    """The history of a scene in virtual time, on nodes that are there, and on its own."""
    simulation = VirtualCluster.at(_START, seed=1)
    start_actors(simulation, kubelet_settings=_AT_ONCE)
    changes: list[Change] = []
    for each in (*nodes, *own_nodes(scene, namespace)):
        simulation.store.load(manifest_of(each))
    simulation.store.create(manifest_of({"kind": "Namespace", "metadata": {"name": namespace}}))
    simulation.store.subscribe_all(lambda event: _note(changes, simulation, event, namespace))
    for node in simulation.store.list("Node"):
        _note(changes, simulation, stores.ObjectEvent("Node", None, node), namespace)
    before: list[tuple[int, Picture]] = []
    times = [simulation.clock.now]
    for step in (*scene.steps, None):
        _pass(simulation, step.seconds if isinstance(step, After) else scene.lasts if step is None else None)
        before.append(_now(changes, scene))
        times.append(simulation.clock.now)
        if step is not None:
            _bare(step).on_simulation(simulation, namespace)
    took = [(later - earlier) / SECOND for earlier, later in pairwise(times)]
    return Expected(changes, moments(changes, scene.form), before, took)


def _bare(step: Step | After) -> Step:
    return step.step if isinstance(step, After) else step


def _pass(simulation: VirtualCluster, seconds: float | None) -> None:
    """Let so much time pass, or as much as it takes until it is quiet."""
    clock = simulation.clock
    if seconds is None:
        assert clock.settle(clock.now + _LONGEST * SECOND), "the simulated cluster is never quiet"
        seconds = _PAUSE
    clock.run(clock.now + int(seconds * SECOND))


def _note(changes: list[Change], simulation: VirtualCluster, event: stores.ObjectEvent, namespace: str) -> None:
    old, new = (each and _document(each) for each in (event.old, event.new))
    if event.kind in KINDS and _namespace_of(new or old or {}) == namespace:
        time_passed = (simulation.clock.now - _START) / SECOND
        changes.append(Change(len(changes), event.kind, old, new, time_passed))


def _document(manifest: Manifest) -> Object:
    return {"kind": kind_of(manifest)} | document_of(manifest)


def _namespace_of(document: Object) -> str:
    """The namespace of an object, or the one of the scene that a node belongs to."""
    metadata = document["metadata"]
    return str(metadata.get("namespace") or metadata.get("labels", {}).get(SCENE, ""))


def _now(changes: list[Change], scene: Scene) -> tuple[int, Picture]:
    live = Live(scene)
    for each in changes:
        live.take(each)
    return live.seen()


def own_nodes(scene: Scene, namespace: str) -> list[Object]:
    """The nodes of a scene, in a zone of their own."""
    return [
        a_fake_node(
            f"{namespace}-{number}",
            zone=namespace,
            labels={SCENE: namespace},
            taints=[f"{SCENE}={namespace}:NoSchedule"],
        )
        for number in range(1, scene.nodes + 1)
    ]


class Live:
    """What is there in a namespace as its changes come."""

    def __init__(self, scene: Scene) -> None:
        self._form = scene.form
        self._objects: dict[tuple[str, str], Object] = {}
        self._count = 0

    def take(self, change: Change) -> None:
        """Take in a change."""
        self._count += len(list(happenings(change, self._form)))
        if change.new is None:
            self._objects.pop((change.kind, change.uid), None)
        else:
            self._objects[change.kind, change.uid] = change.new

    def seen(self) -> tuple[int, Picture]:
        """How much has happened, and what there is."""
        return self._count, picture(list(self._objects.values()), self._form)


@dataclass(slots=True)
class _Course:
    """The changes of one namespace."""

    live: Live
    changes: list[Change] = field(default_factory=list)


class Recorder:
    """Watches every kind of a control plane, and keeps what comes by namespace; a context manager."""

    def __init__(self, plane: ControlPlane, scenes: Mapping[str, Scene]) -> None:
        self._plane = plane
        self._courses = {namespace: _Course(Live(scene)) for namespace, scene in scenes.items()}
        self._known: dict[tuple[str, str], Object] = {}
        self._over, self._lock = Event(), Lock()
        self._threads: list[Thread] = []

    def __enter__(self) -> Self:
        for kind in KINDS:
            listed = self._plane.admin.call("GET", collection(kind, None))
            thread = Thread(target=self._watch, args=(kind, listed["metadata"]["resourceVersion"]), daemon=True)
            self._threads.append(thread)
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for each in self._threads:
            each.join()

    def seen(self, namespace: str) -> tuple[int, Picture]:
        """How much has happened in a namespace, and what there is."""
        with self._lock:
            return self._courses[namespace].live.seen()

    def changes(self, namespace: str) -> list[Change]:
        """All changes of a namespace, in the order in which the API server made them."""
        with self._lock:
            return sorted(self._courses[namespace].changes, key=lambda each: each.version)

    def _watch(self, kind: str, version: str) -> None:
        while not self._over.is_set():
            # A connection that breaks off is made anew, from where it was.
            with suppress(OSError, HTTPException):
                for event in self._plane.admin.watch(kind, version=version, seconds=2):
                    assert event["type"] != "ERROR", event
                    version = event["object"]["metadata"]["resourceVersion"]
                    if event["type"] != "BOOKMARK":
                        self._take(kind, event["object"], gone=event["type"] == "DELETED")

    def _take(self, kind: str, document: Object, *, gone: bool) -> None:
        course = self._courses.get(_namespace_of(document))
        if course is None:
            return
        document = document | {"kind": kind}
        metadata = document["metadata"]
        with self._lock:
            old = self._known.get((kind, metadata["uid"]))
            new = None if gone else document
            old = old or (document if gone else None)
            change = Change(int(metadata["resourceVersion"]), kind, old, new, time.monotonic())
            self._known[kind, metadata["uid"]] = document
            course.changes.append(change)
            course.live.take(change)


def play(plane: ControlPlane, scenes: Mapping[str, Scene]) -> dict[str, str]:
    """Play scenes by their namespaces, all at the same time; where each departs from its simulation, if it does."""
    nodes = plane.admin.items("Node")
    expected = {namespace: simulated(scene, nodes, namespace) for namespace, scene in scenes.items()}
    with Recorder(plane, scenes) as recorder, ThreadPoolExecutor(len(scenes)) as pool:
        games = {
            namespace: pool.submit(_play, plane, recorder, scene, namespace, expected[namespace])
            for namespace, scene in scenes.items()
        }
        for each in games.values():
            each.result()
    _leave(plane, scenes)
    return {
        namespace: difference(expected[namespace].moments, recorder.changes(namespace), scene.form)
        for namespace, scene in scenes.items()
    }


def _leave(plane: ControlPlane, scenes: Mapping[str, Scene]) -> None:
    """Leave nothing behind that others would see."""
    with ThreadPoolExecutor(len(scenes)) as pool:
        list(pool.map(plane.clear, scenes))
    for node in plane.admin.items("Node"):
        if SCENE in node["metadata"].get("labels", {}):
            plane.admin.delete("Node", node["metadata"]["name"])


def _play(plane: ControlPlane, recorder: Recorder, scene: Scene, namespace: str, expected: Expected) -> None:
    """Do each step of a scene when its time has come."""
    plane.namespace(namespace)
    own = own_nodes(scene, namespace)
    plane.admin.create_all(own)
    plane.wait_for_nodes([each["metadata"]["name"] for each in own])
    if scene.from_minute:
        wait_until("a minute has begun", lambda: time.time() % 60 < _BEGINNING, 61)
    for step, wanted, took in zip((*scene.steps, None), expected.before, expected.took, strict=True):
        if isinstance(step, After):
            time.sleep(step.seconds)
        elif not _comes_to(recorder, namespace, wanted, (took if scene.long else min(took, _SHORT)) + _PATIENCE):
            # How it departs is for others to tell.
            return
        if step is not None:
            _bare(step).on_plane(plane, namespace)


def _comes_to(recorder: Recorder, namespace: str, wanted: tuple[int, Picture], seconds: float) -> bool:
    """Whether it is as it is to be within so many seconds."""
    with suppress(TimeoutError):
        return wait_until("it is as in the simulation", lambda: recorder.seen(namespace) == wanted, seconds, every=0.2)
    return False
