"""The smallest changes that would let a pod move: computed first, then tried by making the plan again.

The checks of the evictor that fail are lifted. For placement, each node that fails for one reason is an option; of each
kind the cheapest few are tried. If a limit or a budget then still refuses the pod, it is raised as far as necessary.
``Search`` leaves out every step that is not needed and lowers every amount as far as the pod still moves. Only changes with
which a new plan moves the pod are reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from restow.descheduling.placement import Landing, PluginRef
from restow.explaining.explanation import ChangeKind, Step, SuggestedChange
from restow.explaining.fixes import CLOSING, EvictorFixes, LimitFixes, opened_nodes
from restow.explaining.obstacles import PLAN_WIDE, Gates
from restow.explaining.options import Option, Options, without
from restow.explaining.trials import (
    PLENTY,
    Fix,
    TrialInputs,
    Trials,
    TrialsUsedUpError,
)
from restow.explaining.what_if import ReplacementAnswer, Response, WhatIf
from restow.policies.codes import RefusalCode, Stage, SteeringMode
from restow.policies.policy import Profile
from restow.proving.steering import FOR_STEERING
from restow.scheduling.loop.missing_data import plural_kinds

#: Nodes tried for each kind of change, and further ones for a change that helps.
_TRIES = 2
_MOST_OTHERS = 3
_MOST_VICTIMS = 5
_KINDS: tuple[ChangeKind, ...] = ("resources", "uncordon", "toleration", "label", "volume", "pod")
#: The words of a sentence before what is changed about nodes and the pod.
_ORDER = {"protection": 0, "limit": 1, "budget": 2, "input": 3}
#: Codes of placement that a change of the cluster can lift.
_CHANGEABLE = (
    RefusalCode.NO_FIT,
    RefusalCode.NEEDS_PREEMPTION,
    RefusalCode.NO_GAIN,
    RefusalCode.SAME_NODE,
    RefusalCode.NOT_CERTAIN,
    RefusalCode.HARMFUL,
    *CLOSING,
)


#: Changes that are made together.
Together = tuple[Fix, ...]


#: Refusals answered one after the other.
_MOST_ANSWERS = 5


class ChangeSearch:
    """Looks for changes for one pod and the strategy that wants it to move."""

    def __init__(
        self, what_if: WhatIf, response: Response, profile: Profile, bounds: Mapping[str, float], trials: Trials
    ) -> None:
        self._what_if = what_if
        self._pod = response.pod
        self._response = response
        self._bounds = bounds
        self._trials = trials
        self._evictor_fixes = EvictorFixes(what_if, response.pod, response.ref, profile)
        self._limit_fixes = LimitFixes(what_if, response)
        self._search = Search(trials, self._limit_fixes, response.ref)

    def of(self, gates: Gates) -> tuple[SuggestedChange, ...]:
        """The changes that would help, the best of each kind; empty if none is known."""
        lifted = self._evictor_fixes.of(gates.checks)
        if lifted is None or gates.placement.code in PLAN_WIDE:
            return ()
        first = (*lifted, *self._higher_limits(gates), *_with_kinds(gates.missing))
        found: list[SuggestedChange] = []
        with suppress(TrialsUsedUpError):
            for change in self._found(first):
                # Two attempts may be the same once the steps that they do not need are left out.
                if all(change.steps != other.steps for other in found):
                    found.append(change)
        return tuple(found)

    def _higher_limits(self, gates: Gates) -> Iterator[Fix]:
        """Raise the limits that are used up: a strategy may stop there before it suggests the pod, without any refusal."""
        for each in gates.limits:
            if each.used >= each.limit:
                yield self._limit_fixes.higher(each)

    def _found(self, first: Together) -> Iterator[SuggestedChange]:
        answer = self._response.answer
        if answer is None or isinstance(answer.landing, Landing):
            yield from self._tried(first)
            return
        stage, code, _ = answer.landing
        if stage == Stage.BUDGET:
            yield from self._tried(first)
        elif code in _CHANGEABLE:
            yield from self._with_options(first, answer, code)
        else:
            yield from self._blind(first, code)

    def _blind(self, first: Together, code: str) -> Iterator[SuggestedChange]:
        """Changes that cannot be tried, because the result depends on what the input lacks."""
        steps = tuple(each.step for each in first)
        if code == RefusalCode.UNKNOWN_SCHEDULER:
            yield _untried(*steps, Step("scheduler", "with the profile of its scheduler in --scheduler-config"))
        elif code == RefusalCode.UNKNOWN:
            kinds = self._what_if.missing_data.decisive(self._pod)
            if kinds:
                yield _untried(*steps, Step("input", f"if the input included {plural_kinds(kinds)}"))

    def _with_options(self, first: Together, answer: ReplacementAnswer, code: str) -> Iterator[SuggestedChange]:
        if code == RefusalCode.NOT_CERTAIN:
            yield from self._tried(first)
            kinds = self._what_if.missing_data.scoring(self._pod)
            if kinds:
                yield _untried(
                    *(each.step for each in first), Step("input", f"if the input included {plural_kinds(kinds)}")
                )
        if code in FOR_STEERING and self._what_if.setting.steering != SteeringMode.NOMINATE:
            yield from self._tried((*first, _STEERED))
        if code in CLOSING:
            yield from self._tried((*first, opened_nodes(RefusalCode(code))))
        options = Options(self._what_if, self._response, answer, self._bounds).all()
        for kind in _KINDS:
            ranked = sorted((each for each in options if each.fix.step.kind == kind), key=lambda each: each.cost)
            yield from islice(self._of_kind(first, ranked), 1)
        yield from self._without_victims(first, answer)

    def _of_kind(self, first: Together, ranked: Sequence[Option]) -> Iterator[SuggestedChange]:
        for option in ranked[:_TRIES]:
            together = self._search.least((*first, option.fix))
            if together is not None:
                is_needed = any(each.step.node == option.fix.step.node for each in together)
                yield self._change(together, self._alike(together, option, ranked) if is_needed else ())

    def _alike(self, together: Together, chosen: Option, options: Sequence[Option]) -> Iterator[str]:
        """Other nodes for which the same change would help."""
        wording = _without_name(chosen)
        alike = [each for each in options if each is not chosen and _without_name(each) == wording]
        index = next(index for index, each in enumerate(together) if each.step.node == chosen.fix.step.node)
        for option in alike[:_MOST_OTHERS]:
            same = (*together[:index], option.fix.like(together[index]), *together[index + 1 :])
            if option.fix.step.node is not None and self._search.is_least(same):
                yield option.fix.step.node

    def _without_victims(self, first: Together, answer: ReplacementAnswer) -> Iterator[SuggestedChange]:
        """The change in which the pods that it would preempt are gone."""
        victims = answer.decision.victims if answer.decision else ()
        if 0 < len(victims) <= _MOST_VICTIMS:
            assert answer.decision is not None
            cluster = self._what_if.state.cluster
            names = " and ".join(map(cluster.pods.full_name, victims))
            node = cluster.nodes.names[answer.decision.nominated_node]
            where = answer.decision.where(cluster.nodes.names)
            yield from self._tried((*first, without(self._what_if, victims, f"without {names} on {where}", node)))

    def _tried(self, together: Together) -> Iterator[SuggestedChange]:
        found = self._search.least(together)
        if found is not None:
            yield self._change(found)

    def _change(self, together: Together, others: Iterable[str] = ()) -> SuggestedChange:
        outcome = self._trials.of(together)
        assert outcome.move is not None
        steps = tuple(sorted((each.step for each in together), key=lambda each: _ORDER.get(each.kind, len(_ORDER))))
        exact = all(each.exact for each in together)
        return SuggestedChange(steps, outcome.target, tuple(others), outcome.move.landing.certainty, verified=exact)


#: Steers the replacement to the node that the plan chooses.
_STEERED = Fix(
    Step("steering", "with --steering nominate"), lambda inputs: replace(inputs, steering=SteeringMode.NOMINATE)
)


def _untried(*steps: Step) -> SuggestedChange:
    return SuggestedChange(steps, None, (), None, verified=False)


def _without_name(option: Option) -> str:
    step = option.fix.step
    return step.message.replace(step.node or "", "")


def _with_kinds(kinds: Sequence[str]) -> Iterator[Fix]:
    """For kinds that the input lacks, the change in the best case: that there are no such objects."""
    if kinds:

        def edit(inputs: TrialInputs) -> TrialInputs:
            others: dict[str, Any] = {kind: {} for kind in kinds} | dict(inputs.cluster.others)
            return replace(inputs, cluster=replace(inputs.cluster, others=others))

        yield Fix(Step("input", f"if the input included {plural_kinds(kinds)}"), edit, exact=False)


@dataclass(slots=True, frozen=True)
class Search:
    """Searches for the smallest set by trials about one pod."""

    trials: Trials
    limit_fixes: LimitFixes
    #: The strategy whose refusals are lifted.
    ref: PluginRef

    def least(self, together: Together) -> Together | None:
        """These changes and those that a plan with them still needs; None if the pod stays, or if fewer changes are enough."""
        found = self._completed(together)
        if found is None:
            return None
        fewer, lowered = self._needed(found), None
        while lowered is None or len(fewer) < len(lowered):
            # With smaller amounts other pods stay, which may make another step needless.
            lowered = self._lowered(fewer)
            if lowered is None:
                return None
            fewer = self._needed(lowered)
        return lowered if self.is_least(lowered) else None

    def is_least(self, together: Together) -> bool:
        """Whether the pod moves with these changes and their rounded amounts, and stays if any of them is smaller."""
        if not self.trials.moves(together) or len(self._needed(together)) < len(together):
            return False
        for index, each in enumerate(together):
            if each.rounded is not None and not self.trials.moves(_with(together, index, each.rounded)):
                return False
            if any(self.trials.moves(_with(together, index, less)) for less in each.weaker):
                return False
        return True

    def _completed(self, together: Together) -> Together | None:
        """The changes, and those that lift the refusals that then come up, one after the other."""
        for _ in range(_MOST_ANSWERS):
            outcome = self.trials.of(together)
            if outcome.move is not None:
                return together
            refusal = outcome.refusals.get(self.ref)
            more = None if refusal is None else self.limit_fixes.after(refusal)
            if more is None or any(more.step == each.step for each in together):
                return None
            together = (*together, more)
        return None

    def _needed(self, together: Together) -> Together:
        """The changes without those that the pod can move without."""
        for each in together:
            fewer = tuple(other for other in together if other is not each)
            if fewer and self.trials.moves(fewer):
                together = fewer
        return together

    def _lowered(self, together: Together) -> Together | None:
        """The changes with the smallest amounts that are enough."""
        for index, each in enumerate(together):
            for place in range(len(each.amounts)):
                lower = self._lowest(together, index, place)
                if lower is None:
                    return None
                together = lower
            if each.at is not None:
                together = _with(together, index, together[index].with_weaker())
        return together

    def _lowest(self, together: Together, index: int, place: int) -> Together | None:
        """The changes with the smallest amount in one place, found by bisection; None if no amount is enough."""
        fix = together[index]

        def at(amount: int) -> Together:
            return _with(together, index, fix.with_amount(place, amount))

        low, high = fix.lowest[place], fix.amounts[place]
        if high == PLENTY:
            # One more is mostly enough, and in a large cluster each trial takes long. If it is not: without the limit
            # the plan makes that many evictions, so that is the highest amount worth trying.
            if self.trials.moves(at(low + 1)):
                return at(low + 1)
            high = max(low + 1, self.trials.of(together).evictions)
            if not self.trials.moves(at(high)):
                return None
        # Bisection finds the smallest amount only if the pod also moves with every larger one. That is not certain, for a
        # larger amount also lets other pods move. So ``is_least`` tries what was found once more.
        tried = [each for guess in fix.guess[place : place + 1] for each in (guess, guess - 1)]
        tried.append(high - 1)
        while high - low > 1:
            middle = tried.pop(0) if tried else (low + high) // 2
            if low < middle < high:
                low, high = (low, middle) if self.trials.moves(at(middle)) else (middle, high)
        return at(high)


def _with(together: Together, index: int, fix: Fix) -> Together:
    return (*together[:index], fix, *together[index + 1 :])
