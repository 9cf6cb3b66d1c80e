"""The numbers by which policies are compared, and how they are displayed.

To add one: a field of ``simulating.scenarios.futures.Future``, and a line here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from restow.reporting.simulation_wording import time_text
from restow.simulating.scenarios.futures import Future


def _count(value: float) -> str:
    return f"{value:,.10g}"


def _spread(value: float) -> str:
    return f"{value:.2f}"


@dataclass(slots=True, frozen=True)
class ComparedNumber:
    """One number of a future, of which less is better."""

    #: The field of ``Future``.
    field: str
    #: In tables.
    title: str
    #: In sentences, where there is less of it and where there is more.
    less: str
    more: str
    shown: Callable[[float], str] = _count

    @property
    def name(self) -> str:
        """Its name in documents."""
        return _NAMES[self.field]

    def values(self, futures: Iterable[Future]) -> list[float]:
        """Return it of each future; what never comes is infinite."""
        found = (getattr(each, self.field) for each in futures)
        return [math.inf if each is None else each for each in found]

    def text(self, value: float | None) -> str:
        """Display a value; None means never."""
        return "not quiet" if value is None else self.shown(value)


_NAMES: Final = dict(zip(Future.__struct_fields__, Future.__struct_encode_fields__, strict=True))
#: In the order of display.
NUMBERS: Final = (
    ComparedNumber("evictions", "evictions", "fewer evictions", "more evictions"),
    ComparedNumber("in_vain", "in vain", "fewer evictions in vain", "more evictions in vain"),
    ComparedNumber("moved_again", "moved again", "fewer pods moved again", "more pods moved again"),
    ComparedNumber(
        "pending_pod_seconds", "pending, all pods", "less time of pods pending", "more time of pods pending", time_text
    ),
    ComparedNumber("below_seconds", "below desired", "less time below desired", "more time below desired", time_text),
    ComparedNumber("nodes_in_use", "nodes in use", "fewer nodes in use", "more nodes in use"),
    ComparedNumber("cpu_spread", "cpu spread", "CPU more even", "CPU less even", _spread),
    ComparedNumber("memory_spread", "memory spread", "memory more even", "memory less even", _spread),
    ComparedNumber("quiet_after_seconds", "quiet since", "quiet sooner", "quiet later", time_text),
    ComparedNumber("failed", "failed", "fewer failed expectations", "more failed expectations"),
)
