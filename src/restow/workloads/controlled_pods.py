"""What controllers look at in their pods, and the decision that they take.

Each kind of controller is a function in a file of its own: given the object and its pods as they are, it returns the
pods that the controller creates and deletes now. What it waits for shows when it is asked again, with the pods as they
are then.

``NOTHING`` is the answer of controllers that have all they want, that wait, or that are being deleted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from restow.cluster.pod_values import NO_TIME, Phase

#: How many pods a controller creates or deletes at a time, at most.
BURST: Final = 500
_OVER = (Phase.SUCCEEDED, Phase.FAILED)


@dataclass(slots=True, frozen=True)
class ControlledPod:
    """One pod of a controller."""

    name: str
    uid: str = ""
    phase: Phase = Phase.RUNNING
    #: Whether its deletion has begun.
    terminating: bool = False
    ready: bool = True
    #: The index of its node, PENDING if it has none.
    node: int = 0
    #: The annotation controller.kubernetes.io/pod-deletion-cost.
    deletion_cost: int = 0
    #: The most restarts that a container of it has had.
    restarts: int = 0
    #: When it was created and since when it is ready, nanoseconds since the epoch.
    created: int = NO_TIME
    ready_since: int = NO_TIME
    #: Of an indexed Job: its completion index.
    index: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has succeeded or failed."""
        return self.phase in _OVER

    @property
    def is_active(self) -> bool:
        """Whether it counts as there: not over, and not terminating."""
        return not self.is_over and not self.terminating


@dataclass(slots=True, frozen=True)
class NewPod:
    """A pod that a controller creates from its template."""

    #: Of a StatefulSet the ordinal, of an indexed Job the completion index.
    index: int | None = None
    #: Of a DaemonSet the only node that it may go to.
    node: int | None = None


@dataclass(slots=True, frozen=True)
class Actions:
    """What a controller does now, in this order: at most ``BURST`` of each, the rest when it is asked again."""

    create: list[NewPod] = field(default_factory=list)
    delete: list[ControlledPod] = field(default_factory=list)


NOTHING = Actions()
