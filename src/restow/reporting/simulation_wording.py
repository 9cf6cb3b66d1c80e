"""Times, workloads and verdicts of a simulation as people read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from restow.descheduling.container_states import short_duration
from restow.simulating.scenarios.references import DEFAULT_NAMESPACE

if TYPE_CHECKING:
    from restow.reporting.simulation_document import ExpectationResult

_MOST_OBJECTS: Final = 3


def time_text(seconds: float) -> str:
    """A time of the run: ``1h10m``, ``0.3s``."""
    return short_duration(round(seconds)) if seconds >= 1 or not seconds else f"{seconds:.1g}s"


def short_name(workload: str) -> str:
    """A workload as a scenario may call it too: without the namespace that it has by default."""
    kind, *rest = workload.split("/")
    return "/".join([kind, *(rest[1:] if len(rest) == 2 and rest[0] == DEFAULT_NAMESPACE else rest)])


def verdict_text(result: ExpectationResult) -> str:
    """The verdict on an expectation, and what was counted if that helps."""
    at = time_text(result.at)
    objects = ", ".join(result.objects[:_MOST_OBJECTS])
    more = f" and {len(result.objects) - _MOST_OBJECTS:,} more" if len(result.objects) > _MOST_OBJECTS else ""
    details = f"counted {result.number:,.4g}{f': {objects}{more}' if objects else ''}"
    match result.modality, result.result:
        case _, "undecided":
            return f"the run ended too early to tell; {details}"
        case "eventually", "met":
            return f"met at {at}, {details}"
        case "eventually", _:
            return f"not met by {at}, {details}"
        case _, "met":
            return f"held until {at}"
        case _:
            return f"broken at {at}, {details}"
