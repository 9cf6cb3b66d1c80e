"""The answer in sentences, the same on the terminal and on the page.

They say what moves and how sure that is, what of it the policy wanted, what it gains (load taken off nodes, resources that
are spread more or less evenly), and why the rest stays: refusals by stage and code, the most frequent first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, Struct

from restow.descheduling.plan import NOT_ENABLED, PlanDocument, PodRef, Refusal
from restow.plain_text import printable, some
from restow.policies.codes import Certainty, Placement, RefusalCode, Stage
from restow.reporting.sureness import how_sure
from restow.reporting.wording import counted, resource_order, resource_title

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from restow.descheduling.plan import GoalResult


_STAGES = tuple(Stage)


class RefusalGroup(Struct, frozen=True):
    """Every refusal of one stage and code, in the plan's order; of a limit that something stands behind, a group each."""

    stage: Stage
    code: str
    #: The most frequent message; of a limit that something stands behind, what that says.
    message: str
    #: How many different messages there are.
    messages: int
    refusals: tuple[Refusal, ...]

    @property
    def example(self) -> str:
        """The message, marked as one of several where it is."""
        return self.message if self.messages == 1 else f"e.g. {self.message}"


def group_refusals(refusals: Iterable[Refusal]) -> tuple[RefusalGroup, ...]:
    """Return groups by falling count, then in the arbiter's order of stages, then by code and message."""
    members: dict[tuple[Stage, str, str], list[Refusal]] = defaultdict(list)
    for refusal in refusals:
        behind = "" if refusal.also_refused_by is UNSET else refusal.also_refused_by.code
        members[refusal.stage, refusal.code, behind].append(refusal)
    groups = [_group(stage, code, found) for (stage, code, _), found in members.items()]
    order = {stage: position for position, stage in enumerate(_STAGES)}
    return tuple(sorted(groups, key=lambda each: (-len(each.refusals), order[each.stage], each.code, each.message)))


def _group(stage: Stage, code: str, refusals: list[Refusal]) -> RefusalGroup:
    messages = Counter(map(_shown, refusals))
    message = min(messages, key=lambda each: (-messages[each], each))
    return RefusalGroup(stage, code, message, len(messages), tuple(refusals))


def _shown(refusal: Refusal) -> str:
    """The message; of a limit that something stands behind only that, for the code says the rest."""
    behind = refusal.also_refused_by
    return refusal.message if behind is UNSET else f"a higher limit would meet {behind.code}: {behind.message}"


def refused_pods(refusal: Refusal) -> tuple[PodRef, ...]:
    """The pods that stay by one refusal: of a proposal all that it would have moved, first the one that cannot go."""
    return (refusal.pod, *also_staying(refusal))


def also_staying(refusal: Refusal) -> tuple[PodRef, ...]:
    """The pods that could go if the refused one could."""
    return () if refusal.proposal is UNSET else refusal.proposal.also_staying


def staying_pods(plan: PlanDocument) -> int:
    """Count the pods that some strategy wanted to move and none does."""
    moved = {str(each.pod) for each in plan.moves}
    return len({str(pod) for each in plan.refusals for pod in refused_pods(each)} - moved)


UPSTREAM_MEANS: Final = "placement: upstream - restow does not predict where they land"
#: What holds a pod back, for one pod and for several, in the order of the output.
_MEANINGS: Final = {
    Stage.EVICTOR: ("is protected", "are protected"),
    Stage.LIMIT: ("is blocked by the policy's limits", "are blocked by the policy's limits"),
    Stage.BUDGET: ("has no disruption budget left", "have no disruption budget left"),
    Stage.PLACEMENT: ("has no acceptable placement", "have no acceptable placement"),
    "unknown": ("depends on data missing from the input", "depend on data missing from the input"),
}
#: The same in the order in which a pod meets them.
_DEPTHS: Final = tuple(_MEANINGS)


class Imbalance(Struct, frozen=True):
    """The resource that is spread least evenly: standard deviation of the nodes' load before and after."""

    resource: str
    before: float
    after: float


def predicts(plan: PlanDocument) -> bool:
    """Whether the plan says where pods land."""
    return plan.metadata.placement == Placement.PROVE


def predicts_load(plan: PlanDocument) -> bool:
    """Whether there is a load after the plan to compare with the one before."""
    return predicts(plan) and bool(plan.moves)


