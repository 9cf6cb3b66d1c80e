"""An operator and its cluster, on an API server in memory.

scene = Scene().with_resource("LongLifecycle", mode="Automatic")
scene.sync()
scene.condition("Degraded")
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from builders import Object
from builders.kubedeschedulers import INSTALLED, an_object
from builders.memory_api import MemoryApi, failing_from
from restow.client.transport import always
from restow.daemon.logs import Log
from restow.operator.applying import Writing
from restow.operator.facts import Installation
from restow.operator.resource import NAMESPACE
from restow.operator.syncing import FINALIZER, Operator, leave, sync

NAMESPACES = f"/api/v1/namespaces/{NAMESPACE}"
RESOURCE = f"/apis/operator.openshift.io/v1/namespaces/{NAMESPACE}/kubedeschedulers/cluster"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/descheduler"
CONFIG = f"{NAMESPACES}/configmaps/cluster"
PLAN = f"{NAMESPACES}/configmaps/descheduler-plan"
BINDING = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/openshift-descheduler-operand"


@dataclass
class Scene:
    """A cluster with a resource, and an operator."""

    api: MemoryApi = field(default_factory=MemoryApi)
    log: io.StringIO = field(default_factory=io.StringIO)
    installation: Installation = INSTALLED

    def __post_init__(self) -> None:
        for name in ("default", "shop", "kube-system", NAMESPACE):
            self.api.put(f"/api/v1/namespaces/{name}", {"metadata": {"name": name}})
        self.api.put("/apis/scheduling.k8s.io/v1/priorityclasses/high", {"metadata": {"name": "high"}, "value": 1000})

    def with_resource(self, *profiles: str, **spec: Any) -> Scene:
        thing = an_object(*profiles, **spec)
        before = self.api.stored.get(RESOURCE, {"metadata": {"generation": 0}})
        thing["metadata"] |= {"uid": "u-1", "finalizers": [FINALIZER]}
        thing["metadata"]["generation"] = before["metadata"]["generation"] + 1
        self.api.put(RESOURCE, {**thing, "status": before.get("status", {})})
        return self

    @property
    def operator(self) -> Operator:
        api: Any = self.api
        return Operator(Writing(api, NAMESPACE, always, Log(self.log, "text", 4)), self.installation)

    def sync(self) -> list[tuple[str, str]]:
        """What one sync writes."""
        return self._written(sync)

    def leave(self) -> list[tuple[str, str]]:
        return self._written(leave)

    def _written(self, work: Callable[[Operator], Awaitable[None]]) -> list[tuple[str, str]]:
        self.api.written.clear()
        asyncio.run(work(self.operator))  # type: ignore[arg-type]
        return list(self.api.written)

    def failing(self, number: int) -> None:
        self.api.trouble = failing_from(number)

    def healed(self) -> None:
        self.api.trouble = lambda *_: None

    @property
    def status(self) -> Object:
        found: Object = self.api.stored[RESOURCE]["status"]
        return found

    def condition(self, kind: str) -> tuple[str, str, str]:
        (found,) = (each for each in self.status["conditions"] if each["type"] == kind)
        return found["status"], found["reason"], found["message"]

    def made(self) -> dict[str, Object]:
        label = "app.kubernetes.io/managed-by"
        return {
            path: thing for path, thing in self.api.stored.items() if thing["metadata"].get("labels", {}).get(label)
        }
