"""What moves have changed about the usage of nodes, for figures that are from before.

A pod that was just evicted still counts in the last figure of its old node, and its replacement in no figure yet. A plan
that is made meanwhile would take more pods off the one, and bring more to the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(slots=True, frozen=True)
class UsageChange:
    """How much the usage of a node grows with a pod that came, or shrinks with one that left."""

    #: Its name.
    node: str
    #: Nanoseconds since the epoch.
    at: int
    #: In nano-units by resource; negative for a pod that has left.
    amounts: Mapping[str, int]

    @property
    def is_arrival(self) -> bool:
        """Whether a pod came rather than left."""
        return all(amount >= 0 for amount in self.amounts.values())
