"""One pod of a process kubelet, from its binding to its deletion."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from builders import Object
from e2e import pod_statuses
from e2e.kubelet_writes import KubeletWrites
from e2e.pod_network import free_address
from e2e.pod_process import PodProcess
from restow.kube.duration import SECOND, parse_duration

READY_DELAY = "test/ready-delay"
_DEFAULT_DELAY = "2s"
_DEFAULT_GRACE = 30.0
#: Seconds between two probes of a pod that is not ready yet, and of one that is.
_PROBES: Mapping[bool, float] = {False: 0.1, True: 1.0}


class PodLife:
    """Runs the process of a pod and keeps its status true; started again if it ends by itself."""

    def __init__(self, pod: Object, writes: KubeletWrites, log: Path) -> None:
        self._pod = pod
        self._writes = writes
        self._log = log
        self._leaving = asyncio.Event()
        self._address = pod["status"].get("podIP") or free_address()
        self._started = pod_statuses.timestamp()
        self._restarts = 0
        self._process = self._new_process()

    @property
    def pid(self) -> int:
        """The process. RuntimeError if it is not running."""
        return self._process.pid

    def changed(self, pod: Object) -> None:
        """The API server has this state of the pod now."""
        self._pod = pod
        if "deletionTimestamp" in pod["metadata"]:
            self._leaving.set()

    async def run(self) -> None:
        """Return when the pod is deleted; no process is left, even if this is cancelled."""
        try:
            while not self._leaving.is_set():
                await self._run_process()
            await self._end()
        finally:
            self._process.kill()

    async def _run_process(self) -> None:
        """Start the process and write its readiness until it ends or the pod is deleted."""
        self._process.start()
        ready = False
        await self._write_running(ready=ready)
        while not await self._process.ends_within(_PROBES[ready], unless=self._leaving):
            if self._leaving.is_set():
                return
            if await self._process.is_ready() != ready:
                ready = not ready
                await self._write_running(ready=ready)
        self._restarts += 1
        self._process = self._new_process()

    async def _end(self) -> None:
        """The pod is deleted: end the process in time, then remove the object."""
        grace = float(self._pod["metadata"].get("deletionGracePeriodSeconds", _DEFAULT_GRACE))
        pause = min(_pause_of(self._pod), grace)
        await asyncio.sleep(pause)
        stopping = asyncio.create_task(self._process.stop(grace - pause))
        await self._writes.patch_pod(self._pod, pod_statuses.not_ready())
        status = await stopping
        ended = pod_statuses.ended(self._pod, self._started, status, restarts=self._restarts)
        await self._writes.patch_pod(self._pod, ended)
        await self._writes.delete_pod(self._pod)

    async def _write_running(self, *, ready: bool) -> None:
        status = pod_statuses.running(self._pod, self._address, self._started, ready=ready, restarts=self._restarts)
        await self._writes.patch_pod(self._pod, status)

    def _new_process(self) -> PodProcess:
        return PodProcess(self._address, _delay_of(self._pod), self._log)


def _delay_of(pod: Object) -> float:
    """Seconds from the start of a process until it answers."""
    given = pod["metadata"].get("annotations", {}).get(READY_DELAY, _DEFAULT_DELAY)
    return parse_duration(given) / SECOND


def _pause_of(pod: Object) -> float:
    """Seconds from the deletion to SIGTERM: ``preStop.sleep`` of the first container."""
    hook = pod["spec"]["containers"][0].get("lifecycle", {}).get("preStop", {})
    return float(hook.get("sleep", {}).get("seconds", 0))
