"""What ``restow explain`` says, as programs read it.

These structs *are* the JSON schema of ``restow explain ... -o json``. They hold names, never indices; nodes are in the
order of their names, everywhere.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from restow.descheduling.plan import API_VERSION, Move, OutputMetadata, OwnerRef, PodRef
from restow.policies.codes import Certainty, RefusalCode, Stage

#: The outcome for a pod: it moves, it stays, or it has no node (or one that the input does not hold).
PodOutcome = Literal["moves", "stays", "pending", "lost"]

#: What a change is made to.
ChangeKind = Literal[
    "resources",
    "toleration",
    "label",
    "uncordon",
    "volume",
    "pod",
    "protection",
    "limit",
    "budget",
    "certainty",
    "steering",
    "input",
    "scheduler",
]


class Reason(Struct, frozen=True):
    """Why the plan leaves a pod where it is; the same as in the plan's refusals."""

    stage: Stage
    code: RefusalCode
    message: str


class EvictorCheck(Struct, frozen=True):
    """One check of the evictor; ``message`` says why it fails, and is empty if it passes."""

    code: str
    passes: bool
    message: str = ""


class StageResult(Struct, frozen=True):
    """One stage of the arbiter; ``passes`` is null if that is not known, or if the placement does not check it."""

    stage: Stage
    passes: bool | None
    message: str
    code: str = ""


class Rejected(Struct, frozen=True):
    """Nodes that do not fit, for the same reasons; ``plugin`` is empty for nodes that a PreFilter result excludes."""

    plugin: str
    reasons: tuple[str, ...]
    nodes: tuple[str, ...]
    #: Details about the nodes in addition to the scheduler's words, such as amounts; by node.
    details: dict[str, str]


class LandingPlaces(Struct, frozen=True, rename="camel"):
    """Where the replacement could go, as the scheduler sees it once the plan is carried out."""

    fitting: tuple[str, ...]
    #: The nodes that could win, with their probabilities; empty if these are not known.
    candidates: tuple[str, ...]
    probabilities: tuple[float, ...]
    rejected: tuple[Rejected, ...]
    #: Why the kubelet of a node that fits refuses the pod, or may, by node; the scheduler does not look at that.
    kubelets: dict[str, str] = {}


class Step(Struct, frozen=True):
    """One thing to change; ``message`` ends a sentence that begins with "It would move"."""

    kind: ChangeKind
    message: str
    #: The node that it changes; null if it changes none.
    node: str | None = None
    #: How much more of which resources; CPU in milli, bytes, or whole units.
    amounts: dict[str, int] = {}


class SuggestedChange(Struct, frozen=True):
    """The smallest change that would let the pod move: all of the steps together.

    ``verified``: the plan was made again with the change, and moves the pod to ``to``; otherwise it only might.
    """

    steps: tuple[Step, ...]
    to: str | None
    #: Further nodes for which the same steps would do.
    others: tuple[str, ...]
    certainty: Certainty | None
    verified: bool


class StrategyView(Struct, frozen=True):
    """What one strategy wants of a pod once the plan is carried out."""

    profile: str
    plugin: str
    wanted: bool
    #: Whether the other fields are about the cluster before the plan, because the strategy wants nothing after it.
    before: bool
    #: Why the strategy wants it to move, or why not; empty if the strategy gives no reason.
    reason: str
    #: Why the plan leaves the pod where it is, if the strategy wanted to move it.
    refusal: Reason | None = None
    #: In the arbiter's order; empty if the strategy does not want to move the pod.
    gates: tuple[StageResult, ...] = ()
    checks: tuple[EvictorCheck, ...] = ()
    #: The candidates that would satisfy the strategy.
    welcome: tuple[str, ...] = ()
    changes: tuple[SuggestedChange, ...] = ()


class Load(Struct, frozen=True):
    """Requests on a node, as parts of what is allocatable, by resource."""

    before: dict[str, float]
    after: dict[str, float]


class PodExplanation(Struct, frozen=True, rename="camel"):
    """The whole answer about a pod."""

    metadata: OutputMetadata
    pod: PodRef
    owner: OwnerRef | None
    node: str | None
    load: Load | None
    outcome: PodOutcome
    move: Move | None
    strategies: tuple[StrategyView, ...]
    places: LandingPlaces | None
    #: The group that the pod belongs to, such as "LeaderWorkerSet default/llm-0"; null if it belongs to none.
    group: str | None = None
    api_version: str = API_VERSION
    kind: str = "PodExplanation"


class NodeResource(Struct, frozen=True):
    """One resource of a node: CPU in milli, bytes, or whole units."""

    name: str
    allocatable: int
    before: int
    after: int


class NodeClassification(Struct, frozen=True, rename="camel"):
    """The class that a strategy gives a node before the plan and after it; figures are percentages of capacity."""

    profile: str
    plugin: str
    #: over, under or between the thresholds; null if the strategy does not see the node or could not work.
    before: str | None
    after: str | None
    gives: bool
    load_before: dict[str, float]
    load_after: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    message: str = ""
    #: Where the load was measured and how old it is; empty if the load is what pods request.
    origin: str = ""


class Staying(Struct, frozen=True):
    """Pods of the node that a strategy wanted to move and that stay for the same reason."""

    stage: Stage
    code: str
    #: The most frequent message.
    message: str
    #: The strategies that wanted them.
    plugins: tuple[str, ...]
    pods: tuple[PodRef, ...]


class NodeExplanation(Struct, frozen=True, rename="camel"):
    """The whole answer about a node."""

    metadata: OutputMetadata
    node: str
    zone: str
    ready: bool
    #: Whether the policy's nodeSelector matches it.
    selected: bool
    unschedulable: bool
    taints: tuple[str, ...]
    resources: tuple[NodeResource, ...]
    pods_before: int
    pods_after: int
    strategies: tuple[NodeClassification, ...]
    leaving: tuple[Move, ...]
    coming: tuple[Move, ...]
    staying: tuple[Staying, ...]
    #: Why a plan puts nothing on it; empty if it may.
    closed: str = ""
    api_version: str = API_VERSION
    kind: str = "NodeExplanation"
