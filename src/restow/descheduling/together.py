"""Proposals: how probable it is that all of their moves succeed, and what refusals of them say.

Each move is proven on the state that those before it leave, and fails with a probability of 1 less its own. The probability
that at least one fails is at most the sum of these, however they depend on one another (Boole's inequality). If they were
independent, the product of their probabilities would be a little higher, but that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple

from restow.cluster.pod_classes import Aspect, columns_of
from restow.cluster.pods import Pods
from restow.descheduling.certainty import certainty_of, least_probability, probability_text
from restow.descheduling.evictor import Reason
from restow.descheduling.landings import PlacementPrediction
from restow.descheduling.placement import Landing, Obstacle
from restow.policies.codes import Certainty, RefusalCode, Stage
from restow.policies.policy import CertaintySetting
from restow.scheduling.framework.lru_cache import LruCache

#: Refusals of replacements that fit on no node.
FITS_NOWHERE: Final = frozenset({RefusalCode.NO_FIT, RefusalCode.NEEDS_PREEMPTION})
#: Digits of the probabilities in a plan.
_DIGITS = 4
#: The largest rounding error of a sum of probabilities.
_ROUNDING = 1e-6

_Key = tuple[Hashable, ...]
_Answer = PlacementPrediction | Reason
#: Columns that may differ between all pods: the signature holds what follows from them.
_OWN = ("namespace", "labels", "owners", "images", "init_images", "volume_images")
#: The other columns that decide where a replacement lands.
_SEEN = tuple(column for column in columns_of(Aspect.LANDING) if column not in _OWN)
#: Pods alike of one node come soon after one another; a prediction on 5,000 nodes takes 0.1 MB.
_CAPACITY = 1024


class Together(NamedTuple):
    """The proposal that a decided move is part of."""

    purpose: str
    #: How many moves it has.
    moves: int
    #: How sure it is that all of them succeed; None if the placement does not predict it.
    certainty: Certainty | None
    #: The least probability that all of them succeed; None where that is not known.
    probability: float | None


# An overfull node has dozens of pods of a few kinds, and where the first of a kind cannot go, the others cannot go
# either. Pods are alike if they leave the same node and a scheduler sees no difference between them. Resources, rules,
# tolerations and so on are compared by their identifiers. Namespace, labels, owners and images may differ, because
# only their effect counts: which selectors match the pod, and where the pods are that it is spread with
# (``Schedulers.signature``). Pods with volumes are never alike: each has its own claims. Whether the strategy accepts
# the nodes that could win is asked for each pod, since that depends on its usage and on the constraint.
class RefusalMemory:
    """Predictions and refusals for alike pods, kept until something moves."""

    def __init__(self, pods: Pods, signature: Callable[[int], Hashable]) -> None:
        self._pods = pods
        #: In what else pods differ, on the state as it is.
        self._signature = signature
        self._known: LruCache[_Key, _Answer] = LruCache(_CAPACITY)
        self._learnt: tuple[int, int, _Answer] | None = None

    def recall(self, pod: int, source: int) -> _Answer | None:
        """Where an alike pod could land, or why it cannot land anywhere; None if none has been tried."""
        return self._known.get(self._key(pod, source)) if self._known else None

    def learn(self, pod: int, source: int, answer: _Answer) -> None:
        """Note the answer for a pod. Its replacement is still in the state, so ``keep`` follows when that is undone."""
        has_volumes = bool(self._pods.tables.volumes[self._pods.volumes[pod]])
        self._learnt = None if has_volumes else (pod, source, answer)

    def keep(self) -> None:
        """Keep the last answer, now that the state is as it was before."""
        if self._learnt is not None:
            pod, source, answer = self._learnt
            self._known.put(self._key(pod, source), answer)
            self._learnt = None

    def forget(self) -> None:
        """Forget all answers, because something has moved."""
        self._known = LruCache(_CAPACITY)
        self._learnt = None

    def _key(self, pod: int, source: int) -> _Key:
        seen = (int(getattr(self._pods, name)[pod]) for name in _SEEN)
        return source, self._pods.is_replacement(pod), *seen, self._signature(pod)


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
