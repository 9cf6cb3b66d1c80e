"""Devices that drivers publish, and what claims them (``resource.k8s.io/v1``)."""

from __future__ import annotations

from typing import Any

from builders.metadata import Object, metadata, present, uid_of

_API = "resource.k8s.io/v1"


def a_device(name: str, attributes: Object | None = None, capacity: Object | None = None, **more: Any) -> Object:
    """A device; plain values stand for attributes of their type, texts for capacities; ``more`` are fields by API name."""
    wrapped = {key: _attribute(value) for key, value in (attributes or {}).items()}
    amounts = {key: value if isinstance(value, dict) else {"value": value} for key, value in (capacity or {}).items()}
    return (
        {"name": name}
        | ({"attributes": wrapped} if wrapped else {})
        | ({"capacity": amounts} if amounts else {})
        | more
    )


def _attribute(value: Any) -> Object:
    if isinstance(value, dict):
        return value
    return {"bool" if isinstance(value, bool) else "int" if isinstance(value, int) else "string": value}


def a_slice(
    name: str,
    devices: list[Object] | None = None,
    *,
    driver: str = "gpu.example.com",
    node: str | None = None,
    pool: str | None = None,
    generation: int = 1,
    slices: int = 1,
    **more: Any,
) -> Object:
    """A ResourceSlice of one of ``slices`` of a pool, which is called like the node if it is not named."""
    spec = present(nodeName=node, devices=devices) | more
    named = {"name": pool or node or name, "generation": generation, "resourceSliceCount": slices}
    meta = metadata("ResourceSlice", name)
    return {
        "apiVersion": _API,
        "kind": "ResourceSlice",
        "metadata": meta,
        "spec": {"driver": driver, "pool": named, **spec},
    }


def a_device_class(name: str, *selectors: str, **more: Any) -> Object:
    """A DeviceClass with CEL expressions; ``more`` are fields of its spec."""
    spec = {"selectors": [a_selector(each) for each in selectors]} if selectors else {}
    return {"apiVersion": _API, "kind": "DeviceClass", "metadata": metadata("DeviceClass", name), "spec": spec | more}


def a_selector(expression: str) -> Object:
    """A selector of devices by CEL."""
    return {"cel": {"expression": expression}}


def a_request(name: str, of_class: str, *selectors: str, count: int | None = None, **more: Any) -> Object:
    """What ``exactly`` holds, with the name: a number of devices of a class, all of them for ``count`` 0."""
    mode = {"allocationMode": "All"} if count == 0 else {"allocationMode": "ExactCount", "count": count or 1}
    chosen = {"selectors": [a_selector(each) for each in selectors]} if selectors else {}
    return {"name": name, "deviceClassName": of_class, **mode, **chosen, **more}


def exactly(request: Object) -> Object:
    """A request of a claim for just that."""
    return {"name": request["name"], "exactly": {key: value for key, value in request.items() if key != "name"}}


def first_available(name: str, *requests: Object) -> Object:
    """A request of a claim for the first of these that there is."""
    return {"name": name, "firstAvailable": list(requests)}


def a_claim(
    name: str,
    *requests: Object,
    constraints: list[Object] | None = None,
    namespace: str = "default",
    devices: list[Object] | None = None,
    node: str | None = None,
    reserved_for: tuple[str, ...] = (),
    owner: str | None = None,
) -> Object:
    """A ResourceClaim; with ``devices`` (``allocated``) it has them, on one node if that is named.

    ``reserved_for`` and ``owner`` are names of pods of its namespace.
    """
    meta = metadata("ResourceClaim", name, namespace) | {"resourceVersion": "1"}
    if owner is not None:
        meta["ownerReferences"] = [
            {"kind": "Pod", "name": owner, "uid": uid_of("Pod", namespace, owner), "controller": True}
        ]
    status: Object = {}
    if devices is not None:
        status["allocation"] = {"devices": {"results": devices}} | (
            {} if node is None else {"nodeSelector": only_on(node)}
        )
        pods = [{"resource": "pods", "name": each, "uid": uid_of("Pod", namespace, each)} for each in reserved_for]
        status["reservedFor"] = pods
    return {
        "apiVersion": _API,
        "kind": "ResourceClaim",
        "metadata": meta,
        "spec": _spec(requests, constraints),
        "status": status,
    }


def a_claim_template(
    name: str, *requests: Object, constraints: list[Object] | None = None, namespace: str = "default"
) -> Object:
    """A ResourceClaimTemplate."""
    meta = metadata("ResourceClaimTemplate", name, namespace)
    spec = {"spec": _spec(requests, constraints)}
    return {"apiVersion": _API, "kind": "ResourceClaimTemplate", "metadata": meta, "spec": spec}


def _spec(requests: tuple[Object, ...], constraints: list[Object] | None) -> Object:
    return {"devices": present(requests=list(requests), constraints=constraints)}


def allocated(request: str, device: str, *, driver: str = "gpu.example.com", pool: str, **more: Any) -> Object:
    """A device in the status of a claim."""
    return {"request": request, "driver": driver, "pool": pool, "device": device, **more}


def a_taint_rule(name: str, selector: Object | None, *, key: str = "broken", effect: str = "NoSchedule") -> Object:
    """A DeviceTaintRule for the devices of this driver, pool and name."""
    spec = present(deviceSelector=selector, taint={"key": key, "value": "yes", "effect": effect})
    return {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceTaintRule", "metadata": {"name": name}, "spec": spec}


def only_on(node: str) -> Object:
    """A node selector for one node."""
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"nodeSelectorTerms": [{"matchFields": [field]}]}


def uses(name: str, *, claim: str | None = None, template: str | None = None) -> Object:
    """An entry of a pod's ``spec.resourceClaims``."""
    return present(name=name, resourceClaimName=claim, resourceClaimTemplateName=template)
