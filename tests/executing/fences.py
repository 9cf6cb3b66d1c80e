"""Nodes in memory whose taints are patched as an API server does it, and what our watch shows of them a moment later."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from builders.json_patches import patched_taints
from client.test_leader_election import Store, Wire
from restow.client.errors import Forbidden, NotFound
from restow.client.leader_election import Election
from restow.client.transport import Call, Permit, always
from restow.cluster.closed_nodes import FencedNode, fenced_nodes
from restow.executing.fencing import TIMING, Fencing, Unfencing
from restow.kube.objects import Node, Taint
from restow.kube.objects.cluster_objects import NodeSpec
from restow.kube.objects.metadata import ObjectMeta

OTHER = Taint("other", "x", "NoExecute")


def now() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Nodes:
    """An ``Api`` as far as patches of nodes go, and a ``NodesNow``."""

    taints: dict[str, list[Taint]]
    #: Seconds until the watch shows a change; infinity if it never does.
    lag: float = 0.05
    #: Nodes that may not be written.
    forbidden: set[str] = field(default_factory=set)
    store: Store = field(default_factory=Store)
    #: Of each patch: the node, and what was done.
    patches: list[tuple[str, list[Any]]] = field(default_factory=list)
    removed: int = 0
    stood: list[tuple[int, float]] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    _shown: dict[str, tuple[Taint, ...]] = field(default_factory=dict)

    @staticmethod
    def of(*names: str, taints: Sequence[Taint] = (), **features: Any) -> Nodes:
        return Nodes({name: list(taints) for name in names}, **features)

    async def send(self, call: Call, *, permit: Permit | None = None) -> bytes:
        await asyncio.sleep(0.01)
        assert permit is None or permit() > 0
        name = call.path.rpartition("/")[2]
        assert call.body is not None
        operations = json.loads(call.body)
        self.patches.append((name, operations))
        if name in self.forbidden:
            raise Forbidden(403, "Forbidden", "no")
        if name not in self.taints:
            raise NotFound(404, "NotFound", "no such node")
        self.put(name, _patched(self.taints[name], operations))
        return b"{}"

    def put(self, name: str, taints: Sequence[Taint]) -> None:
        """Whoever does it: the watch shows it later."""
        self._shown.setdefault(name, tuple(self.taints.get(name, ())))
        self.taints[name] = list(taints)
        if self.lag < float("inf"):
            asyncio.get_running_loop().call_later(self.lag, self._shown.__setitem__, name, tuple(taints))

    def shown(self, name: str) -> tuple[Taint, ...]:
        return self._shown.get(name, tuple(self.taints[name]))

    def fences(self) -> list[FencedNode]:
        nodes = (Node(ObjectMeta(name=name), NodeSpec(taints=self.shown(name))) for name in sorted(self.taints))
        return list(fenced_nodes(nodes))

    def has_taints(self, node: str) -> bool | None:
        return bool(self.shown(node)) if node in self.taints else None

    async def wait_for(self, predicate: Callable[[], bool], deadline: float) -> bool:
        while not predicate():
            if now() >= deadline:
                return False
            await asyncio.sleep(0.01)
        return True

    def fences_stand(self, nodes: int, seconds: float) -> None:
        self.stood.append((nodes, seconds))

    def fences_removed(self, nodes: int) -> None:
        self.removed += nodes

    def election(self, name: str) -> Callable[[], Election]:
        numbers = iter(range(1000))
        return lambda: Election(Wire(self.store), f"{name}-{next(numbers)}", TIMING, now)

    def fencing(self, permit: Permit = always) -> Fencing:
        api: Any = self
        return Fencing(api, permit, self, self.election("fencing"), "host", "kube-system", lambda: 0.0)

    def keeper(self, fencing: Fencing | None = None) -> Unfencing:
        api: Any = self
        return Unfencing(api, self, self.election("keeper"), self.said.append, self, fencing)


def _patched(taints: Sequence[Taint], operations: list[Any]) -> list[Taint]:
    return [Taint(**each) for each in patched_taints(map(structs.asdict, taints), operations)]
