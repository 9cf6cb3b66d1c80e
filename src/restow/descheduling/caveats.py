"""What makes a proven landing less sure than the scheduler's rules say: it is capped, or refused where a policy asks for more.

The scheduler of another version may choose another node, the kubelet of a node may refuse the pod, and a queue may let the
replacement wait. None of that is a rule that the proof could apply; each lowers ``certainty`` and is said in ``caveat``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import structs

from restow.cluster.interning import IntArray
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.certainty import LIKELY, least_probability, likely_at_most, probability_text
from restow.descheduling.evictor import Reason
from restow.descheduling.framework import Suggestion
from restow.descheduling.groups import MovingGroups
from restow.descheduling.landings import accepted
from restow.descheduling.placement import Landing
from restow.descheduling.vetoes import Vetoes
from restow.policies.codes import Certainty, RefusalCode, Stage
from restow.policies.policy import CertaintySetting
from restow.scheduling.loop.alignment import Alignment
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.server_rules import other_scores
from restow.workloads.replacements import Replacements


@dataclass(slots=True)
class Caveats:
    """Caps the landings of one plan."""

    cluster: ClusterSnapshot
    replacements: Replacements
    certainty: CertaintySetting
    vetoes: Vetoes
    #: None where pods of groups do not move.
    groups: MovingGroups | None
    _alignment: Alignment = field(init=False)
    _other_scores: str = field(init=False)
    #: The probability that the policy asks for.
    _least: float = field(init=False)

    def __post_init__(self) -> None:
        self._alignment = Alignment(self.cluster)
        self._other_scores = other_scores(self.cluster.server_minor)
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
        if not self._other_scores or accepted(suggestion, source, decision.verdicts.feasible, self.vetoes).all():
            return landing
        if self._least > LIKELY:
            return self._not_certain(self._other_scores)
        certainty = landing.certainty and likely_at_most(landing.certainty)
        return landing._replace(certainty=certainty, caveat=_joined(landing.caveat, self._other_scores))

    def aligned(self, pod: int, landing: Landing, nodes: IntArray) -> Landing | Reason:
        """The landing on one of these nodes, possible at most where a kubelet may refuse the pod; or why it is refused."""
        caveat = self._alignment.caveat(self.replacements.of(pod), nodes)
        if not caveat:
            return landing
        if self._least > 0:
            return self._not_certain(caveat)
        joined = _joined(landing.caveat, caveat)
        return landing._replace(certainty=Certainty.POSSIBLE, probability=None, caveat=joined)

    def keep_aligned(self, suggestion: Suggestion) -> Suggestion:
        """The suggestion without nodes whose kubelets may refuse the pod, unless possible moves are made."""
        replacement = self.replacements.of(suggestion.pod)
        if self._least == 0 or not self._alignment.concerns(replacement):
            return suggestion
        accepts, free = suggestion.accepts, self._alignment.free
        return structs.replace(
            suggestion, accepts=free if accepts is None else lambda nodes: accepts(nodes) & free(nodes)
        )

    def admitted(self, pod: int, landing: Landing) -> Landing | Reason:
        """The landing, possible at most where a queue must admit the replacement first; or a refusal."""
        if self.groups is None or not self.groups.is_admitted(pod):
            return landing
        if self._least < 1.0:
            return landing._replace(certainty=Certainty.POSSIBLE, probability=None)
        return self._not_certain("its replacement must be admitted by a queue first")

    def _not_certain(self, caveat: str) -> Reason:
        wanted = f"certainty in the policy's restow section asks for {probability_text(self._least)}"
        return Stage.PLACEMENT, RefusalCode.NOT_CERTAIN, f"{caveat}; {wanted}"


def _joined(*caveats: str) -> str:
    return "; ".join(filter(None, caveats))
