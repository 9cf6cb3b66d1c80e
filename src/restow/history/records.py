"""What is kept of a cycle and of a move. Times are seconds since the epoch, names are those of the API."""

from __future__ import annotations

from msgspec import Struct


class CycleRecord(Struct, frozen=True, rename="camel"):
    """One cycle."""

    began: float
    ended: float
    #: ``done``, ``skipped`` (fewer than two usable nodes) or ``failed``.
    result: str
    dry_run: bool
    #: Decided.
    moves: int
    refusals: int
    #: By resource, the standard deviation over the nodes of the requested share, before and as decided.
    spread: dict[str, tuple[float, float]] = {}


class MoveRecord(Struct, frozen=True, rename="camel"):
    """One move, or why it was not made."""

    at: float
    namespace: str
    pod: str
    uid: str
    #: Kind/name of the topmost workload; empty for a pod without one.
    workload: str
    profile: str
    strategy: str
    reason: str
    source: str
    #: Empty where the plan names none.
    target: str
    #: Empty in ``upstream`` placement.
    certainty: str
    steered: bool
    #: ``moved``, ``evicted`` (the replacement was not seen to be ready), ``requested``, ``dropped``, ``blocked``, ``failed``, or
    #: ``planned`` in a dry run.
    result: str
    #: Why it was dropped.
    code: str = ""
    message: str = ""
    replacement: str = ""
    #: The node of the replacement.
    landed: str = ""
    #: ``target``, ``other`` (another good node) or ``missed``; empty where the plan does not say where, or nothing landed.
    landing: str = ""
    landed_at: float | None = None
    ready_at: float | None = None
