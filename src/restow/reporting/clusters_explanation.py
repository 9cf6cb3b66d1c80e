"""A pod or a node of the same name in many clusters: the document of ``restow explain -o json`` for them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from restow.descheduling.plan import API_VERSION
from restow.explaining.explanation import NodeExplanation, PodExplanation
from restow.reporting.clusters_result import ClustersMetadata


class ExplainedCluster(Struct, frozen=True, kw_only=True):
    """The answer of one cluster; without ``error``, ``pod`` and ``node``, it holds no such object."""

    #: The context, or the file's name.
    name: str
    #: Why there is no answer, in one sentence; empty where there is one.
    error: str = ""
    #: What else was said while the plan was made.
    warnings: tuple[str, ...] = ()
    pod: PodExplanation | None = None
    node: NodeExplanation | None = None

    @property
    def is_absent(self) -> bool:
        """Whether the cluster holds no such object."""
        return not self.error and self.pod is None and self.node is None


class ClustersExplanation(Struct, frozen=True, kw_only=True, rename="camel"):
    """All clusters, by name."""

    api_version: str = API_VERSION
    kind: str = "ClustersExplanation"
    metadata: ClustersMetadata
    #: ``pod`` or ``node``, and its name.
    object_kind: str
    object_name: str
    clusters: tuple[ExplainedCluster, ...]

    @property
    def failed(self) -> tuple[ExplainedCluster, ...]:
        """The clusters that gave no answer."""
        return tuple(each for each in self.clusters if each.error)

    @property
    def holding(self) -> Iterator[ExplainedCluster]:
        """The clusters that hold the object."""
        return (each for each in self.clusters if each.pod is not None or each.node is not None)
