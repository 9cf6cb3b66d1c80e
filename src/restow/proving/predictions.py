"""Where the scheduler could put a replacement, what makes that less sure, and a memory of it for pods alike.

The scheduler of another version may choose another node, the kubelet of a node may refuse the pod, and a queue may let the
replacement wait. None of that is a rule that the proof could apply; each is a caveat: it lowers ``certainty``, or the move is
refused if a policy asks for more. Moves that belong together may be sure enough one by one, but not together.

An overfull node has dozens of pods of a few kinds, and where the first of a kind cannot go, the others cannot go either. So
predictions and refusals are remembered while nothing moves. Pods are alike if they leave the same node and a scheduler sees
no difference between them. Resources, rules, tolerations and so on are compared by their identifiers. Namespace, labels,
owners and images may differ, because only their effect counts: which selectors match the pod, and where the pods are that
it is spread with (``Schedulers.signature``). So may the names of containers and the rest of how a pod was created: what
counts is in what the next pod differs (``Replacements.signature``). Pods with volumes are never alike: each has its own
claims. Whether the strategy accepts the nodes that could win is asked for each pod, since that depends on its usage and on
the constraint.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from msgspec import structs

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_classes import Aspect, columns_of
from restow.cluster.pods import NO_POD, Pods
from restow.cluster.state import ClusterState
from restow.descheduling.framework import Reason, Suggestion
from restow.descheduling.groups import MovingGroups
from restow.descheduling.placement import (
    LIKELY,
    Landing,
    Obstacle,
    accepted,
    certainty_asked,
    joint_probability,
    least_probability,
    likely_at_most,
    probability_text,
)
from restow.descheduling.vetoes import Vetoes
from restow.policies.codes import Certainty, RefusalCode, Stage
from restow.policies.policy import CertaintySetting
from restow.scheduling.devices.extended_resources import claimed_resources
from restow.scheduling.devices.rules import doubt_of_devices
from restow.scheduling.framework.caches import LruCache
from restow.scheduling.framework.minors import not_followed
from restow.scheduling.framework.verdicts import histogram, reason_counts
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.numa.alignment import Alignment
from restow.scheduling.sampling.landing_odds import LandingOdds
from restow.workloads.replacements import Replacements


class PlacementPrediction(NamedTuple):
    """Where a replacement could land if it is not steered."""

    odds: LandingOdds
    #: The nodes that win if the scheduler looks at all nodes.
    best: IntArray
    #: Whether it is scheduled only once the old pod is gone.
    afterwards: bool
    #: Why it fits on no other node, if it would come back to its own.
    elsewhere: str = ""


_Key = tuple[Hashable, ...]
_Answer = PlacementPrediction | Reason
#: Columns that may differ between all pods: the signature holds what follows from them.
_OWN = ("namespace", "labels", "owners", "images", "init_images", "volume_images", "origins")
#: The other columns that decide where a replacement lands.
_SEEN = tuple(column for column in columns_of(Aspect.LANDING) if column not in _OWN)
#: Pods alike of one node come soon after one another; a prediction on 5,000 nodes takes 0.1 MB.
_CAPACITY = 1024
#: After how many pods it is known whether alike ones are frequent: one in ``_WORTH`` at least.
_LEAST_ASKED = 256
_WORTH = 8
#: The nodes of which pods are looked for even if not: one in so many.
_STILL_ASKED = 8


class RefusalMemory:
    """Predictions and refusals for alike pods, kept until something moves.

    Looking for alike pods takes a good part of what a proof takes. Where few pods are alike, it looks on some nodes only,
    until more are found there.
    """

    def __init__(self, pods: Pods, signature: Callable[[int], Hashable]) -> None:
        self._pods = pods
        #: In what else pods differ, on the state as it is.
        self._signature = signature
        self._known: LruCache[_Key, _Answer] = LruCache(_CAPACITY)
        self._learnt: tuple[int, int, _Answer] | None = None
        #: The pod that was looked for last, and its key.
        self._looked_for: tuple[int, _Key] = NO_POD, ()
        #: How often an alike pod was looked for lately, and how often one was known.
        self._asked, self._recalled = 0, 0

    def recall(self, pod: int, source: int) -> _Answer | None:
        """Where an alike pod could land, or why it cannot land anywhere; None if none has been tried."""
        self._looked_for = NO_POD, ()
        if not self._known or self._is_left_out(source):
            return None
        key = self._key(pod, source)
        self._looked_for = pod, key
        found = self._known.get(key)
        self._asked += 1
        self._recalled += found is not None
        if self._asked >= 2 * _LEAST_ASKED:
            self._asked, self._recalled = self._asked // 2, self._recalled // 2
        return found

    def learn(self, pod: int, source: int, answer: _Answer) -> None:
        """Note the answer for a pod. Its replacement is still in the state, so ``keep`` follows when that is undone."""
        has_volumes = bool(self._pods.tables.volumes[self._pods.volumes[pod]])
        self._learnt = None if has_volumes or self._is_left_out(source) else (pod, source, answer)

    def keep(self) -> None:
        """Keep the last answer, now that the state is as it was before."""
        if self._learnt is not None:
            pod, source, answer = self._learnt
            looked_for, key = self._looked_for
            self._known.put(key if looked_for == pod else self._key(pod, source), answer)
            self._learnt = None

    def forget(self) -> None:
        """Forget all answers, because something has moved."""
        self._known = LruCache(_CAPACITY)
        self._learnt = None
        self._looked_for = NO_POD, ()

    def _is_left_out(self, source: int) -> bool:
        few_are_alike = self._asked >= _LEAST_ASKED and self._recalled * _WORTH < self._asked
        return few_are_alike and source % _STILL_ASKED != 0

    def _key(self, pod: int, source: int) -> _Key:
        seen = (int(getattr(self._pods, name)[pod]) for name in _SEEN)
        return source, self._pods.is_replacement(pod), *seen, self._signature(pod)


def elsewhere_text(decision: SchedulingDecision) -> str:
    """Why only one node could win: the end of a sentence."""
    fitting = int(np.count_nonzero(decision.verdicts.passes)) - 1
    if fitting:
        return f", which scores more than {fitting} other node{'s' if fitting > 1 else ''} where it fits"
    rejections = histogram(reason_counts(decision.verdicts)).removesuffix(".")
    return rejections and f"; the other nodes:{rejections}"


@dataclass(slots=True)
class Caveats:
    """Caps the landings of one plan."""

    state: ClusterState
    replacements: Replacements
    certainty: CertaintySetting
    vetoes: Vetoes
    #: None where pods of groups do not move.
    groups: MovingGroups | None
    _alignment: Alignment = field(init=False)
    _not_followed: str = field(init=False)
    _doubt_of_devices: str = field(init=False)
    #: Extended resources for which devices are claimed.
    _claimed: frozenset[str] = field(init=False)
    #: The probability that the policy asks for.
    _least: float = field(init=False)

    def __post_init__(self) -> None:
        cluster = self.state.cluster
        self._alignment = Alignment(self.state)
        self._not_followed = not_followed(cluster.server_minor)
        self._doubt_of_devices = doubt_of_devices(cluster)
        self._claimed = claimed_resources(cluster)
        self._least = least_probability(self.certainty)

    def unsteered(
        self, suggestion: Suggestion, source: int, landing: Landing, decision: SchedulingDecision, nodes: IntArray
    ) -> Landing | Reason:
        """The landing where the scheduler chooses one of these nodes, by everything that is open about it; or a refusal."""
        scored = self._scored(suggestion, source, landing, decision)
        return self.aligned(suggestion.pod, scored, nodes) if isinstance(scored, Landing) else scored

    def _scored(
        self, suggestion: Suggestion, source: int, landing: Landing, decision: SchedulingDecision
    ) -> Landing | Reason:
        """The landing, likely at most where another version of the scheduler may choose another node; or a refusal."""
        if not self._not_followed or accepted(suggestion, source, decision.verdicts.feasible, self.vetoes).all():
            return landing
        return self._likely_at_most(landing, self._not_followed)

    def equipped(self, pod: int, landing: Landing) -> Landing | Reason:
        """The landing, likely at most where it is open which devices a pod gets for its claims; or a refusal."""
        if not self._doubt_of_devices or not self._claims_devices(self.replacements.of(pod)):
            return landing
        return self._likely_at_most(landing, self._doubt_of_devices)

    def _claims_devices(self, pod: int) -> bool:
        pods = self.state.cluster.pods
        requests = pods.tables.resources[pods.resources[pod]].requests
        return bool(pods.tables.claims[pods.claims[pod]]) or any(requests.get(each, 0) > 0 for each in self._claimed)

    def _likely_at_most(self, landing: Landing, caveat: str) -> Landing | Reason:
        if self._least > LIKELY:
            return self._not_certain(caveat)
        certainty = landing.certainty and likely_at_most(landing.certainty)
        return landing._replace(certainty=certainty, caveat=_joined(landing.caveat, caveat))

    def aligned(self, pod: int, landing: Landing, nodes: IntArray) -> Landing | Reason:
        """The landing on one of these nodes, possible at most where a kubelet may refuse the pod; or why it is refused."""
        replacement = self.replacements.of(pod)
        if not self._alignment.concerns(replacement):
            return landing
        doubts = self._alignment.doubts(replacement, nodes)
        if not doubts.text:
            return landing
        if doubts.is_refused:
            return Stage.PLACEMENT, RefusalCode.NOT_ALIGNED, doubts.text
        if self._least > 0:
            return self._not_certain(doubts.text)
        joined = _joined(landing.caveat, doubts.text)
        return landing._replace(certainty=Certainty.POSSIBLE, probability=None, caveat=joined)

    def keep_aligned(self, suggestion: Suggestion) -> Suggestion:
        """The suggestion without nodes whose kubelets may refuse the pod, unless possible moves are made."""
        replacement = self.replacements.of(suggestion.pod)
        if self._least == 0 or not self._alignment.concerns(replacement):
            return suggestion
        accepts = suggestion.accepts

        def taken(nodes: IntArray) -> BoolArray:
            takes = self._alignment.takes(replacement, nodes)
            return takes if accepts is None else accepts(nodes) & takes

        return structs.replace(suggestion, accepts=taken)

    def admitted(self, pod: int, landing: Landing) -> Landing | Reason:
        """The landing, possible at most where a queue must admit the replacement first; or a refusal."""
        if self.groups is None or not self.groups.is_admitted(pod):
            return landing
        if self._least < 1.0:
            return landing._replace(certainty=Certainty.POSSIBLE, probability=None)
        return self._not_certain("its replacement must be admitted by a queue first")

    def together(self, landings: Sequence[Landing]) -> Obstacle | None:
        """Refuse moves that are probable enough one by one but not together. An unknown probability counts as just enough."""
        if len(landings) == 1:
            return None
        probabilities = [self._least if each.probability is None else each.probability for each in landings]
        joint = joint_probability(probabilities)
        if joint >= self._least - _ROUNDING:
            return None
        message = (
            f"all {len(landings)} moves together would land well with a probability of {probability_text(joint)}, and "
            f"{certainty_asked(self._least)}; this one is the least probable"
        )
        return Obstacle(probabilities.index(min(probabilities)), (Stage.PLACEMENT, RefusalCode.NOT_CERTAIN, message))

    def _not_certain(self, caveat: str) -> Reason:
        return Stage.PLACEMENT, RefusalCode.NOT_CERTAIN, f"{caveat}; {certainty_asked(self._least)}"


def _joined(*caveats: str) -> str:
    return "; ".join(filter(None, caveats))


#: The largest rounding error of a sum of probabilities.
_ROUNDING = 1e-6
