"""Objects for simulations, from the builders' documents."""

from __future__ import annotations

from typing import Any

from builders import Object, a_workload
from restow.kube.manifests import manifest_of


def a_template(app: str, **spec: Any) -> Object:
    """A template of pods labelled ``app`` with one container that requests 100m."""
    containers = [{"name": "c", "image": "example/app:1", "resources": {"requests": {"cpu": "100m"}}}]
    return {"metadata": {"labels": {"app": app}}, "spec": {"containers": containers} | spec}


def a_controller(
    kind: str, name: str, replicas: int | None = None, *, template: Object | None = None, **spec: Any
) -> Any:
    """A controller whose pods are labelled ``app: NAME``."""
    selector = {"app": name} if kind == "ReplicationController" else {"matchLabels": {"app": name}}
    told = {"template": template or a_template(name)} | spec
    document = a_workload(kind, name, replicas=replicas, selector=selector, spec=told)
    del document["metadata"]["uid"]
    return manifest_of(document)


def a_bare_pod(name: str, **fields: Any) -> Any:
    """A pod of nobody."""
    metadata = {"name": name, "namespace": "default"} | fields.pop("metadata", {})
    return manifest_of({"kind": "Pod", "metadata": metadata, "spec": a_template(name)["spec"] | fields})