def headline(plan: PlanDocument) -> str:
    """Say how many moves, how sure their gain is, and how many targets are: what ``how_sure`` says."""
    if not plan.moves:
        return f"Nothing to {'move' if predicts(plan) else 'evict'}: {_why_nothing(plan)}"
    if not predicts(plan):
        return f"{counted(len(plan.moves), 'eviction')}; {UPSTREAM_MEANS}"
    return how_sure(plan.moves)


def certain_moves(plan: PlanDocument) -> int:
    """Count the moves whose gain is certain: they land well however the scheduler breaks its ties, or are steered."""
    return sum(each.certainty == Certainty.CERTAIN for each in plan.moves)


def _why_nothing(plan: PlanDocument) -> str:
    if any(each.code == RefusalCode.UNKNOWN for each in plan.refusals):
        unknown = sum(each == "unknown" for each in last_obstacles(plan).values())
        candidates = counted(staying_pods(plan), "candidate")
        return f"{unknown:,} of {candidates} {_MEANINGS['unknown'][unknown > 1]}"
    if plan.refusals:
        return stays(plan)
    if len(plan.problems) == 1:
        return f"{printable(plan.problems[0].plugin)} could not run"
    if plan.problems:
        return f"{counted(len(plan.problems), 'strategy', 'strategies')} could not run"
    idle = dict.fromkeys(printable(each.plugin) for each in plan.notes if each.message.startswith(NOT_ENABLED))
    if idle:
        names = f"{' and '.join(idle)} {'is' if len(idle) == 1 else 'are'}"
        return f"no enabled strategy found a pod to move; {names} {NOT_ENABLED}"
    return "no strategy found a pod to move"


def stays(plan: PlanDocument) -> str:
    """Say how many candidates are refused: ``14 candidates refused``; with the refusals where a pod has several."""
    staying = staying_pods(plan)
    counts = f"{counted(staying, 'candidate')} refused"
    if len(plan.refusals) == staying:
        return counts
    return f"{counts} ({counted(len(plan.refusals), 'refusal')})"


def obstacles(plan: PlanDocument) -> list[str]:
    """Say why candidates stay: the one reason, or how many pods each stage held back in the end."""
    groups = group_refusals(plan.refusals)
    if not groups:
        return []
    if len(groups) == 1:
        sentences = [f"The reason is always {groups[0].code}: {printable(groups[0].example)}."]
    else:
        *first, last = held_back(last_obstacles(plan).values())
        sentences = [f"Of them, {' and '.join([', '.join(first), last]) if first else last}."]
    limited = [each for each in plan.refusals if each.stage == Stage.LIMIT]
    if any(each.also_refused_by is UNSET for each in limited):
        sentences.append("Higher limits may allow more moves.")
    elif limited:
        sentences.append("Higher limits alone would not allow more moves.")
    return sentences


def held_back(obstacles: Iterable[str]) -> list[str]:
    """How many pods each obstacle holds back: ``8 are protected``."""
    held = Counter(obstacles)
    return [f"{held[each]:,} {_MEANINGS[each][held[each] > 1]}" for each in _MEANINGS if held[each]]


def last_obstacles(plan: PlanDocument) -> dict[str, str]:
    """What stopped each staying pod where it came furthest: a stage, or ``unknown``."""
    moved = {str(each.pod) for each in plan.moves}
    found: dict[str, str] = {}
    for refusal in plan.refusals:
        last = refusal if refusal.also_refused_by is UNSET else refusal.also_refused_by
        obstacle = "unknown" if last.code == RefusalCode.UNKNOWN else last.stage
        for pod in map(str, refused_pods(refusal)):
            if pod not in moved and _DEPTHS.index(obstacle) >= _DEPTHS.index(found.get(pod, _DEPTHS[0])):
                found[pod] = obstacle
    return found


def imbalance(plan: PlanDocument) -> Imbalance | None:
    """Return the resource that is spread least evenly before the plan or after, or None when no load is known."""
    before, after = plan.summary.utilisation.before, plan.summary.utilisation.after
    shared = sorted(before.keys() & after.keys(), key=resource_order)
    if not shared:
        return None
    resource = max(shared, key=lambda each: max(before[each].spread, after[each].spread))
    return Imbalance(resource, before[resource].spread, after[resource].spread)


