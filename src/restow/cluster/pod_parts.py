"""Decoding the parts that pods share: each function takes one distinct text and gives the value of its table.

Errors are ``PartError`` with the path of the field inside the pod; the store adds which pod.

During an in-place resize a pod may hold more on its node than its spec says. A container keeps what it has until it is
shrunk, and a larger request counts from the start: so it holds the largest of what it requests, what it has
(``status``: ``resources``) and what it was promised (``allocatedResources``). A request that the node can never fulfil
does not count. Source: PodRequests with statuses, as NodeInfo uses it, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Raw, Struct

from restow.cluster.amounts import amounts, capped_amounts
from restow.cluster.pod_values import ContainerResources, HostPort, PlacementRules
from restow.kube.node_selection import NodeSelection, compile_preferred
from restow.kube.objects import (
    ABSENT,
    Affinity,
    Container,
    ContainerPort,
    ContainerReport,
    NodeAffinity,
    OwnerReference,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    SchedulingGate,
    Toleration,
    TopologySpreadConstraint,
    WireQuantity,
    decode_part,
)
from restow.kube.quantity import Quantity, parse_quantity
from restow.kube.requests import QOS_CLASSES, ContainerRequests, parse_resources, pod_requests, qos_class

T = TypeVar("T")

Requests = Mapping[str, WireQuantity]

#: What a container that requests nothing counts as when nodes are scored.
SCORING_DEFAULTS: Requests = {"cpu": "100m", "memory": "200Mi"}
#: A host port without an address is taken on all of them.
ANY_ADDRESS = "0.0.0.0"  # noqa: S104  a rule about pods; nothing is bound here

#: (resources, restartPolicy) of one container.
ContainerKey = tuple[bytes, str | None]
#: (containers, init containers, pod-level resources, overhead).
ResourcesKey = tuple[tuple[ContainerKey, ...], tuple[ContainerKey, ...], bytes, bytes]
#: (node selector, affinity).
RulesKey = tuple[bytes, bytes]


class PartError(ValueError):
    """A part of a pod that cannot be read; the message starts with the path of the field."""


def decode_labels(raw: bytes) -> Mapping[str, str]:
    """``metadata.labels``."""
    return _decode(raw, dict[str, str], {}, "metadata.labels")


def decode_owners(raw: bytes) -> tuple[OwnerReference, ...]:
    """``metadata.ownerReferences``."""
    return _decode(raw, tuple[OwnerReference, ...], (), "metadata.ownerReferences")


def decode_tolerations(raw: bytes) -> tuple[Toleration, ...]:
    """``spec.tolerations``."""
    return _decode(raw, tuple[Toleration, ...], (), "spec.tolerations")


def decode_spread(raw: bytes) -> tuple[TopologySpreadConstraint, ...]:
    """The topology spread constraints of a pod."""
    return _decode(raw, tuple[TopologySpreadConstraint, ...], (), "spec.topologySpreadConstraints")


def decode_ports(key: tuple[bytes, ...]) -> tuple[HostPort, ...]:
    """The host ports in ``ports`` of containers, each once."""
    wire = (port for raw in key for port in _decode(raw, tuple[ContainerPort, ...], (), "spec.containers[].ports"))
    held = {HostPort(each.host_ip or ANY_ADDRESS, each.protocol or "TCP", each.host_port) for each in wire}
    return tuple(sorted(port for port in held if port.port > 0))


def decode_gates(raw: bytes) -> tuple[str, ...]:
    """The names of a pod's scheduling gates."""
    return tuple(gate.name for gate in _decode(raw, tuple[SchedulingGate, ...], (), "spec.schedulingGates"))


def decode_rules(key: RulesKey) -> PlacementRules:
    """``spec.nodeSelector`` and ``spec.affinity``."""
    labels = _decode(key[0], dict[str, str], {}, "spec.nodeSelector")
    affinity = _decode(key[1], Affinity, Affinity(), "spec.affinity")
    node = affinity.node_affinity or NodeAffinity()
    return PlacementRules(
        selection=NodeSelection.compile(labels, node.required),
        has_node_selector=bool(labels),
        has_node_affinity=affinity.node_affinity is not None,
        has_required=node.required is not None,
        preferred=compile_preferred(node.preferred),
        pod_affinity=affinity.pod_affinity,
        pod_anti_affinity=affinity.pod_anti_affinity,
        key=key,
    )


