"""What would follow if a cluster were another one: where pods come to whose node is gone, and how the plan differs."""

from __future__ import annotations

from msgspec import Struct

from restow.reporting.difference_result import PlanDifference


class SupposedLanding(Struct, frozen=True):
    """A pod that loses its node and comes again."""

    pod: str
    source: str
    #: Empty where it stays pending.
    target: str
    #: Why it stays pending; empty where it does not.
    message: str


class LostPod(Struct, frozen=True):
    """A pod that loses its node and that no controller makes again."""

    pod: str
    source: str


class Supposed(Struct, frozen=True):
    """What was supposed, and what it comes to."""

    #: What is supposed, in words.
    words: str
    landings: tuple[SupposedLanding, ...]
    lost: tuple[LostPod, ...]
    difference: PlanDifference
