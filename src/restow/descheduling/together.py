"""Moves that are made as one: how probable it is that all of them succeed, and what is said where one cannot be made.

Each move is proven on the state that those before it leave, and may fail with one minus its probability. All of them
succeed at least with one minus the sum of these, however they depend on one another (Boole's inequality); where they do
not depend on one another the product says a little more, but that is not known.
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
    """What some landings are as one."""
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
    """How probable it is at least that all of some things happen.

    >>> joint_probability([1.0, 0.75, 0.75]), joint_probability([0.5, 0.25])
    (0.5, 0.0)
    """
    return max(0.0, 1.0 - sum(1.0 - each for each in probabilities))


def not_probable_enough(landings: Sequence[Landing], setting: CertaintySetting) -> Obstacle | None:
    """Refuse moves that are probable enough one by one, and not all together; one of unknown probability just does."""
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
    """Whether a replacement that has no place may have one once pods have left the nodes of later moves."""
    return reason[1] in FITS_NOWHERE and any(node != source for node in later)


def all_or_none(reason: Reason, plugin: str, purpose: str) -> Reason:
    """Why one of several pods cannot go, and what follows for all of them."""
    stage, code, message = reason
    return stage, code, f"{message.removesuffix('.')}; so {plugin} does not {purpose}"