def decode_resources(key: ResourcesKey) -> ContainerResources:
    """Effective requests, explicitly named resources and implied QoS of a set of containers."""
    regular, init = _containers(key)
    parts = decode_requests(key)
    requests, nonzero = on_node(parts)
    qos = qos_class([*regular, *init])
    return ContainerResources(
        requests=requests,
        named=frozenset(name for each in (*regular, *init) for name in each.requests or {}),
        qos=QOS_CLASSES.index(qos),
        nonzero=nonzero,
        scored=capped_amounts(_total(parts, SCORING_DEFAULTS, {})),
        key=key,
    )


class RequestParts(Struct, frozen=True):
    """The requests that make up those of a pod."""

    regular: list[Requests]
    #: Init containers, and whether each is a sidecar.
    init: list[tuple[Requests, bool]]
    pod_level: Requests
    overhead: Requests


def decode_requests(key: ResourcesKey) -> RequestParts:
    """What each part of a pod requests."""
    regular, init = _containers(key)
    sidecars = [restart == "Always" for _, restart in key[1]]
    return RequestParts(
        [each.requests or {} for each in regular],
        list(zip([each.requests or {} for each in init], sidecars, strict=True)),
        decode_requirements(key[2], "spec").requests or {},
        decode_quantities(key[3], "spec.overhead"),
    )


def total_resources(key: ResourcesKey) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    """Effective requests and limits of a pod, exact.

    Limits are summed like requests; overhead is added to those that there are. Source: PodLimits, Kubernetes 1.36.
    """
    regular, init = _containers(key)
    requests, pod_level = decode_requests(key), decode_requirements(key[2], "spec")
    sidecars = [sidecar for _, sidecar in requests.init]
    limits = _total(
        RequestParts(
            [each.limits or {} for each in regular],
            list(zip([each.limits or {} for each in init], sidecars, strict=True)),
            pod_level.limits or {},
            {},
        ),
        {},
        pod_level.limits or {},
    )
    overhead = parse_resources(requests.overhead)
    with_overhead = {name: limit + overhead[name] if name in overhead else limit for name, limit in limits.items()}
    return _total(requests, {}, requests.pod_level), with_overhead


def on_node(parts: RequestParts) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """What a pod with these requests takes of its node, and what it counts for there when nodes are scored.

    PartError for a negative amount, OutOfRangeError for one that int64 does not hold.
    """
    try:
        requests = _total(parts, {}, parts.pod_level)
        nonzero = _total(parts, _defaults_on_node(parts, requests), parts.pod_level)
        return amounts(requests), capped_amounts(nonzero)
    except ValueError as error:
        raise PartError(f"the requests of all containers together: {error}") from error


def _containers(key: ResourcesKey) -> tuple[list[ResourceRequirements], list[ResourceRequirements]]:
    """The requirements of regular and of init containers."""
    regular = [decode_requirements(raw, f"spec.containers[{i}]") for i, (raw, _) in enumerate(key[0])]
    return regular, [decode_requirements(raw, f"spec.initContainers[{i}]") for i, (raw, _) in enumerate(key[1])]


def _total(parts: RequestParts, defaults: Requests, pod_level: Requests) -> dict[str, Quantity]:
    """Effective requests, with defaults for what a container does not request."""
    return pod_requests(
        [ContainerRequests({**defaults, **requests}) for requests in parts.regular],
        [ContainerRequests({**defaults, **requests}, sidecar=sidecar) for requests, sidecar in parts.init],
        pod_level,
        parts.overhead,
    )


def _defaults_on_node(parts: RequestParts, requests: Mapping[str, Quantity]) -> Requests:
    """With requests of the pod itself, only what nothing requests gets a default. Source: NodeInfo, Kubernetes 1.36."""
    if not parts.pod_level:
        return SCORING_DEFAULTS
    return {name: default for name, default in SCORING_DEFAULTS.items() if name not in requests}


def decode_requirements(raw: bytes, path: str) -> ResourceRequirements:
    """The ``resources`` at a path."""
    found = _decode(raw, ResourceRequirements, ResourceRequirements(), f"{path}.resources")
    _check_quantities(found.requests or {}, f"{path}.resources.requests")
    _check_quantities(found.limits or {}, f"{path}.resources.limits")
    return found


def decode_quantities(raw: bytes, path: str) -> Requests:
    """A map of quantities at a path."""
    found = _decode(raw, dict[str, WireQuantity], {}, path)
    _check_quantities(found, path)
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


#: What requests take, and what they count for when nodes are scored: by resource, as in ``ContainerResources``.
Held = tuple[Mapping[str, int], Mapping[str, int]]

_RESIZE, _INFEASIBLE = "PodResizePending", "Infeasible"


class ResizeStatus(NamedTuple):
    """The bytes of ``resources`` and ``allocatedResources`` in a status."""

    resources: bytes
    allocated: bytes


