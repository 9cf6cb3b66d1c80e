"""An API server with a workload that is surged, and a move of its pod."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from msgspec import UNSET, structs

from client.double import Double as Server
from client.double import a_double, an_answer, an_api
from executing.double import a_pod, a_task
from restow.cluster.pod_values import PodNow
from restow.executing.surged_workloads import ANNOTATION
from restow.executing.surging import Surging
from restow.executing.task import Task
from restow.policies.codes import ReplacementMode
from restow.workloads.controllers import DELETION_COST

NAMESPACE = "/apis/apps/v1/namespaces/default"
DEPLOYMENT, REPLICA_SET = f"{NAMESPACE}/deployments/shop", f"{NAMESPACE}/replicasets/web"
POD, NEW = "/api/v1/namespaces/default/pods/web-0", "/api/v1/namespaces/default/pods/new-1"
PODS = "/api/v1/namespaces/default/pods"
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
A_SPEC = {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m"}}}]}
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def surged(task: Task, *, evicts_instead: bool = False) -> Task:
    """The task, with its replacement first."""
    changes = {"replacement": ReplacementMode.SURGE, "evicts_instead": evicts_instead or UNSET}
    return structs.replace(task, move=structs.replace(task.move, **changes))


def a_move(number: int = 0, **features: Any) -> Task:
    return surged(a_task(f"web-{number}", number=number, candidates=["b"], **features))


def a_deployment(replicas: int = 1, *, status: int | None = None, **changes: Any) -> dict[str, Any]:
    """A Deployment as it should be, but for the changes of its spec, or ``metadata``."""
    there = replicas if status is None else status
    metadata = {"name": "shop", "uid": "u-shop", "resourceVersion": "7", "generation": 3} | changes.pop("metadata", {})
    counts = dict.fromkeys(("replicas", "availableReplicas", "updatedReplicas"), there)
    return {
        "metadata": metadata,
        "spec": {"replicas": replicas} | changes,
        "status": {"observedGeneration": 3} | counts,
    }


def a_slice(*uids: str, service: str = "shop") -> dict[str, Any]:
    """An EndpointSlice in which pods are ready."""
    endpoints = [{"targetRef": {"uid": uid}, "conditions": {"ready": True}} for uid in uids]
    return {"metadata": {"name": "s", "labels": {"kubernetes.io/service-name": service}}, "endpoints": endpoints}


def a_list(*items: Any) -> Any:
    return an_answer({"metadata": {}, "items": list(items)})


def a_replica_set() -> Any:
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop", "controller": True}
    return an_answer({"metadata": {"name": "web", "ownerReferences": [owner]}})


@asynccontextmanager
async def a_server(deployment: dict[str, Any] | None = None, *, cost: str | None = None) -> AsyncIterator[Server]:
    """An API server with one Deployment, its pod, and a Service."""
    annotations = {} if cost is None else {DELETION_COST: cost}
    async with a_double() as server:
        server.answers("GET", REPLICA_SET, a_replica_set())
        server.answers("GET", DEPLOYMENT, an_answer(deployment or a_deployment()))
        server.answers(
            "GET", POD, an_answer({"metadata": {"name": "web-0", "annotations": annotations}, "spec": A_SPEC})
        )
        server.answers("GET", AUTOSCALERS, a_list())
        server.answers("GET", QUOTAS, a_list())
        server.answers("GET", SLICES, a_list(a_slice("uid-web-0")), a_list(a_slice("uid-web-0", "uid-new-1")))
        for path in (DEPLOYMENT, POD, NEW):
            server.answers("PATCH", path, an_answer({}))
        yield server


@asynccontextmanager
async def surging(server: Server, said: list[str] | None = None) -> AsyncIterator[Surging]:
    async with an_api(server.url) as api:
        yield Surging(api, lambda: 60.0, lambda: 1_800_000_000.0, (said if said is not None else []).append)


def new_pod() -> PodNow:
    return replace(a_pod(a_move()), name="new-1", uid="uid-new-1", node="b")


def patches(server: Server) -> list[tuple[str, Any]]:
    return [(each.path, each.json) for each in server.asked if each.method == "PATCH"]


def a_left_surge(ready: int) -> dict[str, Any]:
    """A Deployment in the middle of a surge that nobody leads any more, with some ready pods."""
    record = {"pod": "web-0", "uid": "uid-web-0", "replicas": 1, "time": "2026-01-01T00:00:00Z"}
    metadata = {"name": "shop", "namespace": "default", "annotations": {ANNOTATION: json.dumps(record)}}
    selector = {"matchLabels": {"app": "shop"}}
    return {"metadata": metadata, "spec": {"selector": selector}, "status": {"readyReplicas": ready}}


def a_member(uid: str, *, app: str = "shop", cost: str | None = None, **more: Any) -> dict[str, Any]:
    """A pod with a label, and perhaps a deletion cost."""
    annotations = {} if cost is None else {DELETION_COST: cost}
    return {"metadata": {"name": uid, "uid": uid, "labels": {"app": app}, "annotations": annotations} | more}
