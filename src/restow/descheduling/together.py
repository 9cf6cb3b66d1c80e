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
from restow.scheduling.framework.recent import Recent

#: Refusals of replacements that fit on no node.
FITS_NOWHERE: Final = frozenset({RefusalCode.NO_FIT, RefusalCode.NEEDS_PREEMPTION})
#: Of probabilities in a plan.
_DIGITS = 4
#: What sums of probabilities may be off.
_ROUNDING = 1e-6

_Key = tuple[Hashable, ...]
_Answer = PlacementPrediction | Reason
#: What a pod may have alone: the signature says what comes of it.
_OWN = ("namespace", "labels", "owners", "images", "init_images", "volume_images")
#: What decides where a replacement lands, beside that.
_SEEN = tuple(column for column in columns_of(Aspect.LANDING) if column not in _OWN)
#: Pods alike of one node come soon after one another; a prediction on 5,000 nodes takes 0.1 MB.
_CAPACITY = 1024


class Together(NamedTuple):
    """The proposal that a decided move is part of."""

    purpose: str
    #: How many moves it has.
    moves: int
    #: How sure it is that all of them succeed; None where nobody asked.
    certainty: Certainty | None
    #: The least probability that all of them succeed; None where that is not known.
    probability: float | None


# An overfull node has dozens of pods of a few kinds, and where the first of them cannot go the others cannot go
# either. Pods are alike if a scheduler sees no difference between them and they leave the same node. It sees the same
# resources, rules, tolerations and so on by their identifiers. Namespace, labels, owners and images are the pod's
# own; what they come to is the same for many: who selects a pod, and where the pods are that it is spread with
# (``Schedulers.signature``). Pods with volumes are never alike: their claims are their own. Whether the nodes that
# could win would do is asked for each pod: what it uses, and which constraint wants it gone, is its own too.
class RefusalMemory:
    """What was found out since the last move."""

    def __init__(self, pods: Pods, signature: Callable[[int], Hashable]) -> None:
        self._pods = pods
        #: What else tells pods apart, on the state as it is.
        self._signature = signature
        self._known: Recent[_Key, _Answer] = Recent(_CAPACITY)
        self._learnt: tuple[int, int, _Answer] | None = None

    def recall(self, pod: int, source: int) -> _Answer | None:
        """Where a pod alike could land, or why it cannot land anywhere."""
        return self._known.get(self._key(pod, source)) if self._known else None

    def learn(self, pod: int, source: int, answer: _Answer) -> None:
        """Take in what was said of a pod; its replacement was tried for that, so ``keep`` follows when that is undone."""
        has_volumes = bool(self._pods.tables.volumes[self._pods.volumes[pod]])
        self._learnt = None if has_volumes else (pod, source, answer)

    def keep(self) -> None:
        """Remember what was learnt last, now that the state is as it was before."""
        if self._learnt is not None:
            pod, source, answer = self._learnt
            self._known.put(self._key(pod, source), answer)
            self._learnt = None

    def forget(self) -> None:
        """Something has moved."""
        self._known = Recent(_CAPACITY)
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
