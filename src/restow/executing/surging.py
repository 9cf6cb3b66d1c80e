"""Surges: the controller makes one pod more, and when that is ready the pod that moves goes, without an eviction.

A workload with one replica is down between the eviction and the moment when its replacement is ready. In a surge it is
not: ``spec.replicas`` of the Deployment (or of Argo's Rollout, or of a ReplicaSet without either) is raised by one, the new pod is steered like
any replacement, and once it is ready and every Service of the old pod has it as a ready endpoint, the old pod gets the
lowest deletion cost and ``spec.replicas`` its value back. The controller then deletes the old pod. If anything goes wrong
before, the new pod goes and the old one stays.

Source: ReplicaSet's choice of the pods that go (ActivePodsWithRanks), Kubernetes 1.36: of pods that are equally ready,
the one with the lowest ``controller.kubernetes.io/pod-deletion-cost`` goes first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from restow.client.errors import Conflict, NotPermitted
from restow.client.objects import ObjectRef
from restow.client.resources import RESOURCES
from restow.client.transport import Api, Permit
from restow.cluster.pod_values import PodNow
from restow.errors import ClientError
from restow.executing.ending_surges import end_all
from restow.executing.surged_workloads import (
    COST_SEEN,
    FIRST_TO_GO,
    Surge,
    SurgeRecord,
    SurgeRefusedError,
    lower_replicas,
    raise_replicas,
    read,
    reason_against,
    refuse_autoscaled,
    refuse_without_quota,
    retire,
    services_of,
    set_cost,
    wait_until_gone,
    workload_of,
)
from restow.executing.surroundings import Clock, elapsed
from restow.executing.task import Task
from restow.kube.timestamps import SECOND, format_time
from restow.workloads.controllers import DELETION_COST

#: How often a change is tried: one that another program's change has outdated, and one that puts a number back.
_TRIES: Final = 5
#: Seconds before a number is put back once more.
_AGAIN: Final = 2.0
#: Seconds between two looks whether a surge is taken back.
_WATCH: Final = 1.0
#: Seconds: between two looks, and until Services have a new endpoint.
_PAUSE, _ENDPOINTS = 0.2, 30.0


@dataclass(slots=True)
class Surging:
    """Surges through an API server; a ``ReplacesFirst``."""

    api: Api
    permit: Permit
    #: What time it is in the cluster.
    clock: Clock
    #: Logs a warning.
    warn: Callable[[str], None]
    #: By the number of the task.
    _open: dict[int, Surge] = field(default_factory=dict, init=False)
    #: Likewise, those whose old pod is to go.
    _going: dict[int, Surge] = field(default_factory=dict, init=False)
    #: Whether no surge is known to be left by others.
    _is_clean: bool = field(default=False, init=False)

    async def begin(self, task: Task) -> Task | str:
        """Raise the number of replicas by one; return why that cannot be done, and then nothing has changed."""
        try:
            return await self._begun(task)
        except SurgeRefusedError as refused:
            self._open.pop(task.number, None)
            return str(refused)
        except NotPermitted:
            raise
        except ClientError as error:
            if task.number in self._open:
                await self.undo(task, None)
            return f"its workload gets no pod more: {error}"

    async def _begun(self, task: Task) -> Task | str:
        """Raise the number once nothing changes between reading and writing; why that does not happen."""
        for _ in range(_TRIES):
            self._open[task.number], found = await self._planned(task)
            with suppress(Conflict):
                await raise_replicas(self.api, self._open[task.number], found, self.permit)
                return task
        del self._open[task.number]
        return "its workload gets no pod more: it changes all the time"

    async def _planned(self, task: Task) -> tuple[Surge, Mapping[str, Any]]:
        """The surge of a task, and its workload as it is; SurgeRefusedError."""
        resource, found = await workload_of(self.api, task)
        namespace, pod = task.move.pod.namespace, task.move.pod
        await refuse_autoscaled(self.api, resource.kind, namespace, found["metadata"]["name"])
        if (why := reason_against(resource.kind, found)) is not None:
            raise SurgeRefusedError(f"its {resource.kind} {found['metadata']['name']} {why}")
        moving = await read(self.api, RESOURCES["Pod"], namespace, pod.name)
        await refuse_without_quota(self.api, namespace, moving)
        cost = (moving["metadata"].get("annotations") or {}).get(DELETION_COST)
        record = SurgeRecord(
            pod.name, pod.uid, found["spec"].get("replicas", 1), format_time(int(self.clock() * SECOND)), cost
        )
        services = await services_of(self.api, namespace, pod.uid)
        min_ready = int(found["spec"].get("minReadySeconds") or 0)
        return Surge(resource, namespace, found["metadata"]["name"], record, min_ready, services), found

    async def taken_back(self, task: Task) -> str:
        """Look at the number of replicas now and then, until it is another one."""
        surge = self._open[task.number]
        while True:
            await asyncio.sleep(_WATCH)
            try:
                found = await read(self.api, surge.resource, surge.namespace, surge.name)
            except SurgeRefusedError as refused:
                return str(refused)
            except ClientError:
                continue
            if (replicas := found["spec"].get("replicas", 1)) != surge.record.replicas + 1:
                return f"somebody has set the replicas of {surge} to {replicas}"

    async def finish(self, task: Task, pod: PodNow) -> str | None:
        """Wait until Services have the new pod, and have the old one go."""
        surge = self._open[task.number]
        try:
            await asyncio.sleep(surge.min_ready)
            if (missing := await self._without(surge, pod)) is not None:
                return f"{pod.name} was not a ready endpoint of Service {missing} within {_ENDPOINTS:.0f} s"
            is_retired = await retire(self.api, surge, self.permit)
        except NotPermitted:
            raise
        except (SurgeRefusedError, ClientError) as error:
            return f"{surge} keeps its pods: {error}"
        del self._open[task.number]
        if is_retired:
            self._going[task.number] = surge
        return None if is_retired else f"somebody has set the replicas of {surge} to another number"

    async def _without(self, surge: Surge, pod: PodNow) -> str | None:
        """The first Service of the old pod that does not get the new one as a ready endpoint; None if all do."""
        deadline = elapsed() + _ENDPOINTS
        missing = surge.services
        while missing and (missing := missing - await services_of(self.api, surge.namespace, pod.uid, missing)):
            if elapsed() > deadline:
                return min(missing)
            await asyncio.sleep(_PAUSE)
        return None

    async def undo(self, task: Task, pod: PodNow | None) -> None:
        """Give the workload its number back, so that the new pod goes; or the old pod its deletion cost if it has not gone."""
        if (going := self._going.pop(task.number, None)) is not None:
            await self._keep(going)
        surge = self._open.pop(task.number, None)
        if surge is None:
            return
        new = None if pod is None else ObjectRef(pod.namespace, pod.name, pod.uid)
        for tries in range(1, _TRIES + 1):
            try:
                await self._put_back(surge, new)
            except ClientError as error:
                if tries == _TRIES or isinstance(error, NotPermitted):
                    self._is_clean = False
                    self.warn(f"{surge} has one pod more than it is to have, until restow looks again: {error}")
                    return
            else:
                return
            await asyncio.sleep(_AGAIN)

    async def _keep(self, surge: Surge) -> None:
        try:
            await set_cost(self.api, surge.pod, surge.record.cost, self.permit)
        except ClientError as error:
            self.warn(
                f"pod {surge.namespace}/{surge.record.pod} stays, and is still the first to go of {surge}: {error}"
            )

    async def _put_back(self, surge: Surge, new: ObjectRef | None) -> None:
        if new is not None:
            await set_cost(self.api, new, FIRST_TO_GO, self.permit)
        await set_cost(self.api, surge.pod, surge.record.cost, self.permit)
        await asyncio.sleep(COST_SEEN)
        is_lowered = await lower_replicas(self.api, surge, self.permit)
        if new is None:
            return
        if is_lowered:
            await wait_until_gone(self.api, new, None, self.permit)
        else:
            # Somebody else decides now which pods stay.
            await set_cost(self.api, new, None, self.permit)

    async def clean(self) -> None:
        """End the surges that others have left, or that could not be undone. Looks once, and again after failures."""
        if self._is_clean:
            return
        try:
            ended = await end_all(self.api, self.warn, self.permit)
        except ClientError as error:
            self.warn(f"surges that may be under way were not looked for: {error}")
            return
        self._is_clean = not ended.problems
        for problem in ended.problems:
            self.warn(problem)
        for each in ended.workloads:
            self.warn(f"{each} was in the middle of a surge, which has been ended")
