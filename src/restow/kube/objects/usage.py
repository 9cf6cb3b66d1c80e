"""The usage of nodes and pods as metrics.k8s.io serves it."""

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
