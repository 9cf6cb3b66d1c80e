"""Proposals: how probable it is that all of their moves succeed, and what refusals of them say.

Each move is proven on the state that those before it leave, and fails with a probability of 1 less its own. The probability
that at least one fails is at most the sum of these, however they depend on one another (Boole's inequality). If they were
independent, the product of their probabilities would be a little higher, but that is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from restow.descheduling.certainty import certainty_of, least_probability, probability_text
from restow.descheduling.evictor import Reason
from restow.descheduling.placement import Landing, Obstacle
from restow.policies.codes import Certainty, RefusalCode, Stage
from restow.policies.policy import CertaintySetting

#: Refusals of replacements that fit on no node.
FITS_NOWHERE: Final = frozenset({RefusalCode.NO_FIT, RefusalCode.NEEDS_PREEMPTION})
#: Of probabilities in a plan.
_DIGITS = 4
#: What sums of probabilities may be off.
_ROUNDING = 1e-6


class Together(NamedTuple):
    """The proposal that a decided move is part of."""

    purpose: str
    #: How many moves it has.
    moves: int
    #: How sure it is that all of them succeed; None where nobody asked.
    certainty: Certainty | None
    #: The least probability that all of them succeed; None where that is not known.
    probability: float | None


def together(purpose: str, landings: Sequence[Landing]) -> Together:
    """The proposal that some landings make up, with its certainty."""
    known = [each.probability for each in landings if each.probability is not None]
    if any(each.certainty is None for each in landings):
        return Together(purpose, len(landings), None, None)
    if len(known) < len(landings):
        return Together(purpose, len(landings), Certainty.POSSIBLE, None)
    probability = round(joint_probability(known), _DIGITS)
    if all(each.certainty == Certainty.CERTAIN for each in landings):
        return Together(purpose, len(landings), Certainty.CERTAIN, probability)
    return Together(purpose, len(landings), certainty_of(probability, is_known=True), probability)


def joint_probability(probabilities: Sequence[float]) -> float:
    """The least probability that several events all happen, given their probabilities.

    >>> joint_probability([1.0, 0.75, 0.75]), joint_probability([0.5, 0.25])
    (0.5, 0.0)
    """
    return max(0.0, 1.0 - sum(1.0 - each for each in probabilities))


def not_probable_enough(landings: Sequence[Landing], setting: CertaintySetting) -> Obstacle | None:
    """Refuse moves that are probable enough one by one but not together. An unknown probability counts as just enough."""
    if len(landings) == 1:
        return None
    least = least_probability(setting)
    probabilities = [least if each.probability is None else each.probability for each in landings]
    joint = joint_probability(probabilities)
    if joint >= least - _ROUNDING:
        return None
    message = (
        f"all {len(landings)} moves together would land well with a probability of {probability_text(joint)}, and certainty "
        f"in the policy's restow section asks for {probability_text(least)}; this one is the least probable"
    )
    return Obstacle(probabilities.index(min(probabilities)), (Stage.PLACEMENT, RefusalCode.NOT_CERTAIN, message))


def may_wait(reason: Reason, source: int, later: Sequence[int]) -> bool:
    """Whether later moves of the proposal, which leave these nodes, could make room for a replacement that fits nowhere."""
    return reason[1] in FITS_NOWHERE and any(node != source for node in later)


def all_or_none(reason: Reason, plugin: str, purpose: str) -> Reason:
    """The reason why one pod cannot move, and that therefore none of the proposal does."""
    stage, code, message = reason
    return stage, code, f"{message.removesuffix('.')}; so {plugin} does not {purpose}"
