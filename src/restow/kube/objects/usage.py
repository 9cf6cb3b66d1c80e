"""The usage of nodes and pods: as metrics.k8s.io serves it, and as a snapshot stores what was measured over time."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import ObjectMeta
from restow.kube.objects.wire import WireQuantity


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
