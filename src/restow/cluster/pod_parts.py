"""Decoding the parts that pods share: each function takes one distinct text and gives the value of its table.

Errors are ``PartError`` with the path of the field inside the pod; the intake adds which pod.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from restow.cluster.amounts import amounts
from restow.cluster.pods import ContainerResources, Rules
from restow.kube.node_selection import NodeSelection, compile_preferred
from restow.kube.objects import (
    Affinity,
    Container,
    NodeAffinity,
    ResourceRequirements,
    Toleration,
    TopologySpreadConstraint,
    WireQuantity,
    decode_part,
)
from restow.kube.qos import QOS_CLASSES, qos_class
from restow.kube.requests import ContainerRequests, parse_resources, pod_requests

T = TypeVar("T")

#: (resources, restartPolicy) of one container.
ContainerKey = tuple[bytes, str | None]
#: (containers, init containers, pod-level resources, overhead).
ResourcesKey = tuple[tuple[ContainerKey, ...], tuple[ContainerKey, ...], bytes, bytes]
#: (node selector, affinity).
RulesKey = tuple[bytes, bytes]


class PartError(ValueError):
    """A part of a pod that cannot be read; the message starts with the path of the field."""


def container_key(container: Container) -> ContainerKey:
    """What of a container decides its requests."""
    return bytes(container.resources), container.restart_policy


def decode_labels(raw: bytes) -> Mapping[str, str]:
    """``metadata.labels``."""
    return _decode(raw, dict[str, str], {}, "metadata.labels")


def decode_tolerations(raw: bytes) -> tuple[Toleration, ...]:
    """``spec.tolerations``."""
    return _decode(raw, tuple[Toleration, ...], (), "spec.tolerations")


def decode_spread(raw: bytes) -> tuple[TopologySpreadConstraint, ...]:
    """``spec.topologySpreadConstraints``."""
    return _decode(raw, tuple[TopologySpreadConstraint, ...], (), "spec.topologySpreadConstraints")


def decode_rules(key: RulesKey) -> Rules:
    """``spec.nodeSelector`` and ``spec.affinity``."""
    labels = _decode(key[0], dict[str, str], {}, "spec.nodeSelector")
    affinity = _decode(key[1], Affinity, Affinity(), "spec.affinity")
    node = affinity.node_affinity or NodeAffinity()
    return Rules(
        selection=NodeSelection.compile(labels, node.required),
        has_node_selector=bool(labels),
        has_node_affinity=affinity.node_affinity is not None,
        has_required=node.required is not None,
        preferred=compile_preferred(node.preferred),
        pod_affinity=affinity.pod_affinity,
        pod_anti_affinity=affinity.pod_anti_affinity,
    )


def decode_resources(key: ResourcesKey) -> ContainerResources:
    """Effective requests, explicitly named resources and implied QoS of a set of containers."""
    containers, init_containers, pod_level, overhead = key
    regular = [_requirements(raw, f"spec.containers[{i}]") for i, (raw, _) in enumerate(containers)]
    init = [_requirements(raw, f"spec.initContainers[{i}]") for i, (raw, _) in enumerate(init_containers)]
    pod = _requirements(pod_level, "spec")
    extra = _decode(overhead, dict[str, WireQuantity], {}, "spec.overhead")
    _check_quantities(extra, "spec.overhead")
    try:
        requests = pod_requests(
            [ContainerRequests(each.requests or {}) for each in regular],
            [
                ContainerRequests(each.requests or {}, sidecar=restart == "Always")
                for each, (_, restart) in zip(init, init_containers, strict=True)
            ],
            pod.requests or {},
            extra,
        )
        return ContainerResources(
            requests=amounts(requests),
            named=frozenset(name for each in (*regular, *init) for name in each.requests or {}),
            qos=QOS_CLASSES.index(qos_class([*regular, *init])),
        )
    except ValueError as error:
        raise PartError(f"the requests of all containers together: {error}") from error


def _requirements(raw: bytes, path: str) -> ResourceRequirements:
    found = _decode(raw, ResourceRequirements, ResourceRequirements(), f"{path}.resources")
    _check_quantities(found.requests or {}, f"{path}.resources.requests")
    _check_quantities(found.limits or {}, f"{path}.resources.limits")
    return found


def _check_quantities(wire: Mapping[str, WireQuantity], path: str) -> None:
    try:
        parse_resources(wire)
    except ValueError as error:
        raise PartError(f"{path}: {error}") from error


def _decode(raw: bytes, part: type[T], default: T, path: str) -> T:
    try:
        return decode_part(raw, part, default)
    except msgspec.MsgspecError as error:
        what, _, inside = str(error).partition(" - at `$")
        raise PartError(f"{path}{inside.rstrip('`')}: {what}") from error
