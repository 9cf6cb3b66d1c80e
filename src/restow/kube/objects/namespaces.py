"""Namespace."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import ObjectMeta


class Namespace(Struct, frozen=True, gc=False):
    """A v1 Namespace: its labels are what selectors read."""

    metadata: ObjectMeta = ObjectMeta()
