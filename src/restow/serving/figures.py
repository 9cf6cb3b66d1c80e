"""What metrics tell of one cycle, in figures: no names of pods, and nothing to index with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

#: How a cycle ended; ``skipped`` is one with fewer than two usable nodes.
CycleResult = Literal["done", "skipped", "failed"]


@dataclass(slots=True, frozen=True, kw_only=True)
class CycleFigures:
    """One cycle."""

    result: CycleResult
    #: When it ended, in seconds since the epoch.
    ended: float
    #: From its beginning to its end, what was executed included.
    seconds: float
    #: Seconds by phase, such as ``decide``.
    phases: Mapping[str, float] = field(default_factory=dict)
    #: Decided moves by profile, strategy and certainty, which is empty where nobody asked.
    moves: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    #: Pods that a strategy wanted and that stay, by stage and code.
    refusals: Mapping[tuple[str, str], int] = field(default_factory=dict)
    #: By resource, the standard deviation over the nodes of the requested share, before and as decided.
    imbalance: Mapping[str, tuple[float, float]] = field(default_factory=dict)
