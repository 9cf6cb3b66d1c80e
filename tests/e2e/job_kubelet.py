"""A kubelet whose pods run the command of their container to its end, as those of Jobs do.

    with ControlPlane(directory) as plane, JobKubelet(plane) as kubelet:
        kubelet.add_nodes(2)

A pod has a directory of its own in place of the paths in its command: for its projected ConfigMaps, and for its termination
message, whose first 4096 bytes go into its status when the command has ended. ``restow`` is this project's. A pod that is
deleted is killed. An image whose name begins with ``missing`` is not there. Not played: images, init containers, more containers than one, environment but the index of a Job.
"""

from __future__ import annotations

import asyncio
import base64
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from builders import Object
from e2e import pod_statuses
from e2e.beside import coroutine_beside
from e2e.child import Child
from e2e.control_plane import ControlPlane
from e2e.engine_clusters import ENVIRONMENT, RESTOW
from e2e.fake_nodes import PROCESSES
from e2e.followed import NODES, PODS, followed
from e2e.kubelet_writes import KubeletWrites
from e2e.rest import name_of
from restow.client.connection import connect
from restow.client.listing import Selection
from restow.client.transport import Api

_INDEX = "batch.kubernetes.io/job-completion-index"
_LONGEST = 4096
#: Seconds from one look at a process to the next.
_PAUSE = 0.05


class JobKubelet:
    """The kubelet of all nodes with the label; a context manager. At its end no process of a pod is left."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane = plane
        self._room = plane.layout.room("jobs")
        self._running = ExitStack()
        #: The process of each pod that has been started, by the name of the pod.
        self.processes: dict[str, Child] = {}

    def __enter__(self) -> Self:
        self._running.enter_context(coroutine_beside(self._run))
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def add_nodes(self, count: int) -> list[str]:
        """Create nodes of its own, and return their names."""
        return self._plane.add_nodes(count, labels={PROCESSES: ""})

    async def _run(self) -> None:
        async with connect(str(self._plane.kubeconfig)) as api, asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_nodes(api))
            await self._follow_pods(api, tasks)

    async def _follow_nodes(self, api: Api) -> None:
        async for nodes in followed(api, NODES, Selection(labels=PROCESSES)):
            for node in nodes.values():
                if not any(
                    each["type"] == "Ready" and each["status"] == "True"
                    for each in node["status"].get("conditions", ())
                ):
                    await KubeletWrites(api).patch_node(node, pod_statuses.node_ready())

    async def _follow_pods(self, api: Api, tasks: asyncio.TaskGroup) -> None:
        lives: dict[str, asyncio.Task[None]] = {}
        leaving: set[str] = set()
        async for pods in followed(
            api, PODS, Selection(labels="batch.kubernetes.io/job-name", fields="spec.nodeName!=")
        ):
            for uid in lives.keys() - pods.keys():
                lives.pop(uid).cancel()
            for uid, pod in pods.items():
                if uid not in lives and pod["status"]["phase"] == "Pending":
                    lives[uid] = tasks.create_task(self._live(api, pod))
                if "deletionTimestamp" in pod["metadata"] and uid not in leaving:
                    leaving.add(uid)
                    tasks.create_task(self._end(api, pod, lives.get(uid)))

    async def _live(self, api: Api, pod: Object) -> None:
        """Run the command of a pod and write what came of it."""
        writes, started = KubeletWrites(api), pod_statuses.timestamp()
        if pod["spec"]["containers"][0]["image"].startswith("missing"):
            await writes.patch_pod(pod, pod_statuses.waiting(pod, "ImagePullBackOff", "no such image"))
            return
        directory = self._room / name_of(pod)
        await self._mount(api, pod, directory)
        child = self.processes[name_of(pod)] = self._child(pod, directory)
        child.start()
        try:
            await writes.patch_pod(pod, pod_statuses.running(pod, "127.0.0.1", started, ready=True, restarts=0))
            while child.is_running:  # noqa: ASYNC110 - what says so is in another thread
                await asyncio.sleep(_PAUSE)
        finally:
            child.kill()
        ended = pod_statuses.ended(pod, started, child.wait(1), restarts=0)
        message = directory / "message"
        if message.exists():
            over = ended["containerStatuses"][0]["state"]["terminated"]
            over["message"] = message.read_bytes()[:_LONGEST].decode()
        await writes.patch_pod(pod, ended)

    async def _end(self, api: Api, pod: Object, life: asyncio.Task[None] | None) -> None:
        """A pod is deleted: its process ends as a failure, unless it was over."""
        writes = KubeletWrites(api)
        if life is not None and not life.done():
            life.cancel()
            await writes.patch_pod(pod, pod_statuses.ended(pod, pod_statuses.timestamp(), 137, restarts=0))
        await writes.delete_pod(pod)

    async def _mount(self, api: Api, pod: Object, directory: Path) -> None:
        volumes = {each["name"]: each for each in pod["spec"].get("volumes", ())}
        for mount in pod["spec"]["containers"][0].get("volumeMounts", ()):
            place = directory / mount["mountPath"].strip("/")
            place.mkdir(parents=True)
            for source in volumes[mount["name"]]["projected"]["sources"]:
                path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/configmaps/{source['configMap']['name']}"
                found: Object = await api.read(path, {}, _json)
                for name, content in found["binaryData"].items():
                    (place / name).write_bytes(base64.b64decode(content))

    def _child(self, pod: Object, directory: Path) -> Child:
        """The process, not started."""
        container = pod["spec"]["containers"][0]
        paths = {
            each["mountPath"]: str(directory / each["mountPath"].strip("/"))
            for each in container.get("volumeMounts", ())
        }
        paths[container["terminationMessagePath"]] = str(directory / "message")
        program, *arguments = container["command"]
        assert program == "restow"
        environment = ENVIRONMENT | {"JOB_COMPLETION_INDEX": pod["metadata"]["annotations"][_INDEX]}
        command = (*RESTOW, *(paths.get(each, each) for each in arguments))
        return Child(command, self._room / f"{name_of(pod)}.log", environment=environment)


def _json(body: bytes) -> Any:
    import json

    return json.loads(body)
