"""A pod in the queue: what is known of it, and how its attempts went."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from restow.scheduling.framework.facts import PodFacts


class QueuePlace(StrEnum):
    """Where in the queue a pod is, as metrics call it."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    #: It is among the unschedulable, because a plugin does not let it be tried at all.
    GATED = "gated"
    #: It was taken out to be tried, or is being bound.
    IN_FLIGHT = "in flight"


@dataclass(slots=True, frozen=True)
class QueuedPod:
    """One pod with its attempts. Source: QueuedPodInfo, Kubernetes 1.36."""

    pod: PodFacts
    #: In which order it came; settles who is first where nothing else does.
    number: int
    #: When it came.
    added: float
    #: When it came, or came back after an attempt: of equal priority, who has waited longer is first.
    since: float
    #: When it could be tried for the first time; None where it never could.
    first_active: float | None = None
    attempts: int = 0
    #: How often it was rejected, and how many attempts in a row ended in an error.
    rejections: int = 0
    errors: int = 0
    #: The plugins that rejected it in the last attempt, and those that have kept it from being tried since.
    rejected_by: frozenset[str] = frozenset()
    #: The plugin that does not let it be tried; empty where none does.
    gated_by: str = ""
    #: Whether it is tried again only because it had waited for so long.
    was_flushed: bool = False

    @property
    def key(self) -> str:
        """The uid of the pod."""
        return self.pod.uid

    @property
    def failures(self) -> int:
        """The number of failures that the wait before the next attempt depends on."""
        return self.errors or self.rejections

    @property
    def order(self) -> tuple[int, float, int]:
        """Its place among pods that can be tried. Source: PrioritySort, Kubernetes 1.36."""
        return -self.pod.priority, self.since, self.number

    def failed(self, rejected_by: frozenset[str], now: float) -> QueuedPod:
        """The pod after an attempt that ended with these rejections or, without any, in an error."""
        return replace(
            self,
            since=now,
            rejections=self.rejections + bool(rejected_by),
            errors=0 if rejected_by else self.errors + 1,
            rejected_by=rejected_by,
            gated_by="",
            was_flushed=False,
        )
