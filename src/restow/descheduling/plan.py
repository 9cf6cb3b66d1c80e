"""The plan: what moves, what stays and why, as people and programs read it.

These structs *are* the JSON schema of ``restow plan -o json``. They hold names, never indices, so a plan can be stored,
compared and rendered without the cluster it was made from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import UNSET, Struct, UnsetType, field, structs

from restow.policies.codes import (
    Certainty,
    Placement,
    PlacementConstraint,
    RefusalCode,
    ReplacementMode,
    Stage,
    SteeringMode,
    TargetKind,
)

API_VERSION = "restow.dev/v1alpha1"

#: How the remark on a strategy begins that a profile configures and that never runs.
NOT_ENABLED = "configured, but not enabled"


#: The effect of the taint with which nodes are fenced.
FENCE_EFFECTS: Final[Mapping[SteeringMode, str]] = {
    SteeringMode.FENCE: "NoSchedule",
    SteeringMode.PREFER: "PreferNoSchedule",
}


class PodRef(Struct, frozen=True):
    """Which pod."""

    namespace: str
    name: str
    uid: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class OwnerRef(Struct, frozen=True):
    """The topmost workload of a pod that the input shows (Deployment rather than ReplicaSet)."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class MadeProposal(Struct, frozen=True, rename="camel"):
    """The proposal that a move is part of: all of its moves are made, or none. They stand next to each other in a plan."""

    purpose: str
    moves: int
    #: How sure it is that all of its moves succeed.
    certainty: Certainty | None
    #: The least probability that all of its moves succeed; null where it is not known.
    probability: float | None
    #: Whether the replacement of this move has a place only once later moves of the proposal have been made.
    waits: bool = False


class Move(Struct, frozen=True, forbid_unknown_fields=True):
    """One eviction, in the order in which the plan makes them; ``to`` is null in ``upstream`` placement."""

    pod: PodRef
    owner: OwnerRef | None
    source: str = field(name="from")
    target: str | None = field(name="to", default=None)
    certainty: Certainty | None = None
    #: How probable it is that the replacement lands where the strategy gains by it, 0 to 1.
    probability: float | None = None
    candidates: tuple[str, ...] = ()
    #: How probable each of the candidates is; empty where that is not known.
    probabilities: tuple[float, ...] = ()
    #: How probable it is that the replacement lands on the target, 0 to 1; null where that is not known.
    target_probability: float | None = field(name="targetProbability", default=None)
    #: Those of the candidates where the strategy gains nothing: the move is in vain if the replacement lands there.
    in_vain: tuple[str, ...] = field(name="inVain", default=())
    #: How the replacement is brought to its target; null where the scheduler is left alone.
    steering: SteeringMode | None = None
    #: How many nodes could win; at most 512 are listed.
    candidate_count: int = field(name="candidateCount", default=0)
    profile: str = ""
    plugin: str = ""
    reason: str = ""
    #: What the strategy asks of the node where the replacement lands. A plan from before this field lacks it, and a pod
    #: that comes back to its node is then taken for a failed prediction.
    constraint: PlacementConstraint = PlacementConstraint.ELSEWHERE
    #: Absent where the move was suggested by itself.
    proposal: MadeProposal | UnsetType = UNSET
    #: Why the replacement may request something else than was proven, so that the move is likely at most; absent where
    #: it is known what the controller creates.
    caveat: str | UnsetType = UNSET
    #: What comes before the pod goes: its replacement, or what holds the place of that; absent where the pod is just evicted.
    replacement: ReplacementMode | UnsetType = UNSET
    #: Whether the pod is evicted where its replacement cannot come first; absent where it stays, or is evicted anyway.
    evicts_instead: bool | UnsetType = field(name="evictsInstead", default=UNSET)

    @property
    def mode(self) -> ReplacementMode:
        """How the pod is replaced."""
        return ReplacementMode.EVICT if self.replacement is UNSET else self.replacement

    @property
    def is_replaced_first(self) -> bool:
        """Whether the replacement comes before the pod goes."""
        return self.mode not in (ReplacementMode.EVICT, ReplacementMode.RESERVE)


class RefusedProposal(Struct, frozen=True, rename="camel"):
    """The proposal that is refused because one of its pods has to stay."""

    purpose: str
    #: The other pods that it would have moved.
    also_staying: tuple[PodRef, ...] = ()


class FurtherObstacle(Struct, frozen=True):
    """What would refuse a move that is refused already, if what refuses it were out of the way."""

    stage: Stage
    code: RefusalCode
    message: str


class Refusal(Struct, frozen=True):
    """A pod that a strategy wanted to move and that stays; ``code`` is stable, ``message`` is for people."""

    pod: PodRef
    node: str
    profile: str
    plugin: str
    stage: Stage
    code: RefusalCode
    message: str
    #: Of a limit: what refuses the move too, so that a higher limit would not help. Absent where nothing does, where
    #: it was not asked to save time, and in ``upstream`` placement, which does not know.
    also_refused_by: FurtherObstacle | UnsetType = field(name="alsoRefusedBy", default=UNSET)
    #: Absent where the move was suggested by itself.
    proposal: RefusedProposal | UnsetType = UNSET


class Remark(Struct, frozen=True):
    """A remark about a strategy: why it could not work, or why it found nothing to do."""

    profile: str
    plugin: str
    message: str

    def __str__(self) -> str:
        return f"{self.profile}/{self.plugin}: {self.message}"


