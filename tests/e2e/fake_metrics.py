"""metrics.k8s.io with figures that a test chooses, behind the real API server's aggregation.

with FakeMetrics(plane) as metrics:
    metrics.nodes["node-1"] = {"cpu": "3500m", "memory": "1Gi"}
    metrics.pods["default", "web-1"] = {"cpu": "100m", "memory": "64Mi"}
"""

from __future__ import annotations

import json
import ssl
from datetime import UTC, datetime
from typing import Any, Self

from builders import Object
from builders.loopback import Loopback, Reply
from e2e.control_plane import ControlPlane
from e2e.waiting import wait_until

_GROUP = "metrics.k8s.io/v1beta1"
_ROOT = f"/apis/{_GROUP}"
_SERVICE = {"name": "metrics", "namespace": "kube-system"}


class FakeMetrics(Loopback):
    """A server of usages; a context manager, one at a time for each control plane.

    The figures may be changed while it runs; names without any are not listed.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self.nodes: dict[str, Object] = {}
        self.pods: dict[tuple[str, str], Object] = {}
        self._plane = plane
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        serving = plane.layout.certificates.serving
        context.load_cert_chain(serving.certificate, serving.key)
        super().__init__(context)

    def __enter__(self) -> Self:
        super().__enter__()
        for each in _registration(self.port):
            self._plane.admin.create(each)
        available = f"{_ROOT}/nodes"
        wait_until("metrics are served", lambda: self._plane.admin.ask("GET", available).status == 200)
        return self

    def __exit__(self, *_: object) -> None:
        self._plane.admin.delete("APIService", "v1beta1.metrics.k8s.io")
        self._plane.admin.delete("Service", _SERVICE["name"], _SERVICE["namespace"])
        super().__exit__()

    def reply(self, path: str, form: str) -> Reply:
        """What metrics.k8s.io answers at a path."""
        found = self._answer(path)
        if found is None:
            return Reply(json.dumps({"kind": "Status", "code": 404}).encode(), 404)
        return Reply(json.dumps(found).encode())

    def _answer(self, path: str) -> Object | None:
        """What is told at a path below ``/apis/metrics.k8s.io/v1beta1``; None for what is not there."""
        match path.removeprefix(_ROOT).strip("/").split("/"):
            case [""]:
                return _RESOURCES
            case ["nodes", *name]:
                return _asked("NodeMetrics", {(node,): _node(node, usage) for node, usage in self.nodes.items()}, name)
            case ["pods"]:
                return _asked("PodMetrics", {key: _pod(*key, usage) for key, usage in self.pods.items()}, [])
            case ["namespaces", space, "pods", *name]:
                there = {key[1:]: _pod(*key, usage) for key, usage in self.pods.items() if key[0] == space}
                return _asked("PodMetrics", there, name)
        return None


def _registration(port: int) -> list[Object]:
    """The objects that make the API server ask there."""
    service = {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}
    api = {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "insecureSkipTLSVerify": True,
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "service": _SERVICE | {"port": port},
    }
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": _SERVICE, "spec": service},
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": api,
        },
    ]


def _told(kind: str, metadata: Object) -> Object:
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"apiVersion": _GROUP, "kind": kind, "metadata": metadata, "timestamp": now, "window": "10s"}


def _node(name: str, usage: Object) -> Object:
    return _told("NodeMetrics", {"name": name}) | {"usage": usage}


def _pod(namespace: str, name: str, usage: Object) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return _told("PodMetrics", metadata) | {"containers": [{"name": "c0", "usage": usage}]}


def _asked(kind: str, objects: dict[Any, Object], name: list[str]) -> Object | None:
    """The object of a name, or without one all of them."""
    if name:
        return objects.get(tuple(name))
    items = [objects[key] for key in sorted(objects)]
    return {"apiVersion": _GROUP, "kind": f"{kind}List", "metadata": {}, "items": items}


_RESOURCES: Object = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": _GROUP,
    "resources": [
        {"name": "nodes", "singularName": "", "namespaced": False, "kind": "NodeMetrics", "verbs": ["get", "list"]},
        {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]},
    ],
}
