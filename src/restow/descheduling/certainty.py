"""How probable the success of a move must be, and how probable harm may be.

A move succeeds if its replacement lands where the strategy gains by it. If it lands elsewhere, the move was *in vain* (one
hot node for another) or did *harm*: its new node is worse off than the old one was, or another strategy would move it again
from there. The policy says how probable success must be; how improbable harm must be is fixed.
"""

from __future__ import annotations

from typing import Final

from restow.descheduling.plan import Move
from restow.policies.codes import Certainty, TargetKind
from restow.policies.policy import CertaintySetting

#: From this probability on a move is likely.
LIKELY: Final = 0.8
#: The highest probability of doing harm with which a move is made.
MOST_HARM: Final = 0.001
#: From this probability on outputs name the node where a replacement lands; below it they say "one of 7 nodes".
NAMED: Final = 0.2
_LEAST: Final = {Certainty.CERTAIN: 1.0, Certainty.LIKELY: LIKELY, Certainty.POSSIBLE: 0.0}


def least_probability(setting: CertaintySetting) -> float:
    """The least probability of success that a policy's ``certainty`` asks for; 0 for ``possible``."""
    return _LEAST[setting] if isinstance(setting, str) else setting


def certainty_of(probability: float, *, is_known: bool) -> Certainty:
    """The word for a probability. ``is_known`` is False if the input lacks what scores depend on: then it is only possible."""
    if not is_known:
        return Certainty.POSSIBLE
    if probability == 1.0:
        return Certainty.CERTAIN
    return Certainty.LIKELY if probability >= LIKELY else Certainty.POSSIBLE


def likely_at_most(certainty: Certainty) -> Certainty:
    """A certainty of a pod that may come back as another one than is known: likely at most."""
    return Certainty.LIKELY if certainty is Certainty.CERTAIN else certainty


def target_kind(move: Move) -> TargetKind | None:
    """How sure it is on which node the replacement lands; None in ``upstream`` placement, which does not predict it."""
    if move.certainty is None:
        return None
    if move.target is None:
        return TargetKind.NONE
    if move.steering is not None:
        return TargetKind.STEERED
    return TargetKind.OPEN if move.candidate_count > 1 else TargetKind.CERTAIN


def probability_text(probability: float) -> str:
    """A probability for people, with two digits. It is not rounded up to 1 nor down to 0.

    >>> probability_text(0.9333), probability_text(0.9999), probability_text(0.0001)
    ('0.93', '0.99', '0.01')
    """
    if probability in (0.0, 1.0):
        return f"{probability:.0f}"
    return f"{min(max(probability, 0.01), 0.99):.2f}"
