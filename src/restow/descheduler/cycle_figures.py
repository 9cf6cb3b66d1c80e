"""The metrics of a decided cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from restow.descheduling.arbiter import Record
from restow.descheduling.plan import Utilisation
from restow.serving.figures import CycleFigures, CycleResult


def cycle_figures(
    record: Record,
    utilisation: Utilisation,
    *,
    result: CycleResult,
    ended: float,
    seconds: float,
    phases: Mapping[str, float],
) -> CycleFigures:
    """Return the figures of a cycle; ``ended`` is in seconds since the epoch."""
    moves: Counter[tuple[str, str, str]] = Counter(
        (each.ref.profile, each.ref.plugin, each.landing.certainty or "") for each in record.evictions
    )
    refusals: Counter[tuple[str, str]] = Counter(each.reason[:2] for each in record.refusals)
    imbalance = {
        resource: (load.spread, utilisation.after[resource].spread) for resource, load in utilisation.before.items()
    }
    return CycleFigures(
        result=result,
        ended=ended,
        seconds=seconds,
        phases=phases,
        moves=moves,
        refusals=refusals,
        imbalance=imbalance,
    )
