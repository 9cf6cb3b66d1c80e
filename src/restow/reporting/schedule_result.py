"""What becomes of waiting pods, as programs read it.

These structs *are* the JSON schema of ``restow schedule -o json`` (DESIGN section 6). They hold names, never indices.
Nodes are in the order of their names, everywhere.
"""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from restow.descheduling.plan import API_VERSION, PodRef


class Rejection(Struct, frozen=True):
    """Why a plugin does not let a pod onto a node; *unresolvable* where no preemption could help."""

    plugin: str
    reasons: tuple[str, ...]
    unresolvable: bool


class PodOutcome(Struct, frozen=True, rename="camel"):
    """What the scheduler says of one pod."""

    pod: PodRef
    #: Where the pod goes: the first of ``best``.
    node: str | None
    #: Where it is already; it was asked about as if it were pending.
    current_node: str | None = None
    #: Where it waits for its victims to leave.
    nominated_node: str | None = None
    victims: tuple[PodRef, ...] = ()
    #: Why it may not be scheduled yet; nothing else is known then.
    gated: str | None = None
    #: That of the condition PodScheduled; empty for a pod that gets a node.
    message: str = ""
    feasible: tuple[str, ...] = ()
    best: tuple[str, ...] = ()
    #: By node and plugin, weighted; their sum is "total".
    scores: dict[str, dict[str, int]] = {}
    rejected: dict[str, Rejection] = {}
    #: Who ruled out every node before one was looked at.
    pre_filter: Rejection | None = None


class ScheduleMetadata(Struct, frozen=True, rename="camel", omit_defaults=True):
    """When and by what it was made; ``timings`` (seconds by phase) only with ``--timings``."""

    generated_at: str
    restow_version: str
    timings: dict[str, float] | UnsetType = UNSET


class ScheduleResult(Struct, frozen=True, rename="camel"):
    """The whole answer: the pods in the order in which they were scheduled, then those that are gated."""

    metadata: ScheduleMetadata
    pods: tuple[PodOutcome, ...]
    api_version: str = API_VERSION
    kind: str = "ScheduleResult"