class HeldKey(NamedTuple):
    """All that decides what a pod holds."""

    spec: ResourcesKey
    #: Of each regular container and of each init container; None where nothing is reported.
    regular: tuple[ResizeStatus | None, ...]
    init: tuple[ResizeStatus | None, ...]
    pod: ResizeStatus | None
    infeasible: bool


def held_key(spec: PodSpec, status: PodStatus, resources: ResourcesKey) -> HeldKey | None:
    """The key of what a pod holds; None where the status reports what the spec wants, or nothing."""
    if (
        status.resources is ABSENT
        and _as_wanted(spec.containers, status.container_statuses)
        and _as_wanted(spec.init_containers or (), status.init_container_statuses)
    ):
        return None
    regular, init = _reports(status.container_statuses), _reports(status.init_container_statuses)
    pod = None if _is_absent(bytes(status.resources)) else _report(status)
    if not (regular or init or pod):
        return None
    return HeldKey(
        resources,
        _of_each(spec.containers, regular),
        _of_each(spec.init_containers or (), init),
        pod,
        next((each.reason == _INFEASIBLE for each in status.conditions or () if each.type == _RESIZE), False),
    )


def decode_held(key: HeldKey | None) -> Held | None:
    """What a pod holds; None where that is what its spec wants. Raises PartError as for the spec."""
    if key is None:
        return None
    wanted = decode_requests(key.spec)
    path = "status.containerStatuses[]"
    parts = RequestParts(
        [_effective(*each, key, path) for each in zip(wanted.regular, key.regular, strict=True)],
        [
            (_effective(requests, report, key, path) if sidecar else requests, sidecar)
            for (requests, sidecar), report in zip(wanted.init, key.init, strict=True)
        ],
        _of_pod(wanted.pod_level, key),
        wanted.overhead,
    )
    held = on_node(parts)
    return None if held == on_node(wanted) else held


def _as_wanted(containers: Sequence[Container], statuses: Iterable[ContainerReport] | None) -> bool:
    """Whether it can be seen without much reading that containers have what they want: so it is with nearly all."""
    wanted: Mapping[str, Raw] = {}
    for each in statuses or ():
        if each.resources is not ABSENT:
            wanted = wanted or {container.name: container.resources for container in containers}
            has = bytes(each.resources)
            if len(wanted) < len(containers) or bytes(wanted.get(each.name, ABSENT)) != has:
                return False
            if each.allocated_resources is not ABSENT and not _is_promised(has, bytes(each.allocated_resources)):
                return False
    return True


@lru_cache(maxsize=1 << 16)
def _is_promised(has: bytes, promised: bytes) -> bool:
    """Whether a container has just what it was promised."""
    try:
        return (decode_requirements(has, "").requests or {}) == decode_quantities(promised, "")
    except PartError:
        return False


def _reports(statuses: Iterable[ContainerReport] | None) -> Mapping[str, ResizeStatus]:
    """What is reported of containers by name; of two with one name the first counts."""
    found: dict[str, ResizeStatus] = {}
    for each in statuses or ():
        if each.resources is not ABSENT and not _is_absent(bytes(each.resources)):
            found.setdefault(each.name, _report(each))
    return found


def _report(status: ContainerReport | PodStatus) -> ResizeStatus:
    return ResizeStatus(bytes(status.resources), bytes(status.allocated_resources))


def _is_absent(raw: bytes) -> bool:
    return raw in (b"", b"null")


def _of_each(containers: Sequence[Container], reports: Mapping[str, ResizeStatus]) -> tuple[ResizeStatus | None, ...]:
    return tuple([reports.get(each.name) for each in containers])


def _effective(wanted: Requests, report: ResizeStatus | None, key: HeldKey, path: str) -> Requests:
    if report is None:
        return wanted
    has, promised = _decoded(report, path)
    return _largest([has, promised] if key.infeasible else [wanted, has, promised])


def _of_pod(wanted: Requests, key: HeldKey) -> Requests:
    """Of the pod itself only what its spec names counts; what is not reported is nothing."""
    if key.pod is None:
        return wanted
    effective = _effective(wanted, key.pod, key, "status")
    return {name: effective.get(name, "0") for name in wanted}


def _decoded(report: ResizeStatus, path: str) -> tuple[Requests, Requests]:
    has = decode_requirements(report.resources, path).requests or {}
    return has, decode_quantities(report.allocated, f"{path}.allocatedResources")


def _largest(lists: Iterable[Requests]) -> Requests:
    """For each resource that some list names the largest amount."""
    found: dict[str, WireQuantity] = {}
    for name, amount in (each for requests in lists for each in requests.items()):
        if name not in found or parse_quantity(amount) > parse_quantity(found[name]):
            found[name] = amount
    return found
