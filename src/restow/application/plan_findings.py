"""What a pipeline may not want of a plan: moves at all, moves that are hardly sure, loops, or anything that was warned of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from restow.descheduling.plan import PlanDocument
from restow.policies.codes import Certainty, PlanFinding, RefusalCode
from restow.reporting.clusters_result import ClustersPlan
from restow.reporting.wording import counted

#: Refusals of moves that this plan, or the next one, would undo.
_LOOPS = (RefusalCode.CYCLE, RefusalCode.REVERSAL)
_WORDS = {
    PlanFinding.PROBLEMS: ("the plan has {}", "warning", "warnings"),
    PlanFinding.POSSIBLE: ("the gain of {} is possible at most", "move", "moves"),
    PlanFinding.MOVES: ("the plan has {}", "move", "moves"),
    PlanFinding.LOOPS: ("{} that would be undone", "move was refused", "moves were refused"),
}


def findings_of(plan: PlanDocument, warnings: int) -> Counter[PlanFinding]:
    """How much of each finding a plan has; ``warnings`` were given while it was made, those of strategies among them."""
    return Counter(
        {
            PlanFinding.PROBLEMS: warnings,
            PlanFinding.POSSIBLE: sum(each.certainty is Certainty.POSSIBLE for each in plan.moves),
            PlanFinding.MOVES: len(plan.moves),
            PlanFinding.LOOPS: sum(each.code in _LOOPS for each in plan.refusals),
        }
    )


def findings_of_many(plans: ClustersPlan) -> Counter[PlanFinding]:
    """The same of many clusters together; their rows do not say why pods stay."""
    rows = plans.clusters
    return Counter(
        {
            PlanFinding.PROBLEMS: sum(len(each.warnings) for each in rows),
            PlanFinding.POSSIBLE: sum(each.possible for each in rows),
            PlanFinding.MOVES: sum(each.moves for each in rows),
        }
    )


def unwanted(found: Counter[PlanFinding], kinds: Collection[PlanFinding]) -> Iterable[str]:
    """A sentence for each of these kinds that was found."""
    for kind in PlanFinding:
        if kind in kinds and found[kind]:
            sentence, *nouns = _WORDS[kind]
            yield f"--fail-on {kind}: {sentence.format(counted(found[kind], *nouns))}"
