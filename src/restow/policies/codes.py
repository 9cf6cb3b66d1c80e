"""The codes of plans: the words that programs compare, each in one place.

The values stand in plans, metrics, logs and the reference, and stay as they are even if messages are reworded. All of
this is words: whoever knows no policy and no cluster may know them.
"""

from __future__ import annotations

from enum import StrEnum


class PlacementConstraint(StrEnum):
    """What the landing place of a replacement must satisfy."""

    #: It may return to its node (lifetime, restarts, failed pods).
    ANYWHERE = "anywhere"
    #: Any other node (taints, node affinity, anti-affinity).
    ELSEWHERE = "elsewhere"
    #: A node where the strategy's own measure strictly improves (duplicates, spread, utilisation).
    BETTER = "better"
