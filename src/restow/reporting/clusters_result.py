"""One policy in many clusters: the document of ``restow plan -o json`` for them, a row for each cluster."""

from __future__ import annotations

from msgspec import Struct

from restow.descheduling.plan import API_VERSION, PlanDocument
from restow.policies.codes import Certainty
from restow.reporting.answer import problem_sentences, staying_pods


class SpreadChange(Struct, frozen=True):
    """How unevenly a resource is requested before and after the plan: the standard deviation of the nodes' shares."""

    resource: str
    before: float
    after: float


class ClusterRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """The plan of one cluster, or why there is none."""

    #: The context, or the file's name.
    name: str
    #: Why there is no plan, in one sentence; empty where there is one.
    error: str = ""
    nodes: int = 0
    pods: int = 0
    pending_pods: int = 0
    moves: int = 0
    #: Of the moves; all 0 in ``upstream`` placement, which does not predict.
    certain: int = 0
    likely: int = 0
    possible: int = 0
    #: Pods that a strategy wants to move and that stay.
    staying: int = 0
    spread: tuple[SpreadChange, ...] = ()
    #: Strategies that could not work, in sentences.
    problems: tuple[str, ...] = ()
    #: What else was said while the plan was made.
    warnings: tuple[str, ...] = ()
    #: Without suffix, the files of the plan below the directory of ``--pages``; empty without one.
    file: str = ""

    @property
    def has_failed(self) -> bool:
        """Whether there is no plan, or a strategy could not work."""
        return bool(self.error or self.problems)


class ClustersMetadata(Struct, frozen=True, rename="camel"):
    """What was planned, and when."""

    policy: str
    generated_at: str
    restow_version: str


class ClustersPlan(Struct, frozen=True, kw_only=True, rename="camel"):
    """All clusters, by name."""

    api_version: str = API_VERSION
    kind: str = "ClustersPlan"
    metadata: ClustersMetadata
    clusters: tuple[ClusterRow, ...]

    @property
    def moves(self) -> int:
        """In all clusters."""
        return sum(each.moves for each in self.clusters)

    @property
    def failed(self) -> tuple[ClusterRow, ...]:
        """The clusters without a plan, or with a strategy that could not work."""
        return tuple(each for each in self.clusters if each.has_failed)


def cluster_row(name: str, plan: PlanDocument) -> ClusterRow:
    """Return the row of a cluster's plan, without warnings."""
    totals = plan.summary
    before, after = totals.utilisation.before, totals.utilisation.after
    return ClusterRow(
        name=name,
        nodes=totals.nodes,
        pods=totals.pods,
        pending_pods=totals.pending_pods,
        moves=totals.moves,
        certain=totals.gains.get(Certainty.CERTAIN, 0),
        likely=totals.gains.get(Certainty.LIKELY, 0),
        possible=totals.gains.get(Certainty.POSSIBLE, 0),
        staying=staying_pods(plan),
        spread=tuple(
            SpreadChange(resource, round(before[resource].spread, 4), round(after[resource].spread, 4))
            for resource in ("cpu", "memory")
            if resource in before and resource in after
        ),
        problems=problem_sentences(plan),
    )