class GoalResult(Struct, frozen=True, rename="camel"):
    """How near a plan comes to the goal of a strategy; the least value is the best."""

    goal: str
    unit: str
    before: float
    after: float
    #: A value that no plan within the budget can be below; null if none is known.
    bound: float | None = None
    #: Whether it is proven that no plan is better.
    optimal: bool = False
    #: Whether it is proven that no plan comes as far with fewer moves; a pod that would rather stay counts as four.
    fewest_moves: bool = False
    #: What holds the rest back, for people.
    held_back: tuple[str, ...] = ()
    #: The nodes that are in use no more after the plan, those first that it is best to remove first.
    emptied: tuple[str, ...] = ()
    #: From what usage the value is and how old that is, for people; empty if it is from requests.
    usage: str = ""
    profile: str = ""
    plugin: str = ""

    def ending_at(self, after: float) -> GoalResult:
        """The result with another value after the moves.

        A plan can be below its bound where a pod landed in spite of a rule that is stricter in the search than it is:
        the bound is none then.
        """
        broken = self.bound is not None and after < self.bound - _EXACT
        bound = None if broken else self.bound
        optimal = bound is not None and after <= bound + _EXACT
        return structs.replace(self, after=after, bound=bound, optimal=optimal)


#: Values that differ by less are equal.
_EXACT: Final = 1e-6


class ResourceLoad(Struct, frozen=True):
    """Requests of one resource over all nodes, as fractions of allocatable; ``spread`` is the standard deviation."""

    max: float
    mean: float
    spread: float


class Utilisation(Struct, frozen=True):
    """Load by resource name before and after the plan."""

    before: dict[str, ResourceLoad]
    after: dict[str, ResourceLoad]


class PlanTotals(Struct, frozen=True, rename="camel"):
    """Counts and utilisation of a plan."""

    nodes: int
    pods: int
    pending_pods: int
    moves: int
    refusals: int
    utilisation: Utilisation
    #: Moves by how sure their gain is; empty in ``upstream`` placement.
    gains: dict[Certainty, int] = {}
    #: Moves by how sure it is where they land; empty in ``upstream`` placement.
    targets: dict[TargetKind, int] = {}


class PlanCluster(Struct, frozen=True, rename="camel"):
    """Which cluster the plan was made of; counts are of all nodes and pods in the input."""

    #: Of the Namespace kube-system, which lives as long as its cluster; null where the input lacks it.
    uid: str | None
    #: Host and port of the API server that was read; null for a plan of files.
    api_server: str | None
    nodes: int
    pods: int


class OutputMetadata(Struct, frozen=True, rename="camel", omit_defaults=True):
    """When and how an answer was made; ``timings`` (seconds by phase) only with ``--timings``."""

    generated_at: str
    placement: Placement
    restow_version: str
    timings: dict[str, float] | UnsetType = UNSET


class PlanMetadata(OutputMetadata, frozen=True, rename="camel", omit_defaults=True):
    """When, how and of which cluster the plan was made; plans from before ``cluster`` do not have it."""

    cluster: PlanCluster | UnsetType = UNSET


class Fenced(Struct, frozen=True):
    """The nodes that carry restow's taint while the plan is carried out. The moves are proven with it in place."""

    nodes: tuple[str, ...]
    effect: str


class MeasuredNode(Struct, frozen=True, rename="camel"):
    """The figure of a node: a share of 0 to 1, how old its newest sample is, and how many it was made of."""

    node: str
    value: float
    age_seconds: float
    samples: int


class MeasuredUsage(Struct, frozen=True):
    """The result of a query for usage; nodes without a usable figure are left out."""

    #: Who was asked, as the policy has it.
    source: str
    query: str
    #: None: the newest value counts.
    percentile: float | None
    #: Why there is nothing; empty where there is.
    problem: str
    nodes: tuple[MeasuredNode, ...]


class PlanDocument(Struct, frozen=True, rename="camel"):
    """The whole answer; ``fence`` only where nodes are to be fenced, ``usage`` only where a source of usage was asked."""

    metadata: PlanMetadata
    moves: tuple[Move, ...]
    refusals: tuple[Refusal, ...]
    summary: PlanTotals
    #: Strategies that could not work (say, no metrics for a node); the plan is made without them.
    problems: tuple[Remark, ...] = ()
    #: Strategies that looked and found nothing to do, and why.
    notes: tuple[Remark, ...] = ()
    #: The policy that the plan was made by, as a policy file with all defaults filled in.
    policy: dict[str, Any] = {}
    #: The KubeSchedulerConfiguration that was named; null where the schedulers were taken to have their defaults.
    scheduler_configuration: dict[str, Any] | None = None
    fence: Fenced | None = None
    usage: tuple[MeasuredUsage, ...] = ()
    #: Of the strategies that have a goal.
    goals: tuple[GoalResult, ...] = ()
    api_version: str = API_VERSION
    kind: str = "Plan"


class NodeLoad(Struct, frozen=True):
    """One node before and after, for pictures: ``resource -> (allocatable, requested before, requested after)``.

    CPU in milli, memory and ephemeral storage in bytes, everything else in whole units.
    """

    name: str
    zone: str
    unschedulable: bool
    resources: dict[str, tuple[int, int, int]]
    pods_before: int
    pods_after: int


def target_kind(move: Move) -> TargetKind | None:
    """How sure it is on which node the replacement lands; None in ``upstream`` placement, which does not predict it."""
    if move.certainty is None:
        return None
    if move.target is None:
        return TargetKind.NONE
    if move.steering is not None:
        return TargetKind.STEERED
    return TargetKind.OPEN if move.candidate_count > 1 else TargetKind.CERTAIN
