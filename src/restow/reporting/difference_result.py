"""What differs between two plans: who moves only in one of them, who moves elsewhere, what stays for another reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec import Struct

from restow.descheduling.plan import API_VERSION, Move, OwnerRef, PlanDocument, PodRef
from restow.policies.codes import Placement, RefusalCode, Stage


class PlanSide(Struct, frozen=True, rename="camel"):
    """One of the two plans."""

    #: The file of the plan, or of the policy that it was made by.
    name: str
    generated_at: str
    placement: Placement
    moves: int
    refusals: int


class MovedElsewhere(Struct, frozen=True, rename="camel"):
    """A pod that moves in both plans, but not between the same nodes; a target is null where it is not predicted."""

    pod: PodRef
    owner: OwnerRef | None
    old_from: str
    new_from: str
    old_to: str | None
    new_to: str | None


class RefusalCounts(Struct, frozen=True):
    """How many refusals of one reason each of the plans has."""

    stage: Stage
    code: RefusalCode
    old: int
    new: int


class SpreadAfter(Struct, frozen=True):
    """How unevenly a resource is used after each plan: the standard deviation of the nodes' shares; null if unknown."""

    resource: str
    old: float | None
    new: float | None


class PlanDifference(Struct, frozen=True, kw_only=True, rename="camel"):
    """Everything that differs; pods are the same if namespace and name are."""

    api_version: str = API_VERSION
    kind: str = "PlanDifference"
    old: PlanSide
    new: PlanSide
    #: How many moves are the same: of the same pod, from the same node, to the same one.
    same: int
    only_old: tuple[Move, ...]
    only_new: tuple[Move, ...]
    elsewhere: tuple[MovedElsewhere, ...]
    #: Only those of which there are not as many in both.
    refusals: tuple[RefusalCounts, ...]
    spread: tuple[SpreadAfter, ...]

    @property
    def is_empty(self) -> bool:
        """Whether both plans move the same pods between the same nodes, and refuse as many for each reason."""
        return not (self.only_old or self.only_new or self.elsewhere or self.refusals)


def difference(old: PlanDocument, new: PlanDocument, old_name: str, new_name: str) -> PlanDifference:
    """Compare two plans; moves are in the order of the plan that has them."""
    before, after = _by_pod(old), _by_pod(new)
    both = [(before[pod], after[pod]) for pod in before if pod in after]
    elsewhere = tuple(_elsewhere(*pair) for pair in both if _way(pair[0]) != _way(pair[1]))
    return PlanDifference(
        old=_side(old, old_name),
        new=_side(new, new_name),
        same=len(both) - len(elsewhere),
        only_old=tuple(move for pod, move in before.items() if pod not in after),
        only_new=tuple(move for pod, move in after.items() if pod not in before),
        elsewhere=elsewhere,
        refusals=tuple(_refusals(old, new)),
        spread=tuple(_spread(old, new)),
    )


def _by_pod(plan: PlanDocument) -> dict[str, Move]:
    return {str(each.pod): each for each in plan.moves}


def _way(move: Move) -> tuple[str, str | None]:
    return move.source, move.target


def _elsewhere(old: Move, new: Move) -> MovedElsewhere:
    return MovedElsewhere(old.pod, old.owner, old.source, new.source, old.target, new.target)


def _side(plan: PlanDocument, name: str) -> PlanSide:
    about = plan.metadata
    return PlanSide(name, about.generated_at, about.placement, len(plan.moves), len(plan.refusals))


def _refusals(old: PlanDocument, new: PlanDocument) -> Iterator[RefusalCounts]:
    """Yield the reasons in the order of the stages, then by code."""
    before, after = (Counter((each.stage, each.code) for each in plan.refusals) for plan in (old, new))
    order = list(Stage)
    for stage, code in sorted(before.keys() | after.keys(), key=lambda each: (order.index(each[0]), each[1])):
        counts = before[stage, code], after[stage, code]
        if counts[0] != counts[1]:
            yield RefusalCounts(stage, code, *counts)


def _spread(old: PlanDocument, new: PlanDocument) -> Iterator[SpreadAfter]:
    """Yield the resources by name. Of a plan without predictions nothing is known."""
    before, after = (plan.summary.utilisation.after for plan in (old, new))
    for resource in sorted(before.keys() | after.keys()):
        values = [load[resource].spread if resource in load else None for load in (before, after)]
        yield SpreadAfter(resource, *values)
