"""Reads the autoscalers of a scenario into settings, with everything that is wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from restow.documents.findings import Issue, Path
from restow.documents.shapes import Duration
from restow.kube.excerpts import excerpt
from restow.kube.manifests import Manifest, Node, Other
from restow.kube.objects import Int32
from restow.simulating.controllers.cluster_autoscaler import ClusterAutoscalerSettings, NodeGroup
from restow.simulating.controllers.horizontal_pod_autoscalers import KIND, AutoscalerSettings, check_spec

_CLUSTER = ClusterAutoscalerSettings()


class WrittenNodeGroup(Struct, frozen=True):
    """A group of nodes."""

    name: str
    template: dict[str, Any]
    min: Int32 = 0
    max: Int32 = 10


class WrittenClusterAutoscaler(Struct, frozen=True, rename="camel"):
    """A cluster autoscaler."""

    groups: tuple[WrittenNodeGroup, ...]
    scan_interval: Duration = _CLUSTER.scan_interval
    provisioning: Duration = _CLUSTER.provisioning
    scale_down_utilization_threshold: float = _CLUSTER.utilization
    scale_down_unneeded_time: Duration = _CLUSTER.unneeded_time
    scale_down_delay_after_add: Duration = _CLUSTER.delay_after_add


def check_autoscalers(written: AutoscalerSettings, path: Path) -> Iterator[Issue]:
    """Yield what is wrong with the settings of the controller."""
    for each in msgspec.structs.fields(written):
        if getattr(written, each.name) < 0:
            yield Issue((*path, each.encode_name), "must not be negative")
    if written.sync_period == 0:
        yield Issue((*path, "syncPeriod"), "must be more than 0", hint="write 15s")


def autoscaler_problem(manifest: Manifest) -> str:
    """What keeps a HorizontalPodAutoscaler from being simulated, with its name; empty of every other object."""
    if not isinstance(manifest, Other) or manifest.kind != KIND:
        return ""
    problem = check_spec(manifest)
    return f"{KIND} {manifest.metadata.name}: {problem}" if problem else ""


def read_cluster_autoscaler(
    written: WrittenClusterAutoscaler, path: Path, read: Callable[[dict[str, Any]], Manifest]
) -> ClusterAutoscalerSettings | list[Issue]:
    """Return the settings, or everything that is wrong with them; ``read`` makes an object, or raises ValueError."""
    issues = list(_check_cluster_autoscaler(written, path))
    groups = []
    for index, group in enumerate(written.groups):
        try:
            groups.append(_group(group, read))
        except ValueError as error:
            issues.append(Issue((*path, "groups", index), str(error)))
    return issues or ClusterAutoscalerSettings(
        groups=tuple(groups),
        scan_interval=written.scan_interval,
        provisioning=written.provisioning,
        utilization=written.scale_down_utilization_threshold,
        unneeded_time=written.scale_down_unneeded_time,
        delay_after_add=written.scale_down_delay_after_add,
    )


def _check_cluster_autoscaler(written: WrittenClusterAutoscaler, path: Path) -> Iterator[Issue]:
    for each in msgspec.structs.fields(written):
        value = getattr(written, each.name)
        if not isinstance(value, tuple) and value < 0:
            yield Issue((*path, each.encode_name), "must not be negative")
    if written.scan_interval == 0:
        yield Issue((*path, "scanInterval"), "must be more than 0", hint="write 10s")
    if not written.groups:
        yield Issue((*path, "groups"), "is empty: there is nothing to scale", hint="write name, min, max and template")
    names = [each.name for each in written.groups]
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Issue((*path, "groups", index, "name"), f'"{excerpt(name)}" is the name of another group')


def _group(written: WrittenNodeGroup, read: Callable[[dict[str, Any]], Manifest]) -> NodeGroup:
    """A group of nodes; ValueError says what is wrong with it."""
    if not written.name:
        raise ValueError("name is empty")
    if not 0 <= written.min <= written.max:
        raise ValueError("min must be from 0 to max")
    metadata = written.template.get("metadata")
    metadata = dict(metadata) if isinstance(metadata, Mapping) else {}
    node = read({**written.template, "apiVersion": "v1", "kind": "Node", "metadata": metadata | {"name": written.name}})
    if not isinstance(node, Node) or not node.metadata.labels:
        raise ValueError("template.metadata.labels is empty; write labels that only nodes of the group have")
    if not node.status.allocatable:
        raise ValueError('template.status.allocatable is empty; write {cpu: "4", memory: 16Gi, pods: "110"}')
    return NodeGroup(written.name, written.min, written.max, node)
