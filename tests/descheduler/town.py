"""A small cluster that decisions are made on and evictions act on: controllers and a scheduler, in virtual time."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from builders import Object, a_condition
from restow.client import eviction
from restow.cluster.nodes import NodeRow
from restow.cluster.pod_values import PodNow
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore
from restow.executing.task import Task
from restow.kube.objects import KINDS, OwnerReference
from restow.kube.timestamps import format_time
from restow.live.cluster import Touch
from restow.live.reflector import TRUSTED
from restow.workloads.controllers import wanted_replicas

#: Seconds that an eviction takes, and until a replacement has a node.
_LATENCY, _PLACED = 0.1, 0.2


@dataclass
class Town:
    """A ``LiveCluster`` and an ``Evicting``; its objects are those of builders."""

    #: The node of the replacement of a pod.
    land: Callable[[Task], str] = lambda task: str(task.move.target)
    #: Seconds since anything was heard of it.
    silent: float = 0.0
    #: Kinds that are not known any more.
    hidden: frozenset[str] = frozenset()
    interruptions: int = 0
    #: Seconds until a replacement that has a node is ready.
    ready_after: float = 1.0
    #: Answers instead of evictions, by pod, each once.
    answers: dict[str, eviction.Outcome] = field(default_factory=dict)
    #: Called before each eviction.
    on_ask: Callable[[Task], None] = lambda _: None
    #: Names of pods that were asked for, in order, and the kinds that were added.
    asked: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    #: Seconds of samples of usage that are kept, and their distance.
    kept_usage: tuple[int, int] = (0, 0)
    #: Of the API server.
    server_minor: int | None = None
    listeners: list[Touch] = field(default_factory=list)
    _store: ClusterStore = field(default_factory=ClusterStore)
    _pods: dict[str, Object] = field(default_factory=dict)
    _made: int = 0

    def put(self, *objects: Object) -> Town:
        """Create or replace."""
        for each in objects:
            kind = each["kind"]
            self._store.add(kind, [msgspec.json.decode(msgspec.json.encode(each), type=KINDS[kind])])
            self._touch(kind, each["metadata"].get("namespace", ""), each["metadata"]["name"])
            if kind == "Pod":
                self._pods[each["metadata"]["name"]] = each
        return self

    def _touch(self, kind: str, namespace: str, name: str) -> None:
        for listener in self.listeners:
            listener(kind, [(namespace, name)])

    @property
    def store(self) -> ClusterStore:
        return self._store

    @property
    def not_known(self) -> frozenset[str]:
        return self.hidden

    def nodes_of_pods(self) -> dict[str, str]:
        """Where each pod is."""
        return {name: pod["spec"].get("nodeName", "") for name, pod in self._pods.items()}

    def snapshot(self) -> ClusterSnapshot:
        return self._store.snapshot().without(self.hidden)

    def pod(self, namespace: str, name: str) -> PodNow | None:
        return self._store.pod(namespace, name)

    def pods_of(self, namespace: str, owner: str) -> list[PodNow]:
        return self._store.pods_of(namespace, owner)

    def takes_pods(self, node: str) -> bool:
        return self._store.takes_pods(node)

    def node_row(self, node: str) -> NodeRow | None:
        found = self._store.node(node)
        return None if found is None else found.row

    def opt_out(self, namespace: str) -> str | None:
        return self._store.opt_out(namespace)

    def replicas(self, namespace: str, owner: OwnerReference) -> int | None:
        return wanted_replicas(self._store.other(owner.kind, namespace, owner.name), owner)

    def has_room(self, budget: str) -> bool:
        return self._store.has_room(budget)

    def unknown(self, kinds: Iterable[str]) -> str | None:
        if self.silent > TRUSTED:
            return f"the API server has not reported on nodes for {self.silent:.0f} s"
        return next((f"nobody knows of {kind}" for kind in kinds if kind in self.hidden), None)

    def keep_usage(self, window: int, spacing: int) -> None:
        self.kept_usage = (window, spacing)

    def add(self, kinds: Sequence[str]) -> None:
        self.added += kinds

    async def wait_ready(self, deadline: float) -> bool:
        return True

    async def wait_for(self, predicate: Callable[[], bool], deadline: float) -> bool:
        return predicate()

    async def evict(self, task: Task) -> eviction.Outcome:
        name = task.move.pod.name
        self.asked.append(name)
        self.on_ask(task)
        await asyncio.sleep(_LATENCY)
        if name in self.answers:
            return self.answers.pop(name)
        old = self._pods.pop(name)
        self._store.remove("Pod", task.move.pod.namespace, name)
        self._touch("Pod", task.move.pod.namespace, name)
        self._replace(old, self.land(task))
        return eviction.EvictionAccepted()

    def _replace(self, old: Object, node: str) -> None:
        self._made += 1
        new = copy.deepcopy(old)
        new["metadata"] |= {"name": f"new-{self._made}", "uid": f"uid-new-{self._made}"}
        new["metadata"]["creationTimestamp"] = format_time(time.time_ns())
        new["spec"].pop("nodeName")
        new["status"] = {"phase": "Pending"}
        self.put(new)
        loop = asyncio.get_running_loop()
        loop.call_later(_PLACED, self._become, new, {"nodeName": node}, {"phase": "Running"})
        ready = {"phase": "Running", "conditions": [READY]}
        loop.call_later(_PLACED + self.ready_after, self._become, new, {"nodeName": node}, ready)

    def _become(self, pod: Object, spec: dict[str, Any], status: dict[str, Any]) -> None:
        if pod["metadata"]["name"] in self._pods:
            self.put(pod | {"spec": pod["spec"] | spec, "status": status})


READY = a_condition("Ready", "True")
