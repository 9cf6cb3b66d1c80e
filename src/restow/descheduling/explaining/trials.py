"""Trials: plans made again with something changed. What ``explain`` says would help has been tried like this.

A trial changes the inputs of the plan - cluster, policy, steering, time - and decides from the beginning, as a new
``restow plan`` on that input would. So the result includes what the change does to other pods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.arbiter import Eviction
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.evictor import Reason
from restow.descheduling.explaining.explanation import Step
from restow.descheduling.explaining.what_if import Setting
from restow.descheduling.placement import PluginRef
from restow.descheduling.proving import prove_cycle
from restow.policies.codes import Placement, Stage, SteeringMode
from restow.policies.policy import Policy

#: Plans made for one answer; in the largest clusters each takes seconds.
MOST_TRIALS = 200
#: An amount that is more than any plan makes use of.
PLENTY = 2**31 - 1


class TrialsUsedUpError(Exception):
    """No more plans are made for this answer."""


@dataclass(slots=True, frozen=True)
class TrialInputs:
    """What a plan is made of; the cluster as observed."""

    cluster: ClusterSnapshot
    policy: Policy
    steering: SteeringMode
    now: int


Edit = Callable[[TrialInputs], TrialInputs]


@dataclass(slots=True, frozen=True)
class Fix:
    """One change: the words for it, and the function that makes it."""

    step: Step
    edit: Edit
    #: The same change, made smaller. If the pod moves with one of these too, the words ask for more than is needed.
    weaker: tuple[Fix, ...] = ()
    #: The same change with its amounts rounded, as the words name them. The pod must move with these too.
    rounded: Fix | None = None
    #: Makes the same change with other amounts, for changes whose smallest amounts are found by trials.
    at: Callable[[tuple[int, ...]], Fix] | None = None
    #: The amounts of this change, those without the change, and a guess at the smallest that are enough.
    amounts: tuple[int, ...] = ()
    lowest: tuple[int, ...] = ()
    guess: tuple[int, ...] = ()
    #: Whether the edit does exactly what the words say; False if it does the best that could follow from them.
    exact: bool = True

    def like(self, other: Fix) -> Fix:
        """The same change with the amounts of another one, whose weaker forms must not be enough here either."""
        if self.at is None or len(self.amounts) != len(other.amounts):
            return self
        return self.at(other.amounts).with_weaker()

    def with_amount(self, place: int, amount: int) -> Fix:
        """The same with another amount in one place."""
        assert self.at is not None
        return self.at((*self.amounts[:place], amount, *self.amounts[place + 1 :]))

    def with_weaker(self) -> Fix:
        """The same change with its weaker forms: one for each amount, a little smaller. They must not be enough."""
        places = [place for place, amount in enumerate(self.amounts) if amount - 1 > self.lowest[place]]
        return replace(self, weaker=tuple(self.with_amount(place, self.amounts[place] - 1) for place in places))


@dataclass(slots=True, frozen=True)
class TrialOutcome:
    """What one plan does with the pod."""

    move: Eviction | None
    target: str | None
    refusals: Mapping[PluginRef, Reason]
    #: How many pods the plan moves.
    evictions: int


@dataclass(slots=True)
class Trials:
    """The trials about one pod. The same set of changes is tried only once."""

    _setting: Setting
    #: The row of the pod in the cluster of the plan.
    _pod: int
    _known: dict[tuple[object, ...], TrialOutcome] = field(default_factory=dict)

    def of(self, fixes: Sequence[Fix]) -> TrialOutcome:
        """What a plan does with the pod after these changes together; TrialsUsedUpError."""
        key = tuple((each.step.message, *sorted(each.step.amounts.items())) for each in fixes)
        if key not in self._known:
            if len(self._known) >= MOST_TRIALS:
                raise TrialsUsedUpError
            self._known[key] = self._outcome(self._decided(fixes) if fixes else self._setting.cycle)
        return self._known[key]

    def moves(self, fixes: Sequence[Fix]) -> bool:
        """Whether the pod moves with these changes together; TrialsUsedUpError."""
        return self.of(fixes).move is not None

    def _decided(self, fixes: Sequence[Fix]) -> Cycle:
        setting = self._setting
        inputs = TrialInputs(setting.observed, setting.policy, setting.steering, setting.now)
        for each in fixes:
            inputs = each.edit(inputs)
        if setting.placement == Placement.PROVE:
            return prove_cycle(
                inputs.cluster,
                inputs.policy,
                setting.strategies,
                inputs.now,
                setting.profiles,
                steering=inputs.steering,
            )
        return run_cycle(inputs.cluster, inputs.policy, setting.strategies, inputs.now)

    def _outcome(self, cycle: Cycle) -> TrialOutcome:
        pods, nodes = cycle.state.cluster.pods, cycle.state.cluster.nodes
        name = self._setting.cluster.pods.full_name(self._pod)
        move = next((each for each in cycle.record.evictions if pods.full_name(each.pod) == name), None)
        refusals = {
            each.ref: each.reason
            for each in cycle.record.refusals
            # A limit that refuses a proposal refuses each of its pods, whichever of them exceeds it.
            if name in map(pods.full_name, (each.pod, *(each.others if each.reason[0] == Stage.LIMIT else ())))
        }
        target = nodes.names[move.landing.target] if move is not None and move.landing.target >= 0 else None
        return TrialOutcome(move, target, refusals, len(cycle.record.evictions))
