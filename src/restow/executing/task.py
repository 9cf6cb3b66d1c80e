"""One move of a plan with everything that carrying it out depends on. It holds names only, no indices of a cluster."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec import UNSET

from restow.descheduling.plan import Move
from restow.kube.objects import OwnerReference
from restow.policies.codes import Certainty, PlacementConstraint
from restow.workloads.replacement_policy import ReplacementPolicy


@dataclass(slots=True, frozen=True)
class Task:
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
