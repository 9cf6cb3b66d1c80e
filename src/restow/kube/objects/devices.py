"""Dynamic resources (``resource.k8s.io``): devices that drivers publish, classes of them, and what claims them.

A claim has requests; each names a class, selects devices, and asks for a number of them or for all. Fields that
configure devices, and decide nothing, are left out. Source: resource.k8s.io/v1, Kubernetes 1.36.
"""

from __future__ import annotations

from msgspec import Struct, field

from restow.kube.objects.cluster_objects import Taint
from restow.kube.objects.metadata import Condition, Int64, NodeSelector, ObjectMeta, WireQuantity
from restow.kube.objects.pods import Toleration


class DeviceAttribute(Struct, frozen=True, gc=False, rename="camel"):
    """One value of a device: exactly one field is set."""

    integer: Int64 | None = field(default=None, name="int")
    boolean: bool | None = field(default=None, name="bool")
    text: str | None = field(default=None, name="string")
    version: str | None = None


class CapacityRange(Struct, frozen=True, gc=False):
    """``validRange`` of a policy."""

    min: WireQuantity | None = None
    max: WireQuantity | None = None
    step: WireQuantity | None = None


class CapacityRequestPolicy(Struct, frozen=True, gc=False, rename="camel"):
    """How much of a capacity one request may consume."""

    default: WireQuantity | None = None
    valid_values: tuple[WireQuantity, ...] | None = None
    valid_range: CapacityRange | None = None


class DeviceCapacity(Struct, frozen=True, gc=False, rename="camel"):
    """One capacity of a device."""

    value: WireQuantity = 0
    request_policy: CapacityRequestPolicy | None = None


class Counter(Struct, frozen=True, gc=False):
    """An amount that partitions of one device share."""

    value: WireQuantity = 0


class CounterSet(Struct, frozen=True, gc=False):
    """Counters of one device that can be partitioned."""

    name: str = ""
    counters: dict[str, Counter] | None = None


class CounterConsumption(Struct, frozen=True, gc=False, rename="camel"):
    """What a device takes of a set of counters."""

    counter_set: str = ""
    counters: dict[str, Counter] | None = None


class Device(Struct, frozen=True, gc=False, rename="camel"):
    """One device of a slice."""

    name: str = ""
    attributes: dict[str, DeviceAttribute] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: tuple[CounterConsumption, ...] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[Taint, ...] | None = None
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] | None = None
    allow_multiple_allocations: bool = False


class ResourcePool(Struct, frozen=True, gc=False, rename="camel"):
    """The pool that a slice is part of."""

    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 0


class ResourceSliceSpec(Struct, frozen=True, gc=False, rename="camel"):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: tuple[Device, ...] | None = None
    shared_counters: tuple[CounterSet, ...] | None = None


class ResourceSlice(Struct, frozen=True, gc=False):
    """Some devices of one pool."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceSliceSpec = ResourceSliceSpec()


class CELSelector(Struct, frozen=True, gc=False):
    """An expression about ``device``."""

    expression: str = ""


class DeviceSelector(Struct, frozen=True, gc=False):
    """What a device has to be like."""

    cel: CELSelector | None = None


class DeviceClassSpec(Struct, frozen=True, gc=False, rename="camel"):
    selectors: tuple[DeviceSelector, ...] | None = None
    #: The extended resource (``example.com/gpu``) that devices of the class serve.
    extended_resource_name: str | None = None


class DeviceClass(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceClassSpec = DeviceClassSpec()


class CapacityRequirements(Struct, frozen=True, gc=False):
    """What a request consumes of the capacity of each device."""

    requests: dict[str, WireQuantity] | None = None


class DeviceSubRequest(Struct, frozen=True, gc=False, rename="camel"):
    """One alternative of a request, or the only one (``exactly``)."""

    name: str = ""
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] | None = None
    allocation_mode: str = ""
    count: Int64 = 0
    admin_access: bool = False
    tolerations: tuple[Toleration, ...] | None = None
    capacity: CapacityRequirements | None = None


class DeviceRequest(Struct, frozen=True, gc=False, rename="camel"):
    """One request of a claim: of one kind (``exactly``), or the first of a list that there is."""

    name: str = ""
    exactly: DeviceSubRequest | None = None
    first_available: tuple[DeviceSubRequest, ...] | None = None


class DeviceConstraint(Struct, frozen=True, gc=False, rename="camel"):
    """What the devices of some requests must have in common, or must not."""

    requests: tuple[str, ...] | None = None
    match_attribute: str | None = None
    distinct_attribute: str | None = None


class DeviceClaim(Struct, frozen=True, gc=False):
    """``spec.devices`` of a claim."""

    requests: tuple[DeviceRequest, ...] | None = None
    constraints: tuple[DeviceConstraint, ...] | None = None


class ResourceClaimSpec(Struct, frozen=True, gc=False):
    devices: DeviceClaim = DeviceClaim()


class AllocatedDevice(Struct, frozen=True, gc=False, rename="camel"):
    """One device that a claim has."""

    #: Of a list of alternatives ``request/alternative``.
    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool = False
    share_id: str | None = field(default=None, name="shareID")
    consumed_capacity: dict[str, WireQuantity] | None = None
    #: What has to be true of it before a pod is bound, and what must not be.
    binding_conditions: tuple[str, ...] | None = None
    binding_failure_conditions: tuple[str, ...] | None = None


class AllocatedDevices(Struct, frozen=True, gc=False):
    """``status.allocation.devices``."""

    results: tuple[AllocatedDevice, ...] | None = None


class AllocationResult(Struct, frozen=True, gc=False, rename="camel"):
    """What a claim has, and on which nodes that can be used; without a selector on all."""

    devices: AllocatedDevices = AllocatedDevices()
    node_selector: NodeSelector | None = None


class ClaimConsumer(Struct, frozen=True, gc=False):
    """Who may use a claim."""

    resource: str = ""
    name: str = ""
    uid: str = ""


class AllocatedDeviceStatus(Struct, frozen=True, gc=False, rename="camel"):
    """What a driver says of a device that a claim has."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    conditions: tuple[Condition, ...] | None = None


class ResourceClaimStatus(Struct, frozen=True, gc=False, rename="camel"):
    allocation: AllocationResult | None = None
    devices: tuple[AllocatedDeviceStatus, ...] | None = None
    reserved_for: tuple[ClaimConsumer, ...] | None = None


class ResourceClaim(Struct, frozen=True, gc=False):
    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Struct, frozen=True, gc=False):
    spec: ResourceClaimSpec = ResourceClaimSpec()


class ResourceClaimTemplate(Struct, frozen=True, gc=False):
    """What the claim of each of its pods is made of."""

    metadata: ObjectMeta = ObjectMeta()
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()


class DeviceTaintSelector(Struct, frozen=True, gc=False):
    """Which devices a rule is for: those that have all that is named; without any name, all."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Struct, frozen=True, gc=False, rename="camel"):
    #: None: for no device.
    device_selector: DeviceTaintSelector | None = None
    taint: Taint = Taint()


class DeviceTaintRule(Struct, frozen=True, gc=False):
    """A taint that somebody gives to devices, beside those that their drivers give them."""

    metadata: ObjectMeta = ObjectMeta()
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
