"""A kubelet whose pods are real processes, beside kwok, which plays the kubelets of all other nodes.

    with ControlPlane(directory) as plane, ProcessKubelet(plane) as kubelet:
        kubelet.add_nodes(4)
        plane.admin.create(deployment("web", 1, annotations={"test/ready-delay": "3s"}))

Nodes with the label ``PROCESSES`` are its own; kwok leaves them alone. Each pod there is a small HTTP server
(``pod_program``) on a loopback address of its own (``pod_network``). It is Running at once and Ready when it answers,
which it does after the annotation ``test/ready-delay``, or two seconds. It is started again if it ends by itself. On
deletion it gets the time of ``preStop.sleep`` of its first container, then SIGTERM, and SIGKILL when
terminationGracePeriodSeconds are over; then the object goes. Not played: readiness gates, init containers, volumes.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import Any, Self

from builders import Object
from e2e import pod_statuses
from e2e.beside import coroutine_beside
from e2e.control_plane import ControlPlane
from e2e.fake_nodes import PROCESSES
from e2e.followed import NODES, PODS, followed
from e2e.kubelet_writes import KubeletWrites
from e2e.pod_life import PodLife
from e2e.rest import name_of
from restow.client.connection import connect
from restow.client.listing import Selection
from restow.client.transport import Api

_OWN_NODES = Selection(labels=PROCESSES)
_BOUND = Selection(fields="spec.nodeName!=")


class ProcessKubelet:
    """The kubelet of all nodes with the label; a context manager. At its end no process of a pod is left."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._logs = plane.layout.room("pods")
        self._nodes: frozenset[str] = frozenset()
        self._lives: dict[str, PodLife] = {}
        self._running = ExitStack()

    def __enter__(self) -> Self:
        self._running.enter_context(coroutine_beside(self._run))
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def add_nodes(self, count: int, **features: Any) -> list[str]:
        """Create nodes of its own, as ``ControlPlane.add_nodes`` does."""
        labels = features.pop("labels", {}) | {PROCESSES: ""}
        return self._plane.add_nodes(count, labels=labels, **features)

    def pid_of(self, pod: Object) -> int:
        """The process of a pod. KeyError if it has none yet or no more, RuntimeError if it starts just now."""
        return self._lives[pod["metadata"]["uid"]].pid

    async def _run(self) -> None:
        async with connect(str(self._plane.kubeconfig)) as api, asyncio.TaskGroup() as tasks:
            nodes_listed = asyncio.Event()
            tasks.create_task(self._follow_nodes(api, nodes_listed))
            await nodes_listed.wait()
            await self._follow_pods(api, tasks)

    async def _follow_nodes(self, api: Api, listed: asyncio.Event) -> None:
        """Make its nodes ready; the scheduler binds pods to no others."""
        async for nodes in followed(api, NODES, _OWN_NODES):
            self._nodes = frozenset(map(name_of, nodes.values()))
            listed.set()
            for node in nodes.values():
                if not _is_ready(node):
                    await KubeletWrites(api).patch_node(node, pod_statuses.node_ready())

    async def _follow_pods(self, api: Api, tasks: asyncio.TaskGroup) -> None:
        running: dict[str, asyncio.Task[None]] = {}
        async for pods in followed(api, PODS, _BOUND):
            own = {uid: pod for uid, pod in pods.items() if pod["spec"]["nodeName"] in self._nodes}
            for uid in running.keys() - own.keys():
                # Deleted without grace, or by the end of its life, which then has nothing more to do.
                running.pop(uid).cancel()
                del self._lives[uid]
            for uid, pod in own.items():
                if uid not in running:
                    self._lives[uid] = PodLife(pod, KubeletWrites(api), self._logs / f"{name_of(pod)}.log")
                    running[uid] = tasks.create_task(self._lives[uid].run())
                self._lives[uid].changed(pod)


def _is_ready(node: Object) -> bool:
    conditions = node["status"].get("conditions", ())
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
