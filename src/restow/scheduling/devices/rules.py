"""How a version of kube-scheduler looks for devices, where versions differ.

Up to 1.35 an API server keeps no fields of features that are off by default there. Where they are, somebody has turned such
a feature on, and what the scheduler makes of it is not known. Source: DynamicResources, Kubernetes 1.34 to 1.37.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.objects import DEVICE_KINDS
from restow.kube.objects.devices import Device, DeviceClaim, DeviceSubRequest, ResourceSlice
from restow.scheduling.framework.minors import (
    ALL_BY_WHOLE_CAPACITY,
    COUNTERS_BY_NODE,
    DEVICE_TAINT_RULES,
    DEVICES_GIVEN_BACK,
    DEVICES_IN_ORDER,
    INVALID_POOLS_PASSED,
    holds,
)

*_, _SLICE = DEVICE_KINDS
TAINT_RULE: Final = "DeviceTaintRule"


class DeviceRules(NamedTuple):
    """What holds in the scheduler of one cluster."""

    #: Pools and slices are tried by name, and all features since then are on; otherwise in an order of chance.
    in_order: bool
    #: Pools that contradict themselves are passed over; otherwise they may end the search.
    passes_over_pools: bool
    #: A device that is rejected leaves nothing behind.
    gives_back: bool
    #: A request for all devices counts those that would have room if no claim had a share of them.
    all_by_whole_capacity: bool
    #: Slices with counters are those of the nodes that they select.
    counters_by_node: bool
    #: DeviceTaintRules count.
    by_taint_rules: bool


def rules_of(cluster: ClusterSnapshot) -> DeviceRules:
    """The rules of a cluster's scheduler."""
    changes = (
        DEVICES_IN_ORDER,
        INVALID_POOLS_PASSED,
        DEVICES_GIVEN_BACK,
        ALL_BY_WHOLE_CAPACITY,
        COUNTERS_BY_NODE,
        DEVICE_TAINT_RULES,
    )
    return DeviceRules(*(holds(each, cluster) for each in changes))


def doubt_of_devices(cluster: ClusterSnapshot) -> str:
    """Why a pod may get other devices than restow finds, or none; empty where it gets these."""
    if not holds(DEVICES_IN_ORDER, cluster):
        return f"it claims devices, and Kubernetes 1.{cluster.server_minor} tries pools of them in an order of chance"
    if holds(DEVICE_TAINT_RULES, cluster) and not cluster.has_list(TAINT_RULE):
        return f"it claims devices, and objects of kind {TAINT_RULE} are not known here"
    devices = (each for found in cluster.kind(_SLICE).values() for each in found.spec.devices or ())
    if any(each.binding_conditions for each in devices):
        return (
            "it claims devices, of which some are prepared once a node is chosen (bindingConditions), and that may fail"
        )
    return ""


#: Fields that count since pools are in order.
_OF_SLICES: Final = ("shared_counters", "per_device_node_selection")
_OF_DEVICES: Final = (
    "taints",
    "consumes_counters",
    "allow_multiple_allocations",
    "binds_to_node",
    "binding_conditions",
)
_OF_REQUESTS: Final = ("tolerations", "capacity")


def unclear_in_slices(slices: Iterable[ResourceSlice]) -> str:
    """What a scheduler that does not try pools in order may make anything of, a clause; empty if there is nothing."""
    for each in slices:
        found = _first_set(each.spec, _OF_SLICES) or _first_of_devices(each.spec.devices or ())
        if found:
            return f"ResourceSlice {each.metadata.name} has {found}, {_GATED}"
    return ""


def unclear_in_claim(claim: DeviceClaim) -> str:
    """What such a scheduler may make anything of in a claim of a pod."""
    if any(each.distinct_attribute is not None for each in claim.constraints or ()):
        return f"its claim has distinctAttribute, {_GATED}"
    for request in claim.requests or ():
        alternatives = request.first_available or (request.exactly or DeviceSubRequest(),)
        for each in alternatives:
            if found := _first_set(each, _OF_REQUESTS):
                return f"its claim has {found}, {_GATED}"
        if len(alternatives) > 1 and any(each.allocation_mode == "All" for each in alternatives):
            return "one of its alternatives asks for all devices, and kube-scheduler up to 1.35 confuses it with the others"
    return ""


_GATED: Final = "which counts only with a feature gate up to 1.35"


def _first_of_devices(devices: Iterable[Device]) -> str:
    return next((found for each in devices if (found := _first_set(each, _OF_DEVICES))), "")


def _first_set(struct: msgspec.Struct, fields: Iterable[str]) -> str:
    """The API's name of the first of these fields that is set."""
    found = next((each for each in fields if getattr(struct, each)), "")
    return next((each.encode_name for each in msgspec.structs.fields(struct) if each.name == found), "")
