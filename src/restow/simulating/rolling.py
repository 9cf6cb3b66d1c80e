"""Rollouts in a simulated cluster: the Deployment makes its one pod anew, by its own strategy.

They are those of ``executing.rolling``, without the gate: the simulated scheduler places the new pod where it wants.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import msgspec
from msgspec import structs

from restow.cluster.pod_values import PodNow
from restow.executing.rolling import ANNOTATION, reason_against
from restow.executing.task import Task
from restow.kube.manifests import Deployment, ReplicaSet
from restow.kube.objects import OwnerReference
from restow.simulating.api_server.changes import with_spec
from restow.simulating.api_server.indexes import Key, key_of
from restow.simulating.api_server.store import Store

#: Seconds between two looks at the Deployment, between two at the ReplicaSets, and how many of these there are.
_WATCH: Final = 1.0
_PAUSE: Final = 0.1
_LOOKS: Final = 100

_Annotations = dict[str, str] | None


class _Begun(NamedTuple):
    """A Deployment that is rolled out, and what its template carried before."""

    key: Key
    mark: str
    before: _Annotations


@dataclass(slots=True)
class SimulatedRollouts:
    """A ``ReplacesFirst``."""

    store: Store
    #: Called with a task whose pod is about to go, and the name of its replacement.
    replaced: Callable[[Task, str], None]
    #: By the number of the task.
    _begun: dict[int, _Begun] = field(default_factory=dict, init=False)

    async def begin(self, task: Task) -> Task | str:
        """Change the template; return the task with the new ReplicaSet as its controller, or why that cannot be done."""
        found = self._deployment_of(task)
        if found is None:
            return "its workload is not rolled out: it is gone"
        if (why := reason_against(msgspec.to_builtins(found))) is not None:
            return f"its Deployment {found.metadata.name} {why}"
        before = found.spec.template.metadata.annotations
        begun = self._begun[task.number] = _Begun(key_of(found), task.move.pod.uid, before)
        self._give(found, {**(before or {}), ANNOTATION: begun.mark})
        for _ in range(_LOOKS):
            if (made := self._made(begun)) is not None:
                owner = OwnerReference("ReplicaSet", made.metadata.name, made.metadata.uid, controller=True)
                return structs.replace(task, owner=owner, gate="")
            await asyncio.sleep(_PAUSE)
        await self.undo(task, None)
        return "its Deployment has made no ReplicaSet of its new template"

    async def taken_back(self, task: Task) -> str:
        """Look at the template now and then, until it is another one."""
        begun = self._begun[task.number]
        while True:
            if _mark_of(self.store.get("Deployment", *begun.key)) != begun.mark:
                return "somebody has changed its template"
            await asyncio.sleep(_WATCH)

    async def finish(self, task: Task, pod: PodNow) -> str | None:
        """Wait until the new pod is available: then the controller takes the old one away."""
        found: Deployment | None = self.store.get("Deployment", *self._begun.pop(task.number).key)
        self.replaced(task, pod.name)
        await asyncio.sleep(found.spec.min_ready_seconds if found else 0)
        return None

    async def undo(self, task: Task, _pod: PodNow | None) -> None:
        """Give the template what it carried before; what somebody else has written stays."""
        begun = self._begun.pop(task.number, None)
        found: Deployment | None = None if begun is None else self.store.get("Deployment", *begun.key)
        if begun is not None and found is not None and _mark_of(found) == begun.mark:
            self._give(found, begun.before)

    async def clean(self) -> None:
        """Nothing is ever left in a simulation."""

    def _deployment_of(self, task: Task) -> Deployment | None:
        """The Deployment of a task's pod; None if there is none."""
        namespace = task.move.pod.namespace
        owner = None if task.owner is None else self.store.get("ReplicaSet", namespace, task.owner.name)
        above = None if owner is None else owner.metadata.controller
        found: Deployment | None = None if above is None else self.store.get("Deployment", namespace, above.name)
        return found

    def _made(self, begun: _Begun) -> ReplicaSet | None:
        """The ReplicaSet of the changed template."""
        sets: list[ReplicaSet] = list(self.store.list("ReplicaSet", begun.key[0]))
        return next((each for each in sets if _mark_of(each) == begun.mark), None)

    def _give(self, found: Deployment, annotations: _Annotations) -> None:
        template = found.spec.template
        metadata = structs.replace(template.metadata, annotations=annotations)
        self.store.update(with_spec(found, template=structs.replace(template, metadata=metadata)))


def _mark_of(found: Deployment | ReplicaSet | None) -> str | None:
    """What the template of a workload carries."""
    return None if found is None else (found.spec.template.metadata.annotations or {}).get(ANNOTATION)
