"""One move of a plan with everything that carrying it out depends on, and the outcomes while it is carried out.

A task holds names only, no indices of a cluster. It has exactly one ending (``ENDINGS``). Before it may come
``Postponed``, then ``Evicted``, then ``Landed``.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import Enum
from typing import Any

from msgspec import UNSET, Struct, field

from restow.descheduling.plan import Move
from restow.kube.objects import OwnerReference
from restow.policies.codes import Certainty, LandingKind, OutcomeCode, PlacementConstraint, ReplacementMode
from restow.workloads.replacements import ReplacementPolicy


class Task(Struct, frozen=True):
    """A move to make, with what its eviction needs."""

    #: The move's place in the plan.
    number: int
    move: Move
    #: The controller that creates the replacement; None where there is none.
    owner: OwnerReference | None
    #: The uid of the topmost known workload of the pod; the pod's own if it has none.
    workload: str
    replacement_policy: ReplacementPolicy
    #: How many pods of the workload may be on their way at a time.
    limit: int = 1
    #: The disruption budgets over the pod, as namespace/name.
    budgets: frozenset[str] = field(default_factory=frozenset)

    #: Whether the eviction may be a request that another program fulfils later.
    request_only: bool = False
    #: Whether the places of other pods do not matter for where the replacement may go, by the rules of the pod.
    is_independent: bool = False
    #: Equal for moves of a plan whose replacements may change places; None if this one's may not.
    interchangeable: Hashable | None = None
    #: The group that the pod belonged to when the plan was made, as text; empty if it was in none.
    group: str = ""
    #: Whether the controller deletes the pod itself once another pod of its group is evicted.
    restarts: bool = False
    #: What has the replacement gated, where that is not the uid of its controller: of a rollout, what the template carries.
    gate: str = ""
    #: What the plan assumes of the replacement: what the scheduler reads of it, by column. Empty where it assumes nothing.
    replacement: Mapping[str, Any] = field(default_factory=dict)
    #: The measured usage of the pod, in nano-units by resource; empty if it is not used.
    used: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_proven(self) -> bool:
        """Whether the move was proven, so that it assumes the landings of the moves before it."""
        return self.move.certainty is not None

    @property
    def is_replaced(self) -> bool:
        """Whether there will be a replacement."""
        return self.replacement_policy not in (ReplacementPolicy.NOT_NEEDED, ReplacementPolicy.NONE)

    @property
    def is_steered(self) -> bool:
        """Whether to steer the replacement to its target."""
        return self.move.steering is not None

    @property
    def gated_by(self) -> str:
        """What has the replacement gated when it is created: the uid of its controller, or of the pod that is rolled out."""
        assert self.owner is not None
        return self.gate or self.owner.uid

    @property
    def has_new_owner(self) -> bool:
        """Whether another controller than the pod's makes the replacement: that of a rollout which has begun."""
        return self.move.mode is ReplacementMode.ROLLOUT and not self.gate

    @property
    def evicts_instead(self) -> bool:
        """Whether the pod is evicted where its replacement cannot come first."""
        return self.move.evicts_instead is True

    def goes_beside(self, before: Task) -> bool:
        """Whether it need not wait for the landing of an earlier move.

        Both are steered, or both are certain to land in places that the other may take as well; no rule connects the two, and
        this one does not go to the node that the other leaves.
        """
        pair = (self, before)
        is_beside = all(each.is_steered for each in pair) or all(each.shares_places for each in pair)
        are_free = is_beside and all(each.is_independent and not each.lands_late for each in pair)
        return are_free and self.workload != before.workload and self.move.target != before.move.source

    @property
    def shares_places(self) -> bool:
        """Whether it is certain to land in a place that others may take as well."""
        return self.interchangeable is not None and self.move.certainty == Certainty.CERTAIN

    @property
    def lands_late(self) -> bool:
        """Whether the replacement has a place only once later moves of its proposal have been made."""
        return self.move.proposal is not UNSET and self.move.proposal.waits

    @property
    def may_return(self) -> bool:
        """Whether the strategy only wants the pod replaced: the same node will do, and so will moving it again later."""
        return self.move.constraint is PlacementConstraint.ANYWHERE


