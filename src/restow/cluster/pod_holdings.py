"""What a pod holds on its node during an in-place resize, which may exceed its spec.

A container keeps what it has until it is shrunk, and a larger request counts from the start: so it holds the largest of
what it requests, what it has (``status``: ``resources``) and what it was promised (``allocatedResources``). A request
that the node can never fulfil does not count. Source: PodRequests with statuses, as NodeInfo uses it, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Raw

from restow.cluster.pod_parts import (
    PartError,
    RequestParts,
    Requests,
    ResourcesKey,
    decode_quantities,
    decode_requests,
    decode_requirements,
    on_node,
)
from restow.kube.objects import ABSENT, Container, ContainerReport, PodSpec, PodStatus, WireQuantity
from restow.kube.quantity import parse_quantity

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
