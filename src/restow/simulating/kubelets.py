"""The kubelets of all nodes: pods are admitted, pull images, start, become ready, end, and vanish.

How long each step takes is the same for all pods, unless annotations of a pod say otherwise. A kubelet that has stopped
does nothing: its pods stay as they are, and terminating ones never end. A node that has less than its pods request
refuses the one that was bound last, as after a race of two schedulers. A node pulls one image at a time
(``serializeImagePulls``). Containers that end are started again: at once the first time, then after 10 s, twice as long
each time, 5 minutes at most; those that have run for 10 minutes start over. Source: the kubelet, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from msgspec import Struct, structs

from restow.documents.shapes import Duration
from restow.kube.duration import parse_duration
from restow.kube.manifests import Node, Pod
from restow.kube.manifests.cluster_objects import ContainerStatus
from restow.kube.objects.pods import ContainerState, ContainerStateTerminated, ContainerStateWaiting
from restow.kube.timestamps import SECOND, parse_time
from restow.simulating.api_server.changes import (
    not_ready,
    over,
    started_again,
    with_condition,
    with_containers,
    with_readiness,
)
from restow.simulating.api_server.indexes import Key, key_of
from restow.simulating.api_server.store import ObjectEvent
from restow.simulating.virtual_cluster import VirtualCluster, WorkQueue

#: Annotations of pods.
START_DELAY: Final = "simulate.restow.dev/start-delay"
READY_DELAY: Final = "simulate.restow.dev/ready-delay"
RUN_FOR: Final = "simulate.restow.dev/run-for"
EXIT_CODE: Final = "simulate.restow.dev/exit-code"
DELETE_DELAY: Final = "simulate.restow.dev/delete-delay"
#: The exit code of a container that was stopped.
_TOLD_TO_STOP: Final = 143
#: How long it takes until a kubelet sees that a container has ended.
_NOTICE: Final = SECOND
#: How long containers wait that have ended for the second time, and at most; how long one runs that does not crash.
_FIRST_BACK_OFF: Final = 10 * SECOND
_LONGEST_BACK_OFF: Final = 300 * SECOND
_FORGIVEN: Final = 2 * _LONGEST_BACK_OFF


class KubeletSettings(Struct, frozen=True):
    """How long each step takes, in nanoseconds, for pods without annotations for it; as a scenario writes it."""

    #: To pull one image.
    pull: Duration = 0
    #: From the binding until the containers run.
    start: Duration = 2 * SECOND
    #: From there until the pod is ready.
    ready: Duration = 0
    #: How long a pod runs that is to end by itself.
    run: Duration = SECOND
    #: From the beginning of a deletion until the pod is gone; never longer than its grace period.
    delete: Duration = SECOND


@dataclass(slots=True)
class _BackOffs:
    """What the kubelets remember of pods whose containers have ended, by uid."""

    #: How long the next start waits, and when the last one was.
    _known: dict[str, tuple[int, int]] = field(default_factory=dict)

    def wait(self, uid: str, now: int) -> int:
        """Nanoseconds that the containers of a pod wait that have ended now."""
        wait, started = self._known.get(uid, (0, now))
        if now - started > _FORGIVEN:
            wait = 0
        self._known[uid] = min(2 * wait, _LONGEST_BACK_OFF) or _FIRST_BACK_OFF, now + wait
        return wait

    def forget(self, uid: str) -> None:
        """A pod is gone."""
        self._known.pop(uid, None)


@dataclass(slots=True)
class _ImagePulls:
    """The images on nodes that their status does not list."""

    #: How long it takes to pull one, in nanoseconds.
    each: int
    #: When a node has an image, by both.
    _there: dict[tuple[str, str], int] = field(default_factory=dict)
    #: When a node has pulled what it was asked for so far.
    _busy: dict[str, int] = field(default_factory=dict)

    def wait(self, node: Node, pod: Pod, now: int) -> int:
        """Nanoseconds until a node has all images of a pod that is to start there now."""
        if not self.each:
            return 0
        name, present = node.metadata.name, _present(node)
        return max((self._at(name, image, now) - now for image in _images(pod) if image not in present), default=0)

    def forget(self, node: str) -> None:
        """A node is gone; another one of its name has nothing."""
        self._busy.pop(node, None)
        self._there = {key: there for key, there in self._there.items() if key[0] != node}

    def _at(self, node: str, image: str, now: int) -> int:
        there = self._there.get((node, image))
        if there is None:
            there = self._busy[node] = max(self._busy.get(node, 0), now) + self.each
            self._there[node, image] = there
        return max(there, now)


def _images(pod: Pod) -> Iterable[str]:
    """The images of a pod, each once, those of init containers first."""
    containers = (*(pod.spec.get("initContainers") or ()), *(pod.spec.get("containers") or ()))
    return dict.fromkeys(each["image"] for each in containers if each.get("image"))


def _present(node: Node) -> frozenset[str]:
    return frozenset(name for image in node.status.images or () for name in image.names or ())


class Kubelets:
    """The kubelets of all nodes, each of which runs or does not."""

    def __init__(self, simulation: VirtualCluster, settings: KubeletSettings | None = None) -> None:
        self._simulation = simulation
        self._store, self._clock = simulation.store, simulation.clock
        self._settings = settings or KubeletSettings()
        #: The nodes whose kubelet has stopped, and when it did.
        self.stopped: dict[str, int] = {}
        #: Called with each kubelet that stops or starts again.
        self.listeners: list[Callable[[str], None]] = []
        #: The nodes of the pods that have been bound and not been looked at, and these pods by node.
        self._bound: dict[Key, str] = {}
        self._bound_on: defaultdict[str, dict[Key, None]] = defaultdict(dict)
        self._queue: WorkQueue[Key] = WorkQueue(self._clock, self._sync)
        self._images = _ImagePulls(self._settings.pull)
        self._back_offs = _BackOffs()
        self._store.subscribe("Pod", self._on_event)
        self._store.subscribe("Node", self._on_node_event)

    def stop_node(self, name: str) -> None:
        """Stop the heartbeats of a node."""
        self.stopped.setdefault(name, self._clock.now)
        self._notify(name)

    def start_node(self, name: str) -> None:
        """Start a node again; its kubelet continues with its pods."""
        self.stopped.pop(name, None)
        node = self._store.get("Node", "", name)
        if node is not None:
            self._store.update(with_condition(node, "Ready", "True", self._clock.text, "KubeletReady"))
        self._notify(name)
        for pod in self._store.on_node(name):
            self._queue.add(key_of(pod))

    def _notify(self, name: str) -> None:
        for listener in self.listeners:
            listener(name)

    def _on_event(self, event: ObjectEvent) -> None:
        old, new = event.old, event.new
        if new is None:
            self._back_offs.forget(old.metadata.uid)
        if new is None or not new.node:
            return
        is_new = old is None or not old.node
        if is_new:
            self._bound[key_of(new)] = new.node
            self._bound_on[new.node][key_of(new)] = None
        if is_new or (new.metadata.is_terminating and not old.metadata.is_terminating):
            self._queue.add(key_of(new))

    def _on_node_event(self, event: ObjectEvent) -> None:
        if event.new is None:
            self._images.forget(event.old.metadata.name)

    def _sync(self, key: Key) -> None:
        if (node := self._bound.pop(key, None)) is not None:
            self._bound_on[node].pop(key, None)
        pod = self._store.get("Pod", *key)
        if pod is None or not pod.node or not self._is_running(pod.node):
            return
        if pod.metadata.is_terminating:
            self._end_later(pod)
        elif pod.is_over:
            return
        elif pod.status.phase == "Pending":
            self._admit(pod)
        elif not is_running(pod):
            self._take_later(pod, _NOTICE, self._restart)
        elif pod.ready_since is None:
            self._later(pod, READY_DELAY, self._settings.ready, self._make_ready)
        else:
            self._complete_later(pod)

    def _is_running(self, node: str) -> bool:
        return node not in self.stopped and self._store.get("Node", "", node) is not None

    def _admit(self, pod: Pod) -> None:
        lacking = self._lacking(pod)
        if lacking:
            self._store.update(over(pod, "Failed", self._clock.text, f"OutOf{lacking}"))
            return
        pulling = self._images.wait(self._store.get("Node", "", pod.node), pod, self._clock.now)
        self._take_later(pod, pulling + self._delay(pod, START_DELAY, self._settings.start), self._run)

    def _lacking(self, pod: Pod) -> str:
        """The resource of which the node of a pod has less than is requested there so far; empty if there is none."""
        view = self._simulation.view
        state = view.state
        node = state.node_called(pod.node)
        wanted = state.requests_of(view.row(*key_of(pod)))
        requested = state.requested[:, node] - sum(map(state.requests_of, self._bound_after(pod)))
        beyond = (requested > state.cluster.nodes.allocatable[:, node]) & (wanted > 0)
        found = np.flatnonzero(beyond)
        return state.cluster.nodes.resources[int(found[0])] if len(found) else ""

    def _bound_after(self, pod: Pod) -> list[int]:
        """The rows of the pods on the same node that it has not looked at."""
        view = self._simulation.view
        found = (self._store.get("Pod", *key) for key in self._bound_on.get(pod.node, ()))
        return [view.row(*key_of(each)) for each in found if each is not None and each.node == pod.node]

    def _run(self, pod: Pod) -> None:
        """The containers run."""
        if pod.status.phase != "Pending":
            return
        containers = tuple(ContainerStatus(each.get("name", "")) for each in pod.spec.get("containers") or ())
        status = structs.replace(
            pod.status, phase="Running", start_time=self._clock.text, container_statuses=containers
        )
        running = structs.replace(pod, status=status)
        if self._delay(pod, READY_DELAY, self._settings.ready) == 0:
            self._make_ready(running)
        else:
            unready = not_ready(running, self._clock.text)
            self._later(self._store.update(unready), READY_DELAY, self._settings.ready, self._make_ready)

    def _make_ready(self, pod: Pod) -> None:
        if not is_running(pod):
            return
        ready = with_readiness(with_containers(pod, ready=True, state=None), "True", self._clock.text)
        self._complete_later(self._store.update(ready))

    def _complete_later(self, pod: Pod) -> None:
        """A pod ends by itself if it is made to end, or says when."""
        if pod.spec.get("restartPolicy") in ("Never", "OnFailure") or pod.metadata.annotation(RUN_FOR):
            self._later(pod, RUN_FOR, self._settings.run, self._complete)

    def _complete(self, pod: Pod) -> None:
        code = _annotated(pod, EXIT_CODE, int, 0)
        self.end_containers(pod, ContainerStateTerminated("Error" if code else "Completed", code))

    def end_containers(self, pod: Pod, ending: ContainerStateTerminated) -> None:
        """The containers of a pod end, if they run; they start again if its policy says so."""
        if not is_running(pod):
            return
        policy = pod.spec.get("restartPolicy") or "Always"
        if policy == "Always" or (policy == "OnFailure" and ending.exit_code):
            self._restart_later(pod, ending)
        else:
            self._store.update(self._ended(pod, ending))

    def _restart_later(self, pod: Pod, ending: ContainerStateTerminated) -> None:
        """The containers of a pod start again, later each time."""
        wait = self._back_offs.wait(pod.metadata.uid, self._clock.now)
        waiting = ContainerState(waiting=ContainerStateWaiting("CrashLoopBackOff"))
        state = waiting if wait else ContainerState(terminated=ending)
        stopped = not_ready(with_containers(pod, ready=False, state=state), self._clock.text)
        # A wait that has reached its maximum stays there.
        self._take_later(
            self._store.update(stopped), max(wait, _NOTICE), self._restart, recurring=wait == _LONGEST_BACK_OFF
        )

    def _restart(self, pod: Pod) -> None:
        self._later(self._store.update(started_again(pod)), READY_DELAY, self._settings.ready, self._make_ready)

    def _ended(self, pod: Pod, ending: ContainerStateTerminated) -> Pod:
        """A pod whose containers have ended for good."""
        ended = with_containers(pod, ready=False, state=ContainerState(terminated=ending))
        return over(ended, "Failed" if ending.exit_code else "Succeeded", self._clock.text)

    def _end_later(self, pod: Pod) -> None:
        """Stop a pod that is being deleted."""
        begun = parse_time(pod.metadata.deletion_timestamp or "")
        grace = (pod.metadata.deletion_grace_period_seconds or 0) * SECOND
        delay = min(
            self._delay(pod, DELETE_DELAY, self._settings.delete), max(grace, 0), max(begun - self._clock.now, 0)
        )
        key, uid = key_of(pod), pod.metadata.uid
        self._clock.after(delay, lambda: self._end(key, uid))

    def _end(self, key: Key, uid: str) -> None:
        pod = self._store.get("Pod", *key)
        if pod is None or pod.metadata.uid != uid or not self._is_running(pod.node):
            return
        if not pod.is_over and pod.metadata.finalizers:
            # The holder of its finalizer has to see how it ended.
            self._store.update(self._ended(pod, ContainerStateTerminated("Error", _TOLD_TO_STOP)))
        self._store.delete("Pod", *key, grace_period=0)

    def _later(self, pod: Pod, annotation: str, default: int, step: Callable[[Pod], None]) -> None:
        """Take a step after as long as an annotation says."""
        self._take_later(pod, self._delay(pod, annotation, default), step)

    def _take_later(self, pod: Pod, delay: int, step: Callable[[Pod], None], *, recurring: bool = False) -> None:
        """Take a step after a delay, unless the pod ends, its containers restart or its kubelet stops before."""
        key, uid, starts = key_of(pod), pod.metadata.uid, _restarts(pod)

        def take() -> None:
            now = self._store.get("Pod", *key)
            is_same = now is not None and now.metadata.uid == uid and _restarts(now) == starts
            if is_same and now.is_active and self._is_running(now.node):
                step(now)

        self._clock.at(self._clock.now + delay, take, recurring=recurring)

    def _delay(self, pod: Pod, annotation: str, default: int) -> int:
        """What an annotation says, in nanoseconds."""
        return max(0, _annotated(pod, annotation, parse_duration, default))


def is_running(pod: Pod) -> bool:
    """Whether containers of a pod run now, ready or not."""
    states = [each.state or ContainerState() for each in pod.status.container_statuses or ()]
    stopped = [each.waiting is not None or each.terminated is not None for each in states]
    return pod.status.phase == "Running" and pod.is_active and not (stopped and all(stopped))


def _restarts(pod: Pod) -> int:
    return sum(each.restart_count for each in pod.status.container_statuses or ())


def _annotated(pod: Pod, annotation: str, read: Callable[[str], int], default: int) -> int:
    """What an annotation says; one that cannot be read says nothing."""
    text = pod.metadata.annotation(annotation)
    try:
        return read(text) if text else default
    except ValueError:
        return default
