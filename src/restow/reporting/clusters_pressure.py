"""One rule file in many clusters: the document of ``restow pressure check -o json`` for them."""

from __future__ import annotations

from msgspec import Struct

from restow.descheduling.plan import API_VERSION
from restow.pressure.situation import PressureCheck


class PressedCluster(Struct, frozen=True, kw_only=True):
    """What the rules would do in one cluster, or why that is not known."""

    #: The context.
    name: str
    #: Why there is no answer, in one sentence; empty where there is one.
    error: str = ""
    #: What else was said while it was asked.
    warnings: tuple[str, ...] = ()
    check: PressureCheck | None = None


class ClustersPressure(Struct, frozen=True, kw_only=True, rename="camel"):
    """All clusters, by name."""

    api_version: str = API_VERSION
    kind: str = "ClustersPressureCheck"
    #: The name of the rule file.
    rules: str
    clusters: tuple[PressedCluster, ...]

    @property
    def failed(self) -> tuple[PressedCluster, ...]:
        """The clusters without an answer."""
        return tuple(each for each in self.clusters if each.error)
