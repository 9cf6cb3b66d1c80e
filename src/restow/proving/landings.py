"""Decides whether a landing is good: where the scheduler would put the replacement, or where it is steered.

Foreseen landings: kube-scheduler chooses. Every node that could win has a probability
(``scheduling.sampling.landing_odds``). Together, the nodes that the strategy accepts must be probable enough, and those
where the landing would do harm must be improbable enough (``descheduling.placement``).

Steered landings: the replacement is nominated for a node before kube-scheduler sees it. Then that node wins if it
passes the filters, without scores and samples. So the plan chooses: among the nodes that fit and that the strategy
accepts, it takes the one with the least ``cost``. Source: evaluateNominatedNode, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from restow.cluster.closed_nodes import leaving_taint
from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pods import PENDING
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.framework import LandingCheck, Reason, Suggestion
from restow.descheduling.placement import (
    DIGITS,
    LIKELY,
    MOST_HARM,
    Landing,
    PluginRef,
    accepted,
    certainty_asked,
    certainty_of,
    least_probability,
    likely_at_most,
    probability_text,
    strategy_accepts,
)
from restow.descheduling.vetoes import Vetoes
from restow.policies.codes import Certainty, RefusalCode, Stage, SteeringMode
from restow.policies.policy import CertaintySetting
from restow.proving.predictions import PlacementPrediction
from restow.scheduling.framework.verdicts import histogram, reason_counts
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.missing_data import Kinds, MissingData, plural_kinds
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.sampling.landing_odds import LandingOdds
from restow.workloads.replacements import Replacements

#: Nodes named in a sentence.
_NAMED = 3
#: Candidates of one move that a plan holds.
MOST_CANDIDATES = 512
#: How many nodes with the same cost are looked at for one move, at most.
_ENOUGH = 128
_SPACED: IntArray = np.arange(_ENOUGH)
#: Its multiples, modulo 1, are spread evenly, and so are every second or every third of them.
_GOLDEN = (5**0.5 - 1) / 2


class Landings:
    """Decides about the landings of one plan. Call it while the state is the one on which the replacement is scheduled."""

    def __init__(
        self,
        cluster: ClusterSnapshot,
        replacements: Replacements,
        schedulers: Schedulers,
        missing_data: MissingData,
        *,
        certainty: CertaintySetting,
        vetoes: Vetoes,
    ) -> None:
        self._nodes = cluster.nodes
        self._vetoes = vetoes
        self._replacements = replacements
        self._schedulers = schedulers
        self._missing_data = missing_data
        self._least = least_probability(certainty)
        self._known_figures: dict[float, float] = {}
        #: The same integers for all moves.
        self._indices = np.arange(len(cluster.nodes)).astype(object)
        self._everywhere: IntArray = np.arange(len(cluster.nodes))
        #: How often only some of the nodes with the least cost were checked.
        self._samples = 0
        #: The landing checks of this round.
        self.watchers: list[tuple[PluginRef, LandingCheck]] = []

    def foreseen(
        self, ref: PluginRef, suggestion: Suggestion, source: int, prediction: PlacementPrediction
    ) -> Landing | Reason:
        """Return the landing if it is good with sufficient probability, else why the move is refused."""
        odds = prediction.odds
        good = self._accepted(suggestion, source, odds.nodes)
        if not good.any():
            closed = self._closed(suggestion, source, odds.nodes)
            return closed or self._no_use(ref, suggestion, source, prediction)
        probability = odds.of(good)
        caveat = self._caveat(suggestion.pod)
        if caveat and self._least > LIKELY:
            return self._not_known(caveat)
        if probability < self._least:
            return self._not_certain(suggestion.pod, odds, good, probability)
        target = _target(prediction.best, odds.nodes, good)
        harm = self._cycle(ref, suggestion, odds, target) or self._harm(suggestion, source, odds, good)
        if harm is not None:
            return harm
        return self._unknown_eviction(suggestion.pod) or _capped(self._landing(odds, good, target, probability), caveat)

    def steered(self, ref: PluginRef, suggestion: Suggestion, source: int) -> Landing | Reason | None:
        """Return the landing on the best node, else why there is none; None if the replacement fits on no node now.

        The filters first see only nodes with the least cost, and all nodes only if none of those fits: that saves time.
        Nodes with taints and labels that no such pod gets past are left out before. Of nodes with the same cost, the
        scheduler's scores decide.
        """
        caveat = self._caveat(suggestion.pod)
        if caveat and self._least > LIKELY:
            return self._not_known(caveat)
        replacement = self._replacements.of(suggestion.pod)
        best = self._cheapest_accepted(suggestion, source, self._schedulers.admitting(replacement))
        found = self._undisturbed(ref, replacement, self._schedulers.passing(replacement, best))
        if not isinstance(found, np.ndarray):
            fitting = self._schedulers.fitting(replacement)
            if not fitting.any():
                return None
            wanted = self._everywhere[self._accepted(suggestion, source, self._everywhere)]
            found = self._undisturbed(ref, replacement, wanted[fitting[wanted]])
            if not isinstance(found, np.ndarray):
                closed = self._closed(suggestion, source, np.flatnonzero(fitting))
                return found or closed or self._no_target(ref, suggestion, wanted, fitting)
            found = self._cheapest(suggestion, found)
        target = int(found[0] if len(found) == 1 else self._schedulers.best_of(replacement, found)[0])
        landing = Landing(
            target,
            Certainty.CERTAIN,
            (self._indices[target],),
            1,
            probability=1.0,
            probabilities=(1.0,),
            target_probability=1.0,
            steering=SteeringMode.NOMINATE,
        )
        return self._unknown_eviction(suggestion.pod) or _capped(landing, caveat)

    def _caveat(self, pod: int) -> str:
        """Why the replacement of a pod may differ from the known one; kinds that would show it count as missed."""
        _, caveat, lacks = self._replacements.next_pod(pod)
        self._missing_data.missed.update(lacks)
        return caveat

    def _not_known(self, caveat: str) -> Reason:
        message = f"it is not known which pod comes in its place, and {certainty_asked(self._least)}: {caveat}"
        return Stage.PLACEMENT, RefusalCode.NOT_CERTAIN, message

    def _accepted(self, suggestion: Suggestion, source: int, nodes: IntArray) -> BoolArray:
        return accepted(suggestion, source, nodes, self._vetoes)

    def _cheapest_accepted(self, suggestion: Suggestion, source: int, nodes: IntArray) -> IntArray:
        """Of some nodes those with the least cost among those that are accepted, or some of them."""
        if len(nodes) == 0:
            return nodes
        cheapest = self._cheapest(suggestion, nodes)
        found: IntArray = cheapest[self._accepted(suggestion, source, cheapest)]
        # Usually the cheapest of all are accepted, and then the others need not be asked about.
        return found if len(found) else self._cheapest(suggestion, nodes[self._accepted(suggestion, source, nodes)])

    def _cheapest(self, suggestion: Suggestion, nodes: IntArray) -> IntArray:
        """Nodes with the least cost for the strategy, at most ``_ENOUGH`` of them; all nodes if it has no costs."""
        if suggestion.cost is None or len(nodes) == 0:
            return nodes
        costs = suggestion.cost(nodes)
        cheapest: IntArray = (costs == costs.min()).nonzero()[0]
        return nodes[cheapest if len(cheapest) <= _ENOUGH else cheapest[self._sample(len(cheapest))]]

    def _sample(self, count: int) -> IntArray:
        """The positions of ``_ENOUGH`` of ``count`` nodes.

        They are evenly spaced, since neighbours by name are often in the same zone, and others each time, so that every
        node gets pods.
        """
        self._samples += 1
        offset = int(self._samples * _GOLDEN % 1 * count)
        return (_SPACED * count + offset) // _ENOUGH

    def _closed(self, suggestion: Suggestion, source: int, nodes: IntArray) -> Reason | None:
        """The refusal if a suggestion would accept some of these nodes, but vetoes close all of them; None if it accepts none."""
        if self._vetoes.closed.is_empty:
            return None
        wanted = nodes[strategy_accepts(suggestion, source, nodes, self._vetoes)]
        if len(wanted) == 0:
            return None
        leaving = wanted[self._vetoes.closed.leaving[wanted]]
        if len(leaving) == 0:
            message = f"it would land on {self._some_nodes(wanted)}, virtual and never a target"
            return Stage.PLACEMENT, RefusalCode.VIRTUAL_NODE, message
        taint = leaving_taint(self._nodes.taint_sets[self._nodes.taints[leaving[0]]])
        message = f"it would land on {self._some_nodes(leaving)}, about to be removed (taint {taint})"
        return Stage.PLACEMENT, RefusalCode.LEAVING_NODE, message

    def _no_target(self, ref: PluginRef, suggestion: Suggestion, wanted: IntArray, fitting: BoolArray) -> Reason:
        """The refusal if no node is left: none that fits is accepted, or none that is accepted fits."""
        if len(wanted):
            counts = reason_counts(self._schedulers.verdicts(self._replacements.of(suggestion.pod)), wanted)
            nodes = "the one node" if len(wanted) == 1 else f"any of the {len(wanted)} nodes"
            message = f"it does not fit on {nodes} where {_gain(ref, suggestion)}:{histogram(counts)}"
        else:
            nothing = _no_gain(ref, suggestion)
            message = f"{nothing} on any of the {np.count_nonzero(fitting)} nodes where it fits"
        return Stage.PLACEMENT, RefusalCode.NO_GAIN, message.removesuffix(".")

    def _undisturbed(self, ref: PluginRef, replacement: int, nodes: IntArray) -> IntArray | Reason | None:
        """The nodes from which no strategy would move the replacement again.

        If there are none, the refusal that names one of these strategies; None if no nodes were given.
        """
        if len(nodes) == 0:
            return None
        for watcher, objects in self._others(ref):
            left = nodes[~objects(replacement, nodes)]
            if len(left) == 0:
                return circular(self._nodes.names[int(nodes[0])], watcher)
            nodes = left
        return nodes

    def _unknown_eviction(self, pod: int) -> Reason | None:
        """The refusal if the input lacks kinds that decide whether the pod may be evicted."""
        unknown = self._missing_data.evicting(pod)
        return (
            (Stage.BUDGET, RefusalCode.UNKNOWN, f"its eviction depends on {missing_kinds(unknown)}")
            if unknown
            else None
        )

    def _landing(self, odds: LandingOdds, good: BoolArray, target: int, probability: float) -> Landing:
        """The landing with its candidates, at most MOST_CANDIDATES of them and the target among them."""
        candidates = odds.nodes
        listed = np.arange(len(candidates)) < MOST_CANDIDATES
        if not listed.all() and target > candidates[MOST_CANDIDATES - 1]:
            listed[MOST_CANDIDATES - 1] = False
            listed[candidates.searchsorted(target)] = True
        is_known = bool(good.all()) or odds.is_known
        figures = self._figures(odds, listed)
        return Landing(
            target,
            certainty_of(probability, is_known=is_known),
            probability=round(probability, DIGITS) if is_known else None,
            candidates=tuple(self._indices[candidates[listed]]),
            candidate_count=len(candidates),
            probabilities=figures,
            target_probability=_probability_of(target, candidates[listed], figures),
            in_vain=tuple(self._indices[candidates[listed & ~good]]),
        )

    def _figures(self, odds: LandingOdds, listed: BoolArray) -> tuple[float, ...]:
        """The probabilities of the candidates that are listed; empty if they are not known."""
        if len(odds.nodes) == 1:
            return (1.0,)
        if not odds.is_known:
            return ()
        figures = odds.probability[listed].round(DIGITS).tolist()
        # Many are the same, which is kept once.
        return tuple(map(self._known_figures.setdefault, figures, figures))

    def _cycle(self, ref: PluginRef, suggestion: Suggestion, odds: LandingOdds, target: int) -> Reason | None:
        """Refuse a landing from where another strategy would move the replacement again."""
        for watcher, objects in self._others(ref):
            disturbed = objects(self._replacements.of(suggestion.pod), odds.nodes)
            if odds.at_most(disturbed) > MOST_HARM:
                at = target if disturbed[odds.nodes.searchsorted(target)] else int(odds.nodes[disturbed.argmax()])
                return circular(self._nodes.names[at], watcher)
        return None

    def _others(self, ref: PluginRef) -> Iterator[tuple[PluginRef, LandingCheck]]:
        """The landing checks of all strategies but the one that has suggested the move."""
        return ((watcher, objects) for watcher, objects in self.watchers if watcher != ref)

    def _harm(self, suggestion: Suggestion, source: int, odds: LandingOdds, good: BoolArray) -> Reason | None:
        """Refuse a move that may end on a node which is worse off than the one that the pod leaves."""
        if suggestion.worse is None or good.all():
            return None
        worse = ~good & (odds.nodes != source)
        worse[worse] = suggestion.worse(odds.nodes[worse])
        harm = odds.at_most(worse)
        if harm <= MOST_HARM:
            return None
        worse_off = f"worse off than {self._nodes.names[source]}"
        why = "where the plan does not want it" if suggestion.by_plan else worse_off
        where = self._some_nodes(odds.nodes[worse])
        message = f"with a probability of {probability_text(harm)} it would land on {where}, {why}"
        return Stage.PLACEMENT, RefusalCode.HARMFUL, message

    def _no_use(self, ref: PluginRef, suggestion: Suggestion, source: int, prediction: PlacementPrediction) -> Reason:
        candidates = prediction.odds.nodes
        if only(candidates, source):
            message = f"it would land on {self._nodes.names[source]} again{prediction.elsewhere}"
            return Stage.PLACEMENT, RefusalCode.SAME_NODE, message
        message = f"it would land on {self._some_nodes(candidates)}, where {_no_gain(ref, suggestion)}"
        return Stage.PLACEMENT, RefusalCode.NO_GAIN, message

    def _not_certain(self, pod: int, odds: LandingOdds, good: BoolArray, probability: float) -> Reason:
        bad = odds.nodes[~good]
        unknown = self._missing_data.scoring(pod)
        if unknown and (unproven := self._unknown_eviction(pod)):
            # With the kinds that scores depend on added, these would be missing next.
            return unproven
        since = f", as far as can be told without {missing_kinds(unknown)}" if unknown else ""
        chance = f"it would land well with a probability of {probability_text(probability)}" if odds.is_known else ""
        wanted = certainty_asked(self._least)
        nodes = (
            f"{len(odds.nodes)} nodes could win{since}, and {len(bad)} of them would not do: {self._some_nodes(bad)}"
        )
        message = f"{chance}, and {wanted}: {nodes}" if chance else f"{nodes}; {wanted}"
        return Stage.PLACEMENT, RefusalCode.NOT_CERTAIN, message

    def _some_nodes(self, nodes: IntArray) -> str:
        return some([self._nodes.names[node] for node in nodes[:_NAMED].tolist()], len(nodes))


def _capped(landing: Landing, caveat: str) -> Landing:
    """The landing of a pod that may come back as another one: likely at most, with unknown probability."""
    if not caveat or landing.certainty is None:
        return landing
    return landing._replace(certainty=likely_at_most(landing.certainty), probability=None, caveat=caveat)


def _gain(ref: PluginRef, suggestion: Suggestion) -> str:
    """What messages say about nodes that are accepted."""
    return "the plan wants it" if suggestion.by_plan else f"{ref.plugin} gains"


def _no_gain(ref: PluginRef, suggestion: Suggestion) -> str:
    """What messages say about nodes that are not accepted."""
    return "the plan does not want it" if suggestion.by_plan else f"{ref.plugin} gains nothing"


def only(candidates: IntArray, source: int) -> bool:
    """Whether a replacement could land nowhere but where the old pod is."""
    return len(candidates) == 1 and int(candidates[0]) == source


def circular(node: str, ref: PluginRef) -> Reason:
    """The refusal of a move whose replacement another strategy would move again."""
    return (
        Stage.PLACEMENT,
        RefusalCode.CYCLE,
        f"it would land on {node}, and {ref.plugin} would move it again from there",
    )


def missing_kinds(kinds: Kinds) -> str:
    """Kinds that the input lacks, for a sentence."""
    return f"{plural_kinds(kinds)}, which the input lacks"


def some(names: Sequence[str], count: int) -> str:
    """The first few names, and how many more of the ``count`` there are, for a sentence."""
    first = ", ".join(names[:_NAMED])
    return first if count <= _NAMED else f"{first} and {count - _NAMED} more"


def no_place(cluster: ClusterSnapshot, decision: SchedulingDecision) -> Reason:
    """Why a replacement that the scheduler would leave pending is refused."""
    if decision.nominated_node == PENDING:
        return Stage.PLACEMENT, RefusalCode.NO_FIT, decision.message
    victims = some([cluster.pods.full_name(each) for each in decision.victims], len(decision.victims))
    message = f"it would fit only if {victims} left {decision.where(cluster.nodes.names)}: {decision.message}"
    return Stage.PLACEMENT, RefusalCode.NEEDS_PREEMPTION, message


def _probability_of(target: int, candidates: IntArray, figures: Sequence[float]) -> float | None:
    """How probable it is that the target wins; None if that is not known."""
    return figures[int(candidates.searchsorted(target))] if figures else None


def _target(best: IntArray, candidates: IntArray, good: BoolArray) -> int:
    """The node that the rest of the plan assumes: the first good one that wins if the scheduler looks at all nodes."""
    suitable = np.zeros(int(candidates[-1]) + 1, dtype=bool)
    suitable[candidates[good]] = True
    winning = best[best < len(suitable)]
    winning = winning[suitable[winning]]
    return int(winning[0] if len(winning) else candidates[good.argmax()])
