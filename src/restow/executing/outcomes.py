"""The events while a plan is carried out.

Every task has exactly one ending (``ENDINGS``). Before it may come ``Postponed``, then ``Evicted``, then ``Landed``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from restow.executing.task import Task
from restow.policies.codes import LandingKind, OutcomeCode


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


@dataclass(slots=True, frozen=True)
class Postponed:
    """The budget has no room, or the API server is busy. Reported once; the eviction is requested again later."""

    task: Task
    message: str


@dataclass(slots=True, frozen=True)
class Evicted:
    """The API server has accepted the eviction."""

    task: Task


@dataclass(slots=True, frozen=True)
class Landed:
    """The replacement has a node."""

    task: Task
    pod: str
    node: str
    match: LandingMatch
    #: Whether the proofs of later moves assume another landing.
    invalidates_plan: bool = False


@dataclass(slots=True, frozen=True)
class Settled:
    """An ending: the replacement is ready, or has terminated already."""

    task: Task


@dataclass(slots=True, frozen=True)
class Cleared:
    """An ending: evicted, and there will be no replacement."""

    task: Task
    #: Whether the proofs of later moves assume that one comes.
    invalidates_plan: bool = False


@dataclass(slots=True, frozen=True)
class WouldEvict:
    """An ending of a dry run: it would have been evicted."""

    task: Task


@dataclass(slots=True, frozen=True)
class Dropped:
    """An ending: not evicted, because the move is out of date or restow backs off from the workload."""

    task: Task
    message: str
    code: OutcomeCode


@dataclass(slots=True, frozen=True)
class Requested:
    """An ending: not evicted, but a webhook has accepted the request and evicts the pod later."""

    task: Task


@dataclass(slots=True, frozen=True)
class Blocked:
    """An ending: not evicted, the budget had no room until the deadline."""

    task: Task
    message: str


@dataclass(slots=True, frozen=True)
class Failed:
    """An ending: not evicted, the API server refused or did not answer."""

    task: Task
    message: str


@dataclass(slots=True, frozen=True)
class Unready:
    """An ending: evicted, but the replacement was not ready in time."""

    task: Task
    message: str


@dataclass(slots=True, frozen=True)
class Missing:
    """An ending: evicted, but no replacement came in time."""

    task: Task
    message: str


@dataclass(slots=True, frozen=True)
class Unverified:
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
