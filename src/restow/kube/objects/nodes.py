"""Node: taints, images, what is allocatable."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import Condition, ObjectMeta
from restow.kube.objects.wire import Int64, WireQuantity


class Taint(Struct, frozen=True, gc=False):
    """A taint of a node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Struct, frozen=True, gc=False):
    """What decisions read of a node's spec."""

    unschedulable: bool = False
    taints: tuple[Taint, ...] | None = None


class ContainerImage(Struct, frozen=True, gc=False, rename="camel"):
    """An image present on a node."""

    names: tuple[str, ...] | None = None
    size_bytes: Int64 = 0


class NodeStatus(Struct, frozen=True, gc=False):
    """What decisions read of a node's status."""

    allocatable: dict[str, WireQuantity] | None = None
    capacity: dict[str, WireQuantity] | None = None
    conditions: tuple[Condition, ...] | None = None
    images: tuple[ContainerImage, ...] | None = None


class Node(Struct, frozen=True, gc=False):
    """A v1 Node."""

    metadata: ObjectMeta = ObjectMeta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
