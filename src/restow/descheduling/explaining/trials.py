"""Plans made again with something changed: the one way in which ``explain`` learns what would help.

A trial changes what the plan was made of - cluster, policy, steering, time - and decides from the beginning, as a new
``restow plan`` on that input would. Whatever the change does to other pods is part of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from restow.cluster.snapshot import Cluster
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
class Inputs:
    """What a plan is made of; the cluster as observed."""

    cluster: Cluster
    policy: Policy
    steering: SteeringMode
    now: int


Edit = Callable[[Inputs], Inputs]


@dataclass(slots=True, frozen=True)
class Remedy:
    """One thing to change, in words and in deed."""

    step: Step
    edit: Edit
    #: Less of the same: with any of these in its place the pod has to stay, or the words claim too much.
    weaker: tuple[Remedy, ...] = ()
    #: The amounts as the words round them: with these in its place the pod has to move too.
    rounded: Remedy | None = None
    #: The same with other amounts, for a change whose least amounts only plans can tell.
    at: Callable[[tuple[int, ...]], Remedy] | None = None
    #: The amounts here, those as they are without the change, and those with which it may just do.
    amounts: tuple[int, ...] = ()
    lowest: tuple[int, ...] = ()
    guess: tuple[int, ...] = ()
    #: Whether the edit is exactly what the words say; otherwise it is the best that could come of it.
    exact: bool = True

    def like(self, other: Remedy) -> Remedy:
        """The same for this node with the amounts of another, less of which must not do either."""
        if self.at is None or len(self.amounts) != len(other.amounts):
            return self
        return self.at(other.amounts).with_weaker()

    def with_amount(self, place: int, amount: int) -> Remedy:
        """The same with another amount in one place."""
        assert self.at is not None
        return self.at((*self.amounts[:place], amount, *self.amounts[place + 1 :]))

    def with_weaker(self) -> Remedy:
        """The same, knowing that less of any of its amounts must not do."""
        places = [place for place, amount in enumerate(self.amounts) if amount - 1 > self.lowest[place]]
        return replace(self, weaker=tuple(self.with_amount(place, self.amounts[place] - 1) for place in places))


@dataclass(slots=True, frozen=True)
class Outcome:
    """What becomes of the pod in one plan."""

    move: Eviction | None
    target: str | None
    refusals: Mapping[PluginRef, Reason]
    #: How many pods the plan moves.
    evictions: int


@dataclass(slots=True)
class Trials:
    """The trials about one pod; the same changes are tried once."""

    _setting: Setting
    #: Row in the cluster of the plan.
    _pod: int
    _known: dict[tuple[object, ...], Outcome] = field(default_factory=dict)

    def of(self, remedies: Sequence[Remedy]) -> Outcome:
        """What becomes of the pod with these changes together; TrialsUsedUpError."""
        key = tuple((each.step.message, *sorted(each.step.amounts.items())) for each in remedies)
        if key not in self._known:
            if len(self._known) >= MOST_TRIALS:
                raise TrialsUsedUpError
            self._known[key] = self._outcome(self._decided(remedies) if remedies else self._setting.cycle)
        return self._known[key]

    def moves(self, remedies: Sequence[Remedy]) -> bool:
        """Whether the pod moves with these changes together; TrialsUsedUpError."""
        return self.of(remedies).move is not None

    def _decided(self, remedies: Sequence[Remedy]) -> Cycle:
        setting = self._setting
        inputs = Inputs(setting.observed, setting.policy, setting.steering, setting.now)
        for each in remedies:
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

    def _outcome(self, cycle: Cycle) -> Outcome:
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
        return Outcome(move, target, refusals, len(cycle.record.evictions))
