"""A cluster whose changes come one by one, as a watch brings them, in virtual time."""

from __future__ import annotations

from typing import Any

import msgspec

from builders import Object, a_condition, a_pod
from builders.workloads import a_replica_set
from restow.cluster.pod_values import PodNow
from restow.cluster.snapshot import ClusterSnapshot, ClusterStore, Key
from restow.kube.objects import KINDS, OwnerReference
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE
from restow.shadowing.evictions import EvictionWatch
from restow.shadowing.forecasts import Forecast
from restow.shadowing.outcomes import ForeignEviction

EVICTED = a_condition("DisruptionTarget", "True", reason="EvictionByEvictionAPI")
READY = a_condition("Ready", "True")
#: Seconds since the epoch.
START = 1_790_000_000.0


class WatchedCluster:
    """Objects, and an ``EvictionWatch`` that sees each change."""

    def __init__(self, *objects: Object) -> None:
        self.store = ClusterStore()
        self.now = START
        self._snapshot: ClusterSnapshot | None = None
        for kind in KINDS:
            self.store.add(kind, [_read(each) for each in objects if each["kind"] == kind])
        self.watch = EvictionWatch(self, (DEFAULT_PROFILE,), lambda: self.now)
        self.watch.begin()

    def snapshot(self) -> ClusterSnapshot:
        return self.store.snapshot()

    def pod(self, namespace: str, name: str) -> PodNow | None:
        return self.store.pod(namespace, name)

    def pods_of(self, namespace: str, owner: str) -> list[PodNow]:
        return self.store.pods_of(namespace, owner)

    def put(self, *objects: Object, after: float = 0.0) -> None:
        """Objects come or change, one after the other; each a while after what was before."""
        for each in objects:
            self.now += after
            self.store.add(each["kind"], [_read(each)])
            self.watch.touch(each["kind"], [_key(each)])

    def delete(self, each: Object) -> None:
        self.store.remove(each["kind"], *_key(each))
        self.watch.touch(each["kind"], [_key(each)])

    def evict(self, pod: Object) -> ForeignEviction:
        """What is kept of the eviction of a pod."""
        self.put(*evicted(pod))
        return self.watch.evictions[-1]


def evicted(pod: Object) -> tuple[Object, Object]:
    """A pod as the watch shows it when it is evicted: first the condition, and then that it terminates."""
    status = pod.get("status", {})
    condemned = pod | {"status": status | {"conditions": [*status.get("conditions", ()), EVICTED]}}
    return condemned, condemned | {"metadata": pod["metadata"] | {"deletionTimestamp": "2026-11-21T00:00:00Z"}}


def a_web_pod(name: str, node: str | None = None, **more: Any) -> Object:
    """A pod of the ReplicaSet web, ready where it has a node."""
    conditions = [READY] if node else []
    return a_pod(name, node=node, owner=("ReplicaSet", "web"), labels={"app": "web"}, conditions=conditions, **more)


def web(replicas: int = 1) -> Object:
    """A ReplicaSet that makes pods as ``a_web_pod`` does."""
    controller = a_replica_set("web", replicas=replicas, selector={"matchLabels": {"app": "web"}})
    controller["spec"]["template"] = {"metadata": {"labels": {"app": "web"}}, "spec": a_pod("web")["spec"]}
    return controller


def _read(each: Object) -> Any:
    return msgspec.json.decode(msgspec.json.encode(each), type=KINDS[each["kind"]])


def _key(each: Object) -> Key:
    return each["metadata"].get("namespace", ""), each["metadata"]["name"]


def a_foreign_eviction(
    forecast: Forecast, *, node: str, name: str = "web-1", workload: str = "Deployment/web"
) -> ForeignEviction:
    """One that leaves n1; its replacement came after a second and is ready on a node, or has none (empty)."""
    observed = ForeignEviction(
        at=0.0,
        namespace="shop",
        pod=name,
        uid=f"uid-{name}",
        workload=workload,
        owner=OwnerReference(kind="ReplicaSet", name="web", uid="web"),
        reason="EvictionByEvictionAPI",
        source="n1",
        forecast=forecast,
        gone=1.0,
        replacement=f"{name}-new",
        came=1.0,
    )
    if node:
        observed.node, observed.landed, observed.ready = node, 2.0, 5.0
    return observed
