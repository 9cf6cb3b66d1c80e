"""Moves of workloads that a client uses meanwhile: one node after the other is tainted, and a descheduler frees it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from builders import Object
from builders.policies import Policy, strategy_policy
from e2e.control_plane import ControlPlane
from e2e.deschedulers import a_descheduler
from e2e.pod_life import READY_DELAY
from e2e.pod_network import PORT
from e2e.running import Descheduler
from e2e.service_endpoints import Gap
from e2e.service_requests import Sent, ServiceRequests
from e2e.waiting import wait_until
from e2e.workloads import deployment, is_ready, wait_for_ready

_TAINT = {"key": "example.com/leave", "effect": "NoSchedule"}
#: Pods have to leave a tainted node.
STRATEGY = "RemovePodsViolatingNodeTaints"
_INTERVAL = "--descheduling-interval=1s"
#: Seconds for one move, and between two looks at it.
_PATIENCE, _LOOK = 120.0, 0.1


@dataclass(slots=True, frozen=True)
class Workloads:
    """Deployments ``app-0``, ``app-1``..., each with a Service of its name."""

    count: int = 1
    replicas: int = 1
    #: A duration: from the start of a container until it is ready.
    ready_delay: str = "5s"
    #: Seconds from the deletion of a pod to its SIGTERM.
    pre_stop: int = 0
    #: Requests a second to each.
    rate: float = 8.0

    @property
    def names(self) -> list[str]:
        """Of Deployments and Services."""
        return [f"app-{number}" for number in range(self.count)]

    def create(self, plane: ControlPlane, namespace: str) -> None:
        """Return when all pods are ready."""
        plane.admin.create_all([a_served_service(name, namespace) for name in self.names])
        plane.admin.create_all([self._deployment(name, namespace) for name in self.names])
        for name in self.names:
            wait_for_ready(plane.admin, name, self.replicas, namespace)

    def _deployment(self, name: str, namespace: str) -> Object:
        made = deployment(name, self.replicas, namespace=namespace, annotations={READY_DELAY: self.ready_delay})
        if self.pre_stop:
            (container,) = made["spec"]["template"]["spec"]["containers"]
            container["lifecycle"] = {"preStop": {"sleep": {"seconds": self.pre_stop}}}
        return made


def a_served_service(app: str, namespace: str = "default") -> Object:
    """The Service of the pods labelled ``app``, which are processes."""
    spec = {"selector": {"app": app}, "ports": [{"port": 80, "targetPort": PORT}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": app, "namespace": namespace}, "spec": spec}


@dataclass(slots=True, frozen=True)
class Times:
    """How long a measurement takes."""

    #: Seconds without moves.
    quiet: float = 60.0
    #: How often a node is tainted.
    rounds: int = 6
    #: Seconds that a round takes at least, so that the share of failed requests can be compared.
    window: float = 10.0


@dataclass(slots=True, frozen=True)
class Noticed:
    """What the client of the workloads has noticed."""

    #: Pods that have been replaced.
    moves: int
    quiet: list[Sent]
    moved: list[Sent]
    #: The times without a ready endpoint.
    gaps: list[Gap]


def measure(
    plane: ControlPlane, namespace: str, workloads: Workloads, times: Times, descheduler: Descheduler
) -> Noticed:
    """Create the workloads, send them requests, and let the descheduler move them. TimeoutError if it does not."""
    workloads.create(plane, namespace)
    with ServiceRequests(plane, workloads.names, workloads.rate, namespace) as requests:
        begin = time.monotonic()
        _wait_until_time(begin + times.quiet)
        with descheduler:
            moving = time.monotonic()
            moves = sum(
                _round(plane, namespace, workloads, times.window, descheduler.check) for _ in range(times.rounds)
            )
            requests.wait_for_endpoints()
            end = time.monotonic()
    return Noticed(moves, requests.between(begin, moving), requests.between(moving, end), requests.gaps)


def a_mover(
    plane: ControlPlane, program: str, directory: Path, *, restow: Policy | None = None, most: int = 1
) -> Descheduler:
    """``restow`` or the ``Descheduler``, not yet started.

    ``restow`` is the section of that name in the policy; ``most`` is how many pods a cycle may evict.
    """
    policy = strategy_policy(STRATEGY, maxNoOfPodsToEvictTotal=most) | ({"restow": restow} if restow else {})
    return a_descheduler(plane, program, policy, directory, [_INTERVAL])


def _round(plane: ControlPlane, namespace: str, workloads: Workloads, window: float, check: Callable[[], None]) -> int:
    """Taint the fullest node until its pods are replaced; return how many were."""
    over = time.monotonic() + window
    before = _uids(plane, namespace)
    node = _fullest_node(plane, namespace)
    _set_taints(plane, node, [_TAINT])

    def is_moved() -> bool:
        check()
        pods = plane.admin.items("Pod", namespace)
        return len(pods) == workloads.count * workloads.replicas and all(_is_settled(each, node) for each in pods)

    wait_until(f"the pods of {node} are moved", is_moved, _PATIENCE, every=_LOOK)
    _set_taints(plane, node, [])
    _wait_until_time(over)
    return len(before - _uids(plane, namespace))


def _is_settled(pod: Object, tainted: str) -> bool:
    return is_ready(pod) and "deletionTimestamp" not in pod["metadata"] and pod["spec"]["nodeName"] != tainted


def _uids(plane: ControlPlane, namespace: str) -> set[str]:
    return {each["metadata"]["uid"] for each in plane.admin.items("Pod", namespace)}


def _fullest_node(plane: ControlPlane, namespace: str) -> str:
    pods = plane.admin.items("Pod", namespace)
    (node, _), *_ = Counter(sorted(str(each["spec"]["nodeName"]) for each in pods)).most_common()
    return node


def _set_taints(plane: ControlPlane, node: str, taints: list[Object]) -> None:
    plane.admin.patch("Node", node, {"spec": {"taints": taints}})


def _wait_until_time(end: float) -> None:
    left = end - time.monotonic()
    if left > 0:
        wait_until("the time is over", lambda: time.monotonic() >= end, left + _PATIENCE, every=_LOOK)
