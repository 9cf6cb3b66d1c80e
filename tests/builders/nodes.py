"""Nodes: ``a_node("n1", cpu="4", labels={"zone": "a"}, taints=["gpu=yes:NoSchedule"])``."""

from __future__ import annotations

from typing import Any

from builders.metadata import Object, metadata, present


def a_node(
    name: str,
    *,
    cpu: str | None = "4",
    memory: str | None = "8Gi",
    pods: int | None = 110,
    extended: Object | None = None,
    capacity: Object | None = None,
    labels: Object | None = None,
    annotations: Object | None = None,
    taints: list[str | Object] | None = None,
    unschedulable: bool = False,
    ready: bool | str | None = True,
    images: Object | None = None,
    created: str | None = None,
) -> Object:
    """A node without labels whose allocatable is its capacity unless ``capacity`` says otherwise.

    ``ready`` None leaves the condition out, a string ("Unknown") is the condition's status; ``images`` maps an image
    name to its size in bytes; ``extended`` adds resources by name.
    """
    allocatable = present(cpu=cpu, memory=memory, pods=None if pods is None else str(pods))
    allocatable |= {resource: str(amount) for resource, amount in (extended or {}).items()}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata("Node", name, labels=labels, annotations=annotations, created=created),
        "spec": present(
            unschedulable=unschedulable or None,
            taints=[a_taint(taint) for taint in taints] if taints else None,
        ),
        "status": present(
            allocatable=allocatable,
            capacity=allocatable if capacity is None else capacity,
            conditions=None if ready is None else [{"type": "Ready", "status": str(ready)}],
            images=[{"names": [image], "sizeBytes": size} for image, size in images.items()] if images else None,
        ),
    }


def a_taint(text: str | Object) -> Object:
    """A taint from ``key=value:Effect`` or ``key:Effect``; a dict is taken as it is."""
    if isinstance(text, dict):
        return text
    head, _, effect = text.rpartition(":")
    key, _, value = head.partition("=")
    taint: dict[str, Any] = present(key=key, value=value or None, effect=effect)
    return taint
