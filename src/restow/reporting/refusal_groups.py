"""Refusals by stage and code: counts that open into pods, the most frequent reason first."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import UNSET

from restow.descheduling.plan import PlanDocument, PodRef, Refusal
from restow.policies.codes import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

_STAGES = tuple(Stage)


@dataclass(slots=True, frozen=True)
class RefusalGroup:
    """Every refusal of one stage and code, in the plan's order; of a limit that something stands behind, a group each."""

    stage: Stage
    code: str
    #: The most frequent message; of a limit that something stands behind, what that says.
    message: str
    #: How many different messages there are.
    messages: int
    refusals: tuple[Refusal, ...]

    @property
    def example(self) -> str:
        """The message, marked as one of several where it is."""
        return self.message if self.messages == 1 else f"e.g. {self.message}"


def group_refusals(refusals: Iterable[Refusal]) -> tuple[RefusalGroup, ...]:
    """Return groups by falling count, then in the arbiter's order of stages, then by code and message."""
    members: dict[tuple[Stage, str, str], list[Refusal]] = defaultdict(list)
    for refusal in refusals:
        behind = "" if refusal.also_refused_by is UNSET else refusal.also_refused_by.code
        members[refusal.stage, refusal.code, behind].append(refusal)
    groups = [_group(stage, code, found) for (stage, code, _), found in members.items()]
    order = {stage: position for position, stage in enumerate(_STAGES)}
    return tuple(sorted(groups, key=lambda each: (-len(each.refusals), order[each.stage], each.code, each.message)))


def _group(stage: Stage, code: str, refusals: list[Refusal]) -> RefusalGroup:
    messages = Counter(map(_shown, refusals))
    message = min(messages, key=lambda each: (-messages[each], each))
    return RefusalGroup(stage, code, message, len(messages), tuple(refusals))


def _shown(refusal: Refusal) -> str:
    """The message; of a limit that something stands behind only that, for the code says the rest."""
    behind = refusal.also_refused_by
    return refusal.message if behind is UNSET else f"a higher limit would meet {behind.code}: {behind.message}"


def refused_pods(refusal: Refusal) -> tuple[PodRef, ...]:
    """The pods that stay by one refusal: of a proposal all that it would have moved, first the one that cannot go."""
    return (refusal.pod, *also_staying(refusal))


def also_staying(refusal: Refusal) -> tuple[PodRef, ...]:
    """The pods that could go if the refused one could."""
    return () if refusal.proposal is UNSET else refusal.proposal.also_staying


def staying_pods(plan: PlanDocument) -> int:
    """Count the pods that some strategy wanted to move and none does."""
    moved = {str(each.pod) for each in plan.moves}
    return len({str(pod) for each in plan.refusals for pod in refused_pods(each)} - moved)
