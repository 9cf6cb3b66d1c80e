"""Records the outcome of each move of a plan that is applied.

At first a move is either *refused* or *promised*. A promised move ends as *moved* (its replacement is ready, or none
was needed), as *dropped* (the pod was not evicted) or as *evicted* (it was, but its replacement was not seen to be
ready).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import UNSET, Struct, field, structs

from restow.descheduling.plan import Move, PodRef
from restow.descheduling.replaying import RefusedMove
from restow.executing.outcomes import (
    Blocked,
    Cleared,
    Dropped,
    Evicted,
    Failed,
    Landed,
    LandingMatch,
    Missing,
    Outcome,
    Requested,
    Settled,
    Unready,
    Unverified,
    landing_kind,
)
from restow.executing.task import Task
from restow.policies.codes import AppliedResult, LandingKind, OutcomeCode, SteeringMode

#: Landings with which a promise is kept.
_AS_PLANNED: Final = (LandingMatch.PREDICTED, LandingMatch.UNPREDICTED)
#: A move that was dropped with one of these codes is tried once more: the rest of the plan is decided again or
#: unsteered.
_OPEN: Final = (OutcomeCode.REPLANNED, OutcomeCode.UNSTEERED)
#: The codes of endings that have no code of their own.
_CODES: Final[Mapping[type[Outcome], OutcomeCode]] = {
    Unready: OutcomeCode.UNREADY,
    Missing: OutcomeCode.MISSING,
    Unverified: OutcomeCode.UNVERIFIED,
    Blocked: OutcomeCode.BLOCKED,
    Failed: OutcomeCode.FAILED,
}
#: Landings with which it is broken, and what is reported.
ELSEWHERE: Final = {
    LandingMatch.IN_VAIN: "where its strategy gains nothing",
    LandingMatch.ELSEWHERE: "which the plan does not name",
    LandingMatch.BACK: "from where it was taken",
    LandingMatch.VOID: "which the plan does not name",
}


#: Profile, strategy and purpose of a proposal.
ProposalKey = tuple[str, str, str]


class AppliedMove(Struct, frozen=True, rename="camel"):
    """One move of the plan, and its outcome."""

    pod: PodRef
    source: str = field(name="from")
    target: str | None = field(name="to")
    steering: SteeringMode | None
    result: AppliedResult
    #: The node of the replacement; null where none has one.
    landed: str | None = None
    #: The name of the replacement.
    replacement: str | None = None
    #: Whether it landed where the plan wants it; null where it did not land.
    as_planned: bool | None = None
    #: Whether that is its target, another good node, or neither; null where it did not land, and where the plan does not
    #: say where.
    landing: LandingKind | None = None
    #: Why it was not made, or is not known to be ready.
    code: str = ""
    message: str = ""

    @property
    def kept(self) -> bool:
        """Whether the promise of this move was kept."""
        return self.result == AppliedResult.MOVED and self.as_planned is not False


class Ledger:
    """One entry for each move, updated while the plan is applied."""

    def __init__(self, moves: Iterable[Move]) -> None:
        self._moves = {each.pod.uid: each for each in moves}
        self._entries = {
            uid: AppliedMove(move.pod, move.source, move.target, move.steering, AppliedResult.PROMISED)
            for uid, move in self._moves.items()
        }

    @property
    def entries(self) -> tuple[AppliedMove, ...]:
        """Every move in the plan's order."""
        return tuple(self._entries.values())

    @property
    def open(self) -> tuple[Move, ...]:
        """The moves that were promised and have not been begun."""
        return tuple(self._moves[uid] for uid, each in self._entries.items() if each.result == AppliedResult.PROMISED)

    @property
    def kept(self) -> bool:
        """Whether all promises were kept."""
        return all(each.kept for each in self._entries.values() if each.result != AppliedResult.REFUSED)

    @property
    def broken(self) -> dict[ProposalKey, PodRef]:
        """The proposals that cannot be completed any more, each with one of its pods that was not moved."""
        lost = (AppliedResult.REFUSED, AppliedResult.DROPPED)
        found = ((self._moves[uid], each) for uid, each in self._entries.items() if each.result in lost)
        return {key: each.pod for move, each in found if (key := proposal_of(move)) is not None}

    def promise(self, moves: Iterable[Move]) -> None:
        """Record the moves as they will be made: their targets may be other candidates than in the plan."""
        for each in moves:
            self._set(each.pod.uid, target=each.target, steering=each.steering)

    def refuse(self, refused: Iterable[RefusedMove]) -> None:
        """Record moves that do not hold any more, before anything is promised."""
        for each in refused:
            self._set(each.move.pod.uid, result=AppliedResult.REFUSED, code=each.code, message=each.message)

    def drop(self, refused: Sequence[RefusedMove]) -> None:
        """Record promised moves that do not hold any more."""
        for each in refused:
            self._set(each.move.pod.uid, result=AppliedResult.DROPPED, code=each.code, message=each.message)

    def close(self, code: OutcomeCode, message: str) -> None:
        """End all open entries: nothing more is begun, and nothing more will be known."""
        for uid, each in self._entries.items():
            if each.result == AppliedResult.PROMISED:
                self._set(uid, result=AppliedResult.DROPPED, code=code, message=message)
            elif each.result == AppliedResult.EVICTED and not each.code:
                self._set(uid, code=code, message=message)

    def note(self, outcome: Outcome) -> None:
        """Record an outcome."""
        match outcome:
            case Evicted(task):
                self._of(task, result=AppliedResult.EVICTED)
            case Landed(task, pod, node, match):
                missed = f"it landed on {node}, {ELSEWHERE[match]}" if match in ELSEWHERE else ""
                self._of(
                    task,
                    landed=node,
                    replacement=pod,
                    as_planned=match in _AS_PLANNED,
                    landing=landing_kind(task, node, match),
                    message=missed,
                )
            case Settled(task) | Cleared(task):
                self._of(task, result=AppliedResult.MOVED)
            case Unready(task, message) | Missing(task, message) | Unverified(task, message):
                self._of(task, code=_CODES[type(outcome)], message=message)
            case Dropped(task, message, code) if code not in _OPEN:
                self._of(task, result=AppliedResult.DROPPED, code=code, message=message)
            case Blocked(task, message) | Failed(task, message):
                self._of(task, result=AppliedResult.DROPPED, code=_CODES[type(outcome)], message=message)
            case Requested(task):
                self._of(
                    task,
                    result=AppliedResult.DROPPED,
                    code=OutcomeCode.REQUESTED,
                    message="somebody else evicts it later",
                )

    def _of(self, task: Task, **changes: object) -> None:
        self._set(task.move.pod.uid, **changes)

    def _set(self, uid: str, **changes: object) -> None:
        self._entries[uid] = structs.replace(self._entries[uid], **changes)


def proposal_of(move: Move) -> ProposalKey | None:
    """The proposal that a move belongs to; None for a single move."""
    return None if move.proposal is UNSET else (move.profile, move.plugin, move.proposal.purpose)


def apart(move: Move, broken: Mapping[ProposalKey, PodRef]) -> str | None:
    """Why a move is not made any more, if another move of its proposal was not; None if none was lost."""
    key = proposal_of(move)
    return f"it is moved together with {broken[key]} or not at all" if key is not None and key in broken else None