def problem_sentences(plan: PlanDocument) -> tuple[str, ...]:
    """Return one sentence for each strategy that could not run."""
    return tuple(printable(f"{each.plugin} could not run: {each.message}") for each in plan.problems)


def note_sentences(plan: PlanDocument) -> tuple[str, ...]:
    """Return one sentence for each strategy that says why it found nothing to do."""
    return tuple(printable(f"{each.plugin}: {each.message}") for each in plan.notes)


#: Strategies for which a gain in load is what was asked for.
_LEVELLING: Final = "LowNodeUtilization"
#: Proposals named in a line.
_MOST: Final = 3


def made_together(plan: PlanDocument) -> str:
    """Which groups of moves belong together, in the plan's order: ``empty node-3 (5 moves)``; empty if there are none."""
    made = [(each.plugin, each.proposal) for each in plan.moves if each.proposal is not UNSET]
    sizes = {(plugin, proposal.purpose): proposal.moves for plugin, proposal in made}
    return some([f"{purpose} ({counted(moves, 'move')})" for (_, purpose), moves in sizes.items()], _MOST)


def not_done(plan: PlanDocument) -> str:
    """What is not done since one pod cannot go, and how many could: ``empty node-4 (6 more pods stay)``; empty as before."""
    refused = [(each.proposal.purpose, len(also_staying(each))) for each in plan.refusals if each.proposal is not UNSET]
    ranked = sorted(refused, key=lambda each: (-each[1], each[0]))
    purposes = [f"{purpose} ({counted(more, 'more pod stays', 'more pods stay')})" for purpose, more in ranked]
    return some(purposes, _MOST)


def balance(plan: PlanDocument) -> list[str]:
    """How each resource's spread changes: ``CPU more even, 0.31 -> 0.08``; empty if that is unknown."""
    if not predicts_load(plan):
        return []
    return [
        f"{resource_title(name)} {_change(before, after)}" for name, before, after in _spreads(plan) if before or after
    ]


def goals(plan: PlanDocument) -> list[str]:
    """How near the plan comes to each goal: ``pack, 8 -> 5 nodes in use; no plan is better``; what holds it back comes last."""
    return [_goal(each) for each in plan.goals]


def goal_sentence(result: GoalResult, moves: int) -> str:
    """How far a plan gets: ``Goal pack: 29 to 19 nodes in use with 66 moves``."""
    change = f"{figure_text(result.before)} to {figure_text(result.after)} {printable(result.unit)}"
    return f"Goal {printable(result.goal)}: {change} with {counted(moves, 'move')}"


def _goal(result: GoalResult) -> str:
    change = f"{printable(result.goal)}, {figure_text(result.before)} -> {figure_text(result.after)} {printable(result.unit)}"
    return "; ".join([change, *best_known(result), *map(printable, result.held_back), *usage_of(result)])


def best_known(result: GoalResult) -> Iterator[str]:
    """What is known of the best plan."""
    if result.optimal:
        yield "no plan is better"
    elif result.bound is not None:
        yield f"no plan can be below {figure_text(result.bound)}"
    if result.fewest_moves and result.after < result.before:
        yield "none that is as good has fewer moves"


def usage_of(result: GoalResult) -> Iterator[str]:
    """From what usage the value is, unless it is from requests."""
    if result.usage:
        yield f"by usage: {printable(result.usage)}"


def figure_text(value: float) -> str:
    """A value of a goal, for people: whole, or with two digits."""
    return f"{value:,.0f}" if value == round(value) else f"{value:,.2f}"


def less_even(plan: PlanDocument) -> list[str]:
    """Those resources whose spread grows, in the same words."""
    return [each for each in balance(plan) if " less even, " in each]


def levels(plan: PlanDocument) -> bool:
    """Whether the plan does what a strategy that levels load has asked for."""
    return any(each.plugin == _LEVELLING for each in plan.moves)


def _spreads(plan: PlanDocument) -> list[tuple[str, float, float]]:
    """The spreads, rounded as displayed."""
    load = plan.summary.utilisation
    names = sorted(load.before.keys() & load.after.keys(), key=resource_order)
    return [(name, round(load.before[name].spread, 2), round(load.after[name].spread, 2)) for name in names]


def _change(before: float, after: float) -> str:
    if before == after:
        return f"unchanged at {before:.2f}"
    return f"{'more' if after < before else 'less'} even, {before:.2f} -> {after:.2f}"
