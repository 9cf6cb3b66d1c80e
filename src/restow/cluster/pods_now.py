"""One pod as it is at this moment, for the code that acts on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from restow.cluster.pod_values import NO_TIME, NO_VETOES, Flag, GroupMarks, Phase, PodVetoes
from restow.kube.objects import Condition, OwnerReference


@dataclass(slots=True, frozen=True)
class PodNow:
    """Questions about a single pod before and after an eviction."""

    namespace: str
    name: str
    uid: str
    #: ``spec.nodeName``; None while it is pending.
    node: str | None
    phase: Phase
    flags: Flag
    owners: tuple[OwnerReference, ...]
    conditions: tuple[Condition, ...]
    #: creationTimestamp, nanoseconds since the epoch.
    created: int
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    #: What else names its group.
    group_marks: GroupMarks = ()
    #: status.startTime, or NO_TIME.
    started: int = NO_TIME
    #: What its annotations forbid.
    vetoes: PodVetoes = NO_VETOES

    @property
    def is_terminating(self) -> bool:
        """Whether it is being deleted."""
        return bool(self.flags & Flag.TERMINATING)

    @property
    def is_gated(self) -> bool:
        """Whether it waits behind the gate of steering."""
        return bool(self.flags & Flag.STEERING_GATE)

    @property
    def waits_for_others(self) -> bool:
        """Whether it waits behind the gate of steering, and behind gates of others too."""
        return bool(self.flags & Flag.OTHER_GATES)

    @property
    def is_ready(self) -> bool:
        """Whether its condition Ready says so."""
        return any(each.type == "Ready" and each.status == "True" for each in self.conditions)
