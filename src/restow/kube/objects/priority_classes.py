"""PriorityClass."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import ObjectMeta
from restow.kube.objects.wire import Int32


class PriorityClass(Struct, frozen=True, gc=False, rename="camel"):
    """A scheduling.k8s.io/v1 PriorityClass."""

    metadata: ObjectMeta = ObjectMeta()
    value: Int32 = 0
    global_default: bool = False
