"""Surges in a simulated cluster: the controller makes one pod more, and the pod that moves goes once that is ready.

They are those of ``executing.surging``, as far as a simulation has what these look at: it knows no Services, and no
owners of fields. The annotation that records a surge tells the observer that the workload does not want the pod for itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from restow.cluster.pod_values import PodNow
from restow.executing.surged_workloads import ANNOTATION, COST_SEEN, FIRST_TO_GO, autoscaled, reason_against
from restow.executing.task import Task
from restow.kube.manifests import Metadata, Other, Pod, kind_of
from restow.simulating.api_server.changes import with_metadata, with_spec
from restow.simulating.api_server.indexes import Key, key_of
from restow.simulating.api_server.store import Store
from restow.workloads.controllers import DELETION_COST

#: Seconds between two looks whether a surge is taken back.
_WATCH: Final = 1.0
_TAKEN_BACK: Final = "somebody has set its replicas to another number"
_AUTOSCALER: Final = "HorizontalPodAutoscaler"


class _Begun(NamedTuple):
    """A workload with one pod more, how many it wants, and the deletion cost that the pod had."""

    kind: str
    key: Key
    replicas: int
    cost: str | None


@dataclass(slots=True)
class SimulatedSurges:
    """A ``ReplacesFirst``."""

    store: Store
    #: Called with a task whose pod is about to go, and the name of its replacement.
    replaced: Callable[[Task, str], None]
    #: By the number of the task.
    _begun: dict[int, _Begun] = field(default_factory=dict, init=False)

    async def begin(self, task: Task) -> Task | str:
        """Raise the number of replicas by one; return why that cannot be done."""
        namespace, name = task.move.pod.namespace, task.move.pod.name
        pod, found = self.store.get("Pod", namespace, name), self._workload(task)
        if pod is None or found is None:
            return "its workload gets no pod more: it is gone"
        kind = kind_of(found)
        why = autoscaled(self._autoscalers(namespace), kind, found.metadata.name)
        why = why or reason_against(kind, msgspec.to_builtins(found))
        if why is not None:
            return f"its {kind} {found.metadata.name} {why}"
        replicas = found.spec.replicas
        self._begun[task.number] = _Begun(kind, key_of(found), replicas, _annotations(pod).get(DELETION_COST))
        self.store.update(with_spec(_annotated(found, ANNOTATION, name), replicas=replicas + 1))
        return task

    async def taken_back(self, task: Task) -> str:
        """Look at the number of replicas now and then, until it is another one."""
        while True:
            if not self._is_raised(self._begun[task.number]):
                return _TAKEN_BACK
            await asyncio.sleep(_WATCH)

    async def finish(self, task: Task, pod: PodNow) -> str | None:
        """Have the old pod go, once the new one has been ready for long enough."""
        surge, old = self._begun[task.number], (task.move.pod.namespace, task.move.pod.name)
        found = self.store.get(surge.kind, *surge.key)
        await asyncio.sleep(found.spec.min_ready_seconds if found else 0)
        self._set_cost(old, FIRST_TO_GO)
        await asyncio.sleep(COST_SEEN)
        del self._begun[task.number]
        if not self._is_raised(surge):
            self._set_cost(old, surge.cost)
            self._lower(surge)
            return _TAKEN_BACK
        self.replaced(task, pod.name)
        self._lower(surge)
        return None

    async def undo(self, task: Task, pod: PodNow | None) -> None:
        """Have the new pod go, if there is one, and the old one stay."""
        surge = self._begun.pop(task.number, None)
        if surge is None:
            return
        if pod is not None:
            self._set_cost((pod.namespace, pod.name), FIRST_TO_GO)
        self._set_cost((task.move.pod.namespace, task.move.pod.name), surge.cost)
        await asyncio.sleep(COST_SEEN)
        if pod is not None and not self._is_raised(surge):
            self._set_cost((pod.namespace, pod.name), None)
        self._lower(surge)

    async def clean(self) -> None:
        """Nothing is ever left in a simulation."""

    def _workload(self, task: Task) -> Any:
        """The Deployment of a task's pod, or its ReplicaSet without one; None if it is gone.

        A simulation has no Argo, so nobody sets the replicas of a Rollout's ReplicaSet.
        """
        namespace = task.move.pod.namespace
        owner = None if task.owner is None else self.store.get("ReplicaSet", namespace, task.owner.name)
        above = None if owner is None else owner.metadata.controller
        if above is None or above.kind != "Deployment":
            return owner
        return self.store.get("Deployment", namespace, above.name)

    def _autoscalers(self, namespace: str) -> list[dict[str, Any]]:
        found: list[Other] = list(self.store.list(_AUTOSCALER, namespace))
        return [{**each.content, "metadata": {"name": each.metadata.name}} for each in found]

    def _set_cost(self, key: Key, cost: str | None) -> None:
        pod: Pod | None = self.store.get("Pod", *key)
        if pod is not None:
            self.store.update(_annotated(pod, DELETION_COST, cost))

    def _is_raised(self, surge: _Begun) -> bool:
        found = self.store.get(surge.kind, *surge.key)
        return found is not None and found.spec.replicas == surge.replicas + 1

    def _lower(self, surge: _Begun) -> None:
        """The number of replicas before the surge; somebody else's stays."""
        found = self.store.get(surge.kind, *surge.key)
        if found is None:
            return
        wanted = surge.replicas if self._is_raised(surge) else found.spec.replicas
        self.store.update(with_spec(_annotated(found, ANNOTATION, None), replicas=wanted))


def wanted_without_surge(workload: Any) -> int:
    """The replicas that a workload wants for itself."""
    return int(workload.spec.replicas) - (ANNOTATION in _annotations(workload))


def _annotations(manifest: Any) -> dict[str, str]:
    metadata: Metadata = manifest.metadata
    return metadata.annotations or {}


def _annotated(manifest: Any, key: str, value: str | None) -> Any:
    """The object with an annotation, or without it."""
    kept = {name: said for name, said in _annotations(manifest).items() if name != key}
    return with_metadata(manifest, annotations=kept if value is None else {**kept, key: value})
