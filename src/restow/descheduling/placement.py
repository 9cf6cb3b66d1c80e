"""What a placement is, what it says of a landing, and ``upstream``, the placement that does not predict where pods land.

A placement makes one move after the other, each on the state that the moves before left, and returns the landing, or the
reason why the pod has to stay. Moves that belong together are made or refused as one. ``upstream`` placement is the
Descheduler's: it evicts, and the replacement lands somewhere. Like the Descheduler's own dry run, it checks no budget, and
nodeFit only if the policy says so, through the evictor. ``proving.proof`` is the other one.

A proven move succeeds if its replacement lands where the strategy gains by it. If it lands elsewhere, the move was *in vain*
(one hot node for another) or did *harm*: its new node is worse off than the old one was, or another strategy would move it
again from there. The policy says how probable success must be (``restow.certainty``); how improbable harm must be is fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_columns import PodUids
from restow.cluster.pods import PENDING, Pods
from restow.cluster.state import ClusterState
from restow.descheduling.framework import Reason, Suggestion
from restow.descheduling.vetoes import Vetoes
from restow.policies.codes import Certainty, PlacementConstraint, RefusalCode, ReplacementMode, Stage, SteeringMode
from restow.policies.policy import CertaintySetting

#: Why a pod stays that an earlier plan of the same cycle could not evict.
GIVEN_UP: Final[Reason] = (Stage.PLACEMENT, RefusalCode.GIVEN_UP, "the cycle has already tried to evict it")
#: The refusal that strategies get while their suggestions are only collected; it is never shown.
NOT_NOW: Final[Reason] = (Stage.PLACEMENT, RefusalCode.NO_GAIN, "nothing is moved here")
#: From this probability on a move is likely.
LIKELY: Final = 0.8
#: The highest probability of doing harm with which a move is made.
MOST_HARM: Final = 0.001
#: From this probability on outputs name the node where a replacement lands; below it they say "one of 7 nodes".
NAMED: Final = 0.2
#: Digits of the probabilities in a plan.
DIGITS: Final = 4
_LEAST: Final = {Certainty.CERTAIN: 1.0, Certainty.LIKELY: LIKELY, Certainty.POSSIBLE: 0.0}


class PluginRef(NamedTuple):
    """A strategy in a profile."""

    profile: str
    plugin: str


class Landing(NamedTuple):
    """Where a replacement lands, by index."""

    #: PENDING if it is not known, or if nothing lands.
    target: int = PENDING
    #: None if the placement does not predict it.
    certainty: Certainty | None = None
    #: The nodes that could win, in order of their names; of very many only the first, and the target.
    candidates: tuple[int, ...] = ()
    #: How many nodes could win.
    candidate_count: int = 0
    #: How probable it is that the replacement lands where the strategy gains by it.
    probability: float | None = None
    #: How probable each of the candidates is; empty where that is not known.
    probabilities: tuple[float, ...] = ()
    #: How probable the target is; None where that is not known, and where nothing lands.
    target_probability: float | None = None
    #: Those of the candidates where the strategy gains nothing.
    in_vain: tuple[int, ...] = ()
    #: How the replacement is brought to its target; None where the scheduler is left alone.
    steering: SteeringMode | None = None
    #: Whether it has a place only once later moves of its proposal have been made.
    waits: bool = False
    #: Why the replacement may be another pod than the one that was placed; empty where it is known.
    caveat: str = ""
    #: Whether the replacement comes before the pod goes.
    mode: ReplacementMode = ReplacementMode.EVICT
    #: Whether the pod is evicted where its replacement cannot come first.
    evicts_instead: bool = False


class Obstacle(NamedTuple):
    """Why some moves cannot be made together: the position of the first that cannot, and its reason."""

    position: int
    reason: Reason


def excluded_pods(pods: Pods, uids: PodUids, excluded: Mapping[str, Reason]) -> dict[int, Reason]:
    """The pods that must stay, by index instead of uid."""
    return {pod: excluded[pods.uids[pod]] for pod in uids.rows(excluded.keys())}


class Placing(Protocol):
    """Makes moves on a state."""

    def move(self, ref: PluginRef, suggestions: Sequence[Suggestion]) -> tuple[Landing, ...] | Obstacle:
        """Make all suggested moves, or return why not and change nothing; the pods exist and have nodes."""
        ...


class EvictOnly:
    """``upstream`` placement. ``excluded`` are pods that could not be evicted; strategies get a refusal for them."""

    def __init__(self, state: ClusterState, excluded: Mapping[int, Reason] = MappingProxyType({})) -> None:
        self._state = state
        self._excluded = excluded

    def move(self, _ref: PluginRef, suggestions: Sequence[Suggestion]) -> tuple[Landing, ...] | Obstacle:
        """Evict the pods; where their replacements land is not known."""
        for position, each in enumerate(suggestions):
            if each.pod in self._excluded:
                return Obstacle(position, self._excluded[each.pod])
        for each in suggestions:
            self._state.remove(each.pod)
        return (Landing(),) * len(suggestions)


def least_probability(setting: CertaintySetting) -> float:
    """The least probability of success that a policy's ``certainty`` asks for; 0 for ``possible``."""
    return _LEAST[setting] if isinstance(setting, str) else setting


def certainty_asked(least: float) -> str:
    """What messages say of the probability of success that a policy asks for."""
    return f"certainty in the policy's restow section asks for {probability_text(least)}"


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


def probability_text(probability: float) -> str:
    """A probability for people, with two digits. It is not rounded up to 1 nor down to 0.

    >>> probability_text(0.9333), probability_text(0.9999), probability_text(0.0001)
    ('0.93', '0.99', '0.01')
    """
    if probability in (0.0, 1.0):
        return f"{probability:.0f}"
    return f"{min(max(probability, 0.01), 0.99):.2f}"


# A move fails with a probability of 1 less its own, and the probability that at least one fails is at most the sum of these,
# however they depend on one another (Boole's inequality). If they were independent, the product of their probabilities would
# be a little higher, but that is not known.
def joint_probability(probabilities: Sequence[float]) -> float:
    """The least probability that several events all happen, given their probabilities.

    >>> joint_probability([1.0, 0.75, 0.75]), joint_probability([0.5, 0.25])
    (0.5, 0.0)
    """
    return max(0.0, 1.0 - sum(1.0 - each for each in probabilities))


def accepted(suggestion: Suggestion, source: int, nodes: IntArray, vetoes: Vetoes) -> BoolArray:
    """Which of some nodes a suggestion accepts as landing places and no veto closes, bool[len(nodes)]."""
    good = strategy_accepts(suggestion, source, nodes, vetoes)
    return good if vetoes.closed.is_empty else good & ~vetoes.closed.any[nodes]


def strategy_accepts(suggestion: Suggestion, source: int, nodes: IntArray, vetoes: Vetoes) -> BoolArray:
    """Which of some nodes a suggestion accepts as landing places, whether or not a veto closes them, bool[len(nodes)]."""
    good = np.ones(len(nodes), dtype=bool) if suggestion.accepts is None else suggestion.accepts(nodes)
    may_return = suggestion.constraint is PlacementConstraint.ANYWHERE
    if not may_return or vetoes.never_returns(suggestion.pod):
        good = good & (nodes != source)
    return good
