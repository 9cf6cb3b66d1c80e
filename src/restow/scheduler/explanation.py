"""Why one pod waits: the JSON of ``/pods/NAMESPACE/NAME``."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

#: The answer for all pods of a replica without the lease.
DOES_NOT_SCHEDULE: Final = "this replica does not schedule"


class LastAttempt(Struct, frozen=True, rename="camel"):
    """How a pod's last attempt ended."""

    result: str
    message: str
    seconds_ago: float
    #: Where its binding failed; empty where no node was found.
    node: str


class Objection(Struct, frozen=True, rename="camel"):
    """Why a plugin rejects some nodes."""

    #: Empty where several plugins exclude them together, and no single one does.
    plugin: str
    reasons: tuple[str, ...]
    count: int
    #: The first of them.
    nodes: tuple[str, ...]


class QueueExplanation(Struct, frozen=True, rename="camel"):
    """Why one pod waits. Durations are seconds."""

    namespace: str
    name: str
    uid: str
    scheduler: str
    #: Where it is: active, backoff, unschedulable, gated or in flight.
    queue: str
    attempts: int
    waited: float
    #: Seconds until the pod may be tried again without any event; None if unknown.
    tried_again_in: float | None
    nominated_node: str
    rejected_by: tuple[str, ...]
    waits_for: tuple[str, ...]
    #: All of that in words, a sentence each.
    sentences: tuple[str, ...]
    last_attempt: LastAttempt | None
    #: As the cluster is now.
    feasible_nodes: int
    objections: tuple[Objection, ...]
