"""Extended resources that a DeviceClass serves: a pod requests ``example.com/gpu``, and gets devices of a class for it.

Where a node lists none of such a resource, the scheduler makes a claim for the pod, with a request for each
container. Rules that count resources leave it alone there. The claim is made when the pod is bound, carries an
annotation, and ends with the pod. Source: Kubernetes 1.36, DRAExtendedResource, and the cache of
k8s.io/dynamic-resource-allocation 0.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from restow.cluster.pod_parts import RequestParts, Requests
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.objects import DEVICE_KINDS
from restow.kube.objects.devices import DeviceClaim, DeviceClass, DeviceRequest, DeviceSubRequest, ResourceClaim
from restow.kube.quantity import NANO_PER_UNIT, parse_quantity
from restow.scheduling.framework.minors import EXTENDED_BY_CLASSES, holds

_, _, CLASS, _ = DEVICE_KINDS
#: The extended resource of a class that names none. Source: ResourceDeviceClassPrefix, Kubernetes 1.36.
_IMPLICIT: Final = "deviceclass.resource.kubernetes.io/"
#: What the scheduler calls such a claim until it is made.
NAME: Final = "<extended-resources>"
_TRUE: Final = "true"


def serving_classes(cluster: ClusterSnapshot) -> Mapping[str, str]:
    """The class that serves each extended resource, by its name; of several the newest, then the first by name.

    Classes are taken by name, as the scheduler gets them. One that comes second to another serves nothing, not even the
    resource that every class has.
    """
    found: dict[str, DeviceClass] = {}
    classes: Mapping[tuple[str, str], DeviceClass] = cluster.kind(CLASS) if holds(EXTENDED_BY_CLASSES, cluster) else {}
    for each in sorted(classes.values(), key=lambda each: each.metadata.name):
        resource = each.spec.extended_resource_name
        first = found.get(resource) if resource else None
        if first is not None and _created(each) <= _created(first):
            continue
        found |= {name: each for name in (resource, _IMPLICIT + each.metadata.name) if name}
    return {name: each.metadata.name for name, each in found.items()}


def _created(each: DeviceClass) -> str:
    return each.metadata.creation_timestamp or ""


def is_on_nodes(cluster: ClusterSnapshot, resource: str) -> bool:
    """Whether some node lists any of an extended resource, which a device plugin offers then."""
    row = cluster.nodes.resource(resource)
    return row is not None and bool(cluster.nodes.allocatable[row].any())


def claimed_resources(cluster: ClusterSnapshot) -> frozenset[str]:
    """The extended resources that are devices on all nodes."""
    return frozenset(each for each in serving_classes(cluster) if not is_on_nodes(cluster, each))


def claim_for(parts: RequestParts, classes: Mapping[str, str], resources: Iterable[str]) -> DeviceClaim:
    """What the scheduler claims for a pod that requests some resources, all of which a class serves.

    Containers that run for as long as the pod have devices of their own. Init containers use those of later ones, and what
    is lacking then is claimed once, for the one that lacks the most.
    """
    containers = [*parts.init, *((each, True) for each in parts.regular)]
    found: list[DeviceRequest] = []
    for resource in sorted(resources):
        asked = [_asked(at, requests, resource, classes[resource]) for at, (requests, _) in enumerate(containers)]
        lasting = [each if lasts else None for each, (_, lasts) in zip(asked, containers, strict=True)]
        found += filter(None, [_most_lacking(asked, lasting), *lasting])
    return DeviceClaim(tuple(sorted(found, key=lambda each: each.name)))


def _asked(at: int, requests: Requests, resource: str, of_class: str) -> DeviceRequest | None:
    """What one container asks for, named after the container and the place of the resource among its requests."""
    amount = parse_quantity(requests[resource]).nano // NANO_PER_UNIT if resource in requests else 0
    name = f"container-{at}-request-{sorted(requests).index(resource) if amount else 0}"
    return _request(name, of_class, amount) if amount else None


def _request(name: str, of_class: str, count: int) -> DeviceRequest:
    return DeviceRequest(name, DeviceSubRequest(device_class_name=of_class, allocation_mode="ExactCount", count=count))


def _most_lacking(
    asked: Sequence[DeviceRequest | None], lasting: Sequence[DeviceRequest | None]
) -> DeviceRequest | None:
    """The request of the container that ends, and lacks the most beside the devices of later ones that last."""
    most: DeviceRequest | None = None
    for at, each in enumerate(asked):
        if each is None or lasting[at] is not None:
            continue
        lacking = _count(each) - sum(_count(later) for later in lasting[at:] if later is not None)
        if lacking > (0 if most is None else _count(most)):
            most = _request(each.name, _exactly(each).device_class_name, lacking)
    return most


def _count(request: DeviceRequest) -> int:
    return _exactly(request).count


def _exactly(request: DeviceRequest) -> DeviceSubRequest:
    return request.exactly or DeviceSubRequest()


def owners_of_claims(claims: Iterable[tuple[tuple[str, str], ResourceClaim]]) -> dict[str, tuple[str, str]]:
    """The claims that were made for extended resources, by the uid of their pod."""
    return {
        owner.uid: key
        for key, claim in claims
        if claim.metadata.annotations is not None and claim.metadata.annotations.extended_resource_claim == _TRUE
        for owner in claim.metadata.owner_references or ()
        if owner.controller
    }
