"""Why a pod stays or moves, or what a plan does to a node, in every cluster that has one of that name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from msgspec import structs

from restow.application.clusters import ClusterSource, NotFoundError
from restow.application.each_cluster import ClusterAnswer, ask_each
from restow.application.feedback import Feedback
from restow.application.many_clusters import metadata_of, read_once
from restow.application.named_clusters import ClusterNames, NamedCluster, named_clusters
from restow.application.planning import PlanRequest, explained_node, explained_pod
from restow.errors import InputError
from restow.explaining.explanation import NodeExplanation, PodExplanation
from restow.reporting.clusters_explanation import ClustersExplanation, ExplainedCluster

#: What can be asked about.
ObjectKind = Literal["pod", "node"]
_Explanation = PodExplanation | NodeExplanation
_EXPLAIN: Final[dict[ObjectKind, Callable[[PlanRequest, str, Feedback], _Explanation]]] = {
    "pod": explained_pod,
    "node": explained_node,
}


@dataclass(slots=True, frozen=True)
class ManyExplanationsRequest:
    """What is asked about in which clusters, as it was written."""

    #: How each cluster is planned; which cluster it names does not count.
    plan: PlanRequest
    clusters: ClusterNames
    kind: ObjectKind
    #: Of a pod, NAMESPACE/NAME.
    name: str


@dataclass(slots=True, frozen=True)
class _Explaining:
    """Explains the object of one cluster."""

    request: PlanRequest
    kind: ObjectKind
    name: str

    def __call__(self, cluster: NamedCluster, feedback: Feedback) -> _Explanation | None:
        """The explanation; None where the cluster holds no such object."""
        try:
            return _EXPLAIN[self.kind](structs.replace(self.request, where=cluster.where), self.name, feedback)
        except NotFoundError:
            return None


def explain_many(
    request: ManyExplanationsRequest, feedback: Feedback, processes: int | None = None
) -> ClustersExplanation:
    """Explain the object in each cluster; InputError for what no cluster could be asked with, or where none holds it.

    ``processes`` is how many clusters are asked at a time (None: one for each core); the result is the same.
    """
    where, kind, name = request.plan.where, request.kind, request.name
    assert isinstance(where, ClusterSource)
    if kind == "pod" and "/" not in name:
        raise InputError(f"explain pod: {name} is not of the form NAMESPACE/NAME")
    clusters = named_clusters(request.clusters, where)
    plan = read_once(request.plan)
    with feedback.timings.phase("plan"), feedback.working(f"planning {len(clusters)} clusters"):
        answers = ask_each(clusters, _Explaining(plan, kind, name), processes)
    found = tuple(map(_told, answers))
    if all(each.is_absent for each in found):
        raise InputError(f"explain {kind}: none of the {len(found):,} clusters holds a {kind} {name}")
    return ClustersExplanation(metadata=metadata_of(plan), object_kind=kind, object_name=name, clusters=found)


def _told(found: ClusterAnswer[_Explanation | None]) -> ExplainedCluster:
    if isinstance(found.answer, PodExplanation):
        return ExplainedCluster(name=found.name, warnings=found.warnings, pod=found.answer)
    if isinstance(found.answer, NodeExplanation):
        return ExplainedCluster(name=found.name, warnings=found.warnings, node=found.answer)
    return ExplainedCluster(name=found.name, error=found.error)