class LandingMatch(Enum):
    """How a landing compares with the plan."""

    #: On one of the candidates, or in the place that the plan has for an interchangeable pod.
    PREDICTED = "predicted"
    #: On a candidate where the strategy gains nothing.
    IN_VAIN = "in vain"
    #: On another node.
    ELSEWHERE = "elsewhere"
    #: On the node that it was taken from, although it had to go elsewhere.
    BACK = "back"
    #: On another node, but an earlier move had not gone as planned, or the API server was out of reach meanwhile.
    VOID = "void"
    #: The plan does not say where.
    UNPREDICTED = "unforetold"


class Postponed(Struct, frozen=True):
    """The budget has no room, or the API server is busy. Reported once; the eviction is requested again later."""

    task: Task
    message: str


class Evicted(Struct, frozen=True):
    """The API server has accepted the eviction."""

    task: Task


class Landed(Struct, frozen=True):
    """The replacement has a node."""

    task: Task
    pod: str
    node: str
    match: LandingMatch
    #: Whether the proofs of later moves assume another landing.
    invalidates_plan: bool = False


class Settled(Struct, frozen=True):
    """An ending: the replacement is ready, or has terminated already."""

    task: Task


class Cleared(Struct, frozen=True):
    """An ending: evicted, and there will be no replacement."""

    task: Task
    #: Whether the proofs of later moves assume that one comes.
    invalidates_plan: bool = False


class WouldEvict(Struct, frozen=True):
    """An ending of a dry run: it would have been evicted."""

    task: Task


class Dropped(Struct, frozen=True):
    """An ending: not evicted, because the move is out of date or restow backs off from the workload."""

    task: Task
    message: str
    code: OutcomeCode


class Requested(Struct, frozen=True):
    """An ending: not evicted, but a webhook has accepted the request and evicts the pod later."""

    task: Task


class Blocked(Struct, frozen=True):
    """An ending: not evicted, the budget had no room until the deadline."""

    task: Task
    message: str


class Failed(Struct, frozen=True):
    """An ending: not evicted, the API server refused or did not answer."""

    task: Task
    message: str


class Unready(Struct, frozen=True):
    """An ending: evicted, but the replacement was not ready in time."""

    task: Task
    message: str


class Missing(Struct, frozen=True):
    """An ending: evicted, but no replacement came in time."""

    task: Task
    message: str


class Unverified(Struct, frozen=True):
    """An ending: evicted, but restow stopped or lost sight of the pods before the result was known."""

    task: Task
    message: str


Ending = Settled | Cleared | WouldEvict | Dropped | Requested | Blocked | Failed | Unready | Missing | Unverified
ENDINGS = (Settled, Cleared, WouldEvict, Dropped, Requested, Blocked, Failed, Unready, Missing, Unverified)
#: Endings after which the cluster is not as the proofs of later moves assume.
UNFULFILLED = (Dropped, Requested, Blocked, Failed, Missing, Unready)
Outcome = Postponed | Evicted | Landed | Ending


def landing_kind(task: Task, node: str, match: LandingMatch) -> LandingKind | None:
    """Whether a replacement landed on its target, on another good node, or missed; None if the plan does not say where.

    Another good node is one where the strategy gains what it wanted, or the place of an interchangeable pod.
    """
    if match is LandingMatch.UNPREDICTED:
        return None
    if match is not LandingMatch.PREDICTED:
        return LandingKind.MISSED
    return LandingKind.TARGET if node == task.move.target else LandingKind.OTHER


def match_of(task: Task, node: str, *, has_place: bool, on_track: bool) -> LandingMatch:
    """How the node of a replacement compares with the plan.

    ``has_place``: the plan has a place for it there. ``on_track``: all moves before did what the proof of this one assumes.
    """
    move = task.move
    if node in move.in_vain:
        return LandingMatch.IN_VAIN
    if (
        (has_place and move.target is not None)
        or node in move.candidates
        or (move.candidate_count > len(move.candidates) and node != move.source)
    ):
        return LandingMatch.PREDICTED
    if move.candidates and not on_track:
        return LandingMatch.VOID
    if node == move.source and not task.may_return:
        return LandingMatch.BACK
    return LandingMatch.ELSEWHERE if move.candidates else LandingMatch.UNPREDICTED
