"""Keeps what cycles do: each move from its eviction to the readiness of its replacement, and the figures of each cycle."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from msgspec import structs

from restow.executing.surroundings import Clock
from restow.executing.task import (
    Blocked,
    Cleared,
    Dropped,
    Evicted,
    Failed,
    Landed,
    Missing,
    Outcome,
    Requested,
    Settled,
    Task,
    Unready,
    Unverified,
    WouldEvict,
    landing_kind,
)
from restow.history.file import HistoryFile
from restow.history.records import CycleRecord, MoveRecord
from restow.policies.codes import OutcomeCode
from restow.serving.figures import CycleFigures

_PLANNED: Final = "planned"


@dataclass(slots=True)
class HistoryKeeper:
    """Turns outcomes into records; a move is written again with each outcome."""

    file: HistoryFile
    clock: Clock
    dry_run: bool
    #: Moves that are under way, by the uid of the pod.
    _under_way: dict[str, MoveRecord] = field(init=False, default_factory=dict)

    def outcome(self, outcome: Outcome) -> None:
        """Keep one outcome of a move."""
        match outcome:
            case Evicted(task):
                self._put(self._record(task, "evicted"))
            case WouldEvict(task):
                self._put(self._record(task, _PLANNED))
            case Requested(task):
                self._put(self._record(task, "requested"))
            case Dropped(task, message, code):
                if code != OutcomeCode.REPLANNED:
                    self._put(structs.replace(self._record(task, "dropped"), code=code, message=message))
            case Blocked(task, message):
                self._put(structs.replace(self._record(task, "blocked"), message=message))
            case Failed(task, message):
                self._put(structs.replace(self._record(task, "failed"), message=message))
            case _:
                self._follow(outcome)

    def cycle_done(self, figures: CycleFigures) -> None:
        """Keep the figures of a cycle."""
        cycle = CycleRecord(
            began=figures.ended - figures.seconds,
            ended=figures.ended,
            result=figures.result,
            dry_run=self.dry_run,
            moves=sum(figures.moves.values()),
            refusals=sum(figures.refusals.values()),
            spread={name: (round(before, 4), round(after, 4)) for name, (before, after) in figures.imbalance.items()},
        )
        self.file.put_cycle(cycle)
        # What is not ready by the end of its cycle is not waited for.
        self._under_way.clear()

    def _follow(self, outcome: Outcome) -> None:
        known = self._under_way.get(outcome.task.move.pod.uid)
        if known is None:
            return
        match outcome:
            case Landed(task, pod, node, match):
                landing = landing_kind(task, node, match)
                kind = "" if landing is None else landing.value
                self._put(structs.replace(known, replacement=pod, landed=node, landing=kind, landed_at=self.clock()))
            case Settled():
                self._put(structs.replace(known, result="moved", ready_at=self.clock()))
            case Cleared():
                self._put(structs.replace(known, result="moved"))
            case Missing(_, message) | Unready(_, message) | Unverified(_, message):
                self._put(structs.replace(known, message=message))

    def _put(self, record: MoveRecord) -> None:
        self._under_way[record.uid] = record
        self.file.put_move(record)

    def _record(self, task: Task, result: str) -> MoveRecord:
        move = task.move
        return MoveRecord(
            at=self.clock(),
            namespace=move.pod.namespace,
            pod=move.pod.name,
            uid=move.pod.uid,
            workload="" if move.owner is None else f"{move.owner.kind}/{move.owner.name}",
            profile=move.profile,
            strategy=move.plugin,
            reason=move.reason,
            source=move.source,
            target=move.target or "",
            certainty=move.certainty or "",
            steered=task.is_steered,
            result=result,
        )
