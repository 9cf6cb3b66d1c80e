"""All that a decision says, in a form that can be compared."""

from __future__ import annotations

from typing import Any

from restow.executing.deciding import CycleDecision


def told(decision: CycleDecision) -> tuple[Any, ...]:
    """Moves, refusals in any order, and the rest, without anything that depends on rows of pods."""
    record, uids = decision.cycle.record, decision.cycle.state.cluster.pods.uids
    refusals = [(uids[each.pod], each.ref, each.reason, each.purpose, each.beyond_limit) for each in record.refusals]
    return decision.tasks, sorted(refusals, key=str), record.problems, decision.utilisation, decision.cycle.missing
