"""What steering would change about a plan that is made without."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from restow.cli.plan_request import PlanContext
from restow.cli.progress import Timings, working
from restow.descheduling.cycle import Cycle
from restow.descheduling.registry import plugins
from restow.descheduling.steering import FOR_STEERING
from restow.policies.codes import Placement, SteeringMode, SteeringSetting

_HOW: Final = "--steering nominate; docs/how-to/steer.md has the objects to install"


def steering_note(asked: PlanContext, cycle: Cycle, clock: Timings) -> tuple[str, ...]:
    """How many moves steering would make, found by deciding once more; nothing where it would not make more."""
    if not _is_open(asked) or not _is_worth_asking(cycle):
        return ()
    with clock.phase("steering"), working("deciding once more, steered"):
        steered = len(replace(asked, steering=SteeringMode.NOMINATE).decide().record.evictions)
    made = len(cycle.record.evictions)
    if steered <= made:
        return ()
    return (f"Steering would make {steered:,} moves instead of {made:,}: {_HOW}",)


def _is_open(asked: PlanContext) -> bool:
    """Whether nothing is steered although the policy leaves that open."""
    wanted = asked.policy.loaded.policy.restow.steering
    return asked.placement == Placement.PROVE and asked.steering == SteeringMode.NONE and wanted == SteeringSetting.AUTO


def _is_worth_asking(cycle: Cycle) -> bool:
    """Whether a strategy that balances has been refused a move for what the scheduler would have done."""
    known = plugins()
    return any(
        refused.reason[1] in FOR_STEERING and "balance" in known[refused.ref.plugin].extension_points
        for refused in cycle.record.refusals
    )
