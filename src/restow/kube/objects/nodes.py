"""Node: taints, images, what is allocatable; and the usage of nodes and pods, now and over time."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import Condition, Int64, ObjectMeta, WireQuantity


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


class TopologyAttribute(Struct, frozen=True, gc=False):
    """A name and value of a NodeResourceTopology."""

    name: str = ""
    value: str = ""


class NodeResourceTopology(Struct, frozen=True, gc=False, rename="camel"):
    """A topology.node.k8s.io NodeResourceTopology, named after its node: how its kubelet aligns resources."""

    metadata: ObjectMeta = ObjectMeta()
    #: Of v1alpha1, and deprecated in v1alpha2.
    topology_policies: tuple[str, ...] | None = None
    attributes: tuple[TopologyAttribute, ...] | None = None


class NodeMetrics(Struct, frozen=True, gc=False):
    """A metrics.k8s.io/v1beta1 NodeMetrics."""

    metadata: ObjectMeta = ObjectMeta()
    usage: dict[str, WireQuantity] | None = None
    #: When it was measured.
    timestamp: str = ""


class ContainerMetrics(Struct, frozen=True, gc=False):
    """The usage of one container."""

    name: str = ""
    usage: dict[str, WireQuantity] | None = None


class PodMetrics(Struct, frozen=True, gc=False):
    """A metrics.k8s.io/v1beta1 PodMetrics."""

    metadata: ObjectMeta = ObjectMeta()
    containers: tuple[ContainerMetrics, ...] | None = None


class UsageSeries(Struct, frozen=True, gc=False, rename="camel", forbid_unknown_fields=True):
    """A restow.dev/v1alpha1 UsageSeries: what a node used of a resource over time. ``cluster.usage_columns`` packs it."""

    api_version: str = ""
    kind: str = ""
    #: The name is ``NODE.RESOURCE``.
    metadata: ObjectMeta = ObjectMeta()
    node: str = ""
    resource: str = ""
    #: The query that the samples answer.
    query: str = ""
    #: How many samples there are.
    samples: int = 0
    #: All values are multiples of it.
    unit: int = 1
    columns: bytes = b""
