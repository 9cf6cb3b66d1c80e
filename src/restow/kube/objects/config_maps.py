"""ConfigMaps: of which restow reads one, that of steering."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import ObjectMeta


class ConfigMap(Struct, frozen=True, gc=False):
    """Texts by name."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] | None = None
