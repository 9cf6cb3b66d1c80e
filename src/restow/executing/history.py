"""What is remembered of evictions: of workloads and usage from one cycle to the next, and of each move of an applied plan.

A *failed prediction* is a replacement that landed elsewhere than predicted, came back to its node, never came, or that the
same strategy wants to move again. After the first, restow backs off from the workload for a while; each further one doubles
that time. A replacement that is ready where it was predicted ends it. Time is an argument, in seconds of the event loop.

In a plan that is applied, a move is first either *refused* or *promised*. A promised move ends as *moved* (its
replacement is ready, or none was needed), as *dropped* (the pod was not evicted) or as *evicted* (it was, but its
replacement was not seen to be ready).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec
from msgspec import UNSET, Struct, structs

from restow.cluster.usage_samples import UsageChange
from restow.descheduling.plan import Move, PodRef
from restow.executing.surroundings import Clock
from restow.executing.task import (
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
    Task,
    Unready,
    Unverified,
    landing_kind,
)
from restow.kube.duration import HOUR, SECOND, format_duration
from restow.policies.codes import AppliedResult, LandingKind, OutcomeCode, SteeringMode
from restow.proving.replaying import RefusedMove

#: The first pause and the longest (seconds).
FIRST_PAUSE = 300.0
LONGEST_PAUSE = 4 * 3600.0
#: Failed predictions are forgotten after this time without another one (seconds).
_FORGET = 24 * 3600.0
#: If its strategy wants to move a replacement again within this time (seconds), the first move was useless.
_SOON = 3600.0
#: A request that is not fulfilled within this time is forgotten (seconds); in the Descheduler after 10 to 20 minutes.
_FULFILLED = 900.0
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
#: Figures of a longer window are taken as they are (nanoseconds).
_KEPT: Final = 24 * HOUR


class Pause(Struct, frozen=True):
    """Why restow backs off from a workload, and until when."""

    whose: str
    why: str
    since: float
    until: float
    #: Failed predictions in a row.
    times: int


class Awaited(Struct, frozen=True):
    """A replacement that was not ready in time."""

    namespace: str
    name: str
    uid: str


@dataclass(slots=True)
class EvictionHistory:
    """What one process remembers over all its cycles."""

    _pauses: dict[str, Pause] = field(default_factory=dict)
    _awaited: dict[str, Awaited] = field(default_factory=dict)
    #: The strategy and the time of each replacement without a predicted node, by uid.
    _moved: dict[str, tuple[str, float]] = field(default_factory=dict)
    #: When another program was asked to evict a pod, by uid.
    _requested: dict[str, float] = field(default_factory=dict)

    def reason_against(self, task: Task, now: float) -> str | None:
        """Why restow backs off from a workload now. A strategy that wants to move its own replacement is noted here."""
        plugin, at = self._moved.get(task.move.pod.uid, ("", 0.0))
        if plugin == task.move.plugin and now - at < _SOON:
            del self._moved[task.move.pod.uid]
            self.note_failed_prediction(task, now, f"{plugin} moved it {_ago(now - at)} ago and wants to move it again")
        return self.pausing(now).get(task.workload)

    def pausing(self, now: float) -> dict[str, str]:
        """Why restow backs off from workloads now, by uid."""
        return {uid: _sentence(pause, now) for uid, pause in self._pauses.items() if now < pause.until}

    def note_failed_prediction(self, task: Task, now: float, why: str) -> None:
        """Note a failed prediction. During a back-off further ones do not count."""
        before = self._pauses.get(task.workload)
        if before is not None and before.since <= now < before.until:
            return
        times = before.times + 1 if before is not None and now - before.until < _FORGET else 1
        pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(times - 1, 16))
        self._pauses = {each: known for each, known in self._pauses.items() if now - known.until < _FORGET}
        whose = str(task.move.owner or task.move.pod)
        self._pauses[task.workload] = Pause(whose, why, now, now + pause, times)

    def confirm(self, task: Task) -> None:
        """A replacement is ready where it was predicted to land: end the back-off."""
        self._pauses.pop(task.workload, None)

    def note(self, task: Task, replacement: str, now: float) -> None:
        """Remember a replacement (a uid) whose node was not predicted, to notice if its strategy moves it again."""
        self._moved = {uid: (plugin, at) for uid, (plugin, at) in self._moved.items() if now - at < _SOON}
        if not task.may_return:
            self._moved[replacement] = (task.move.plugin, now)

    def request(self, task: Task, now: float) -> None:
        """Remember that another program was asked to evict a pod."""
        self._requested = {uid: at for uid, at in self._requested.items() if now - at < _FULFILLED}
        self._requested[task.move.pod.uid] = now

    def requested(self, task: Task, now: float) -> str | None:
        """Why the eviction of a pod is not requested again; None if it may be."""
        at = self._requested.get(task.move.pod.uid)
        if at is None or now - at >= _FULFILLED:
            return None
        return f"its eviction was requested {_ago(now - at)} ago"

    def wait_for(self, task: Task, replacement: Awaited) -> None:
        """Remember that a replacement was not ready in time."""
        self._awaited[task.workload] = replacement

    def awaited(self, task: Task) -> Awaited | None:
        """The last replacement of a task's workload that was not ready in time."""
        return self._awaited.get(task.workload)

    def arrived(self, task: Task) -> None:
        """Forget that replacement: it is ready now, or gone."""
        self._awaited.pop(task.workload, None)


def _sentence(pause: Pause, now: float) -> str:
    times = f"{pause.times} times in a row" if pause.times > 1 else "once"
    return f"backing off from {pause.whose} for {_ago(pause.until - now)} ({times}): {pause.why}"


def _ago(seconds: float) -> str:
    return format_duration(int(seconds) * SECOND)


class AppliedMove(Struct, frozen=True, rename="camel"):
    """One move of the plan, and its outcome."""

    pod: PodRef
    source: str = msgspec.field(name="from")
    target: str | None = msgspec.field(name="to")
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


@dataclass(slots=True)
class UsageChanges:
    """What was moved lately; kept by a process over all its cycles."""

    #: What time it is in the cluster.
    clock: Clock
    _known: list[UsageChange] = field(default_factory=list)

    def note(self, outcome: Outcome) -> None:
        """Write down who has left a node, or come to one."""
        match outcome:
            case Evicted(task):
                self._add(task.move.source, {name: -amount for name, amount in task.used.items()})
            case Landed(task, _, node, _):
                self._add(node, task.used)

    def now(self) -> tuple[UsageChange, ...]:
        """What figures may not show yet."""
        oldest = int(self.clock() * SECOND) - _KEPT
        self._known = [each for each in self._known if each.at >= oldest]
        return tuple(self._known)

    def _add(self, node: str, amounts: Mapping[str, int]) -> None:
        if amounts:
            self._known.append(UsageChange(node, int(self.clock() * SECOND), amounts))
