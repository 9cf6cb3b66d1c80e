"""``prove`` placement: no move without a place, found by the scheduler's own rules.

For each suggestion the replacement is scheduled on the state as it would be then: beside the old pod that is still
terminating, and as if that were gone only where nothing fits before. All nodes that could win are judged by what the
strategy wants of a landing place. If all of them do, the move is *certain*; if some do, it is *possible*; if none does,
or nothing fits, the pod stays and the state is as it was. An accepted replacement holds its place from then on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pods import PENDING, Flag
from restow.cluster.replacements import twin_of
from restow.cluster.state import ClusterState
from restow.descheduling.disruption_budgets import DisruptionBudgets
from restow.descheduling.evictor import Reason
from restow.descheduling.framework import Objection, Obligation, Suggestion
from restow.descheduling.placement import Landing, Turn
from restow.descheduling.plan import Certainty
from restow.descheduling.refusal_memory import Prospect, RefusalMemory
from restow.descheduling.succession import Succession, Successions
from restow.scheduling.decision import Decision
from restow.scheduling.evidence import Evidence, Kinds, plural
from restow.scheduling.messages import histogram, reason_counts
from restow.scheduling.schedulers import Schedulers

#: Nodes named in a sentence.
_TOLD = 3
#: Candidates of one move that a plan holds.
MOST_CANDIDATES = 512


@dataclass(slots=True, frozen=True)
class Circle:
    """A replacement that a strategy would move on: its pod had better stay."""

    #: The pod that was moved first.
    pod: int
    turn: Turn
    node: int


class Prover:
    """Makes proven moves on one state; one for each attempt at a plan."""

    def __init__(
        self,
        state: ClusterState,
        schedulers: Schedulers,
        budgets: DisruptionBudgets,
        evidence: Evidence,
        *,
        certainty: Certainty,
        forbidden: dict[int, Reason],
    ) -> None:
        self._state = state
        self._pods = state.cluster.pods
        self._nodes = state.cluster.nodes
        self._schedulers = schedulers
        self._budgets = budgets
        self._evidence = evidence
        self._certainty = certainty
        self._forbidden = forbidden
        self._successions = Successions(state.cluster)
        self._memory = RefusalMemory(state.cluster.pods, len(state.cluster.nodes))
        #: The same integers for all moves.
        self._indices = np.arange(len(state.cluster.nodes)).astype(object)
        #: The pod of each move for a better place, by workload, source and target.
        self._made: dict[tuple[int, int, int, int], int] = {}
        #: Who objects to landings, in this round.
        self.watchers: list[tuple[Turn, Objection]] = []
        #: Moves that others would reverse, in the order in which that was found.
        self.circles: list[Circle] = []

    def move(self, turn: Turn, suggestion: Suggestion) -> Landing | Reason:
        """Prove a move and make it, or say what stands against it and change nothing."""
        if not self._pods.observed[suggestion.pod]:
            return self._move_on(turn, suggestion)
        if suggestion.pod in self._forbidden:
            return self._forbidden[suggestion.pod]
        budget = self._budgets.refusal(suggestion.pod)
        if budget is not None:
            return "budget", *budget
        mark, source = self._state.checkpoint(), int(self._state.node[suggestion.pod])
        landing = self._foreseen(turn, suggestion, source) or self._land(turn, suggestion, source)
        if isinstance(landing, Landing) and suggestion.obligation is not Obligation.ANYWHERE:
            landing = self._one_way(turn, suggestion.pod, source, landing)
        if isinstance(landing, Landing):
            self._budgets.count(suggestion.pod)
            self._memory.forget()
        else:
            self._state.undo(mark)
        return landing

    def answer(self, pod: int) -> Decision | None:
        """The scheduler's answer for the replacement of a pod, on the state as it would be then, which it is left in.

        None where there is no replacement, or where nobody can tell where it would land.
        """
        when = self._successions.of(pod)
        if when in (Succession.LOST, Succession.CLEARED) or self._unprovable(pod) is not None:
            return None
        return self._schedule(pod, when)

    def candidates(self, decision: Decision) -> IntArray:
        """The nodes that could win; where the input does not tell what shifts scores, every node that fits."""
        if self._evidence.scoring(decision.pod):
            return np.flatnonzero(decision.verdicts.passes)
        return self._schedulers.candidates(decision)

    def welcome(self, suggestion: Suggestion, source: int, nodes: IntArray) -> BoolArray:
        """Which of some nodes would do as landing places for a suggestion, bool[len(nodes)]."""
        elsewhere = suggestion.obligation is not Obligation.ANYWHERE
        good = nodes != source if elsewhere else np.ones(len(nodes), dtype=bool)
        if suggestion.welcome is None:
            return good
        if good.all():
            return suggestion.welcome(nodes)
        good[good] = suggestion.welcome(nodes[good])
        return good

    def _foreseen(self, turn: Turn, suggestion: Suggestion, source: int) -> Reason | None:
        """What stands against a move, as far as a pod alike has shown where it would land; the state stays as it is."""
        known = self._memory.recall(suggestion.pod, source)
        if not isinstance(known, Prospect):
            return known
        mark = self._state.checkpoint()
        if known.afterwards:
            self._state.remove(suggestion.pod)
        landing = self._judge(turn, suggestion, source, known)
        self._state.undo(mark)
        return None if isinstance(landing, Landing) else landing

    def _one_way(self, turn: Turn, pod: int, source: int, landing: Landing) -> Landing | Reason:
        """Refuse what takes a pod to where another of its workload has just come from: nothing would be gained."""
        workload = self._workload(pod)
        other = self._made.get((*workload, landing.target, source))
        if other is None:
            self._made[*workload, source, landing.target] = pod
            return landing
        self.circles.append(Circle(other, turn, source))
        message = f"it would only swap nodes with {self._pods.full_name(other)}, of the same workload"
        return "placement", "Undoes", message

    def _move_on(self, turn: Turn, suggestion: Suggestion) -> Reason:
        """Note a replacement that a later plan would move once more; this one does not."""
        node, mark = int(self._state.node[suggestion.pod]), self._state.checkpoint()
        landing = self._land(turn, suggestion, node)
        self._state.undo(mark)
        if isinstance(landing, Landing) or self._comes_with_volumes(suggestion.pod):
            self.circles.append(Circle(twin_of(suggestion.pod), turn, node))
        return "placement", "Circle", "this plan has already moved it"

    def _land(self, turn: Turn, suggestion: Suggestion, source: int) -> Landing | Reason:
        pod = suggestion.pod
        match self._successions.of(pod):
            case Succession.LOST:
                return "placement", "NoReplacement", "nothing would recreate this pod"
            case Succession.CLEARED:
                self._state.remove(pod)
                return Landing(certainty="certain")
            case when:
                landing = self._prove(turn, suggestion, source, when)
        if isinstance(landing, Landing):
            if self._state.exists[pod]:
                self._state.remove(pod)
            self._state.place(twin_of(pod), landing.target)
        return landing

    def _prove(self, turn: Turn, suggestion: Suggestion, source: int, when: Succession) -> Landing | Reason:
        """Where the replacement lands, as far as that can be known."""
        pod = suggestion.pod
        unprovable = self._unprovable(pod)
        if unprovable is not None:
            return unprovable
        decision = self._schedule(pod, when)
        if decision.node == PENDING:
            nowhere = self._no_place(decision)
            self._memory.keep(pod, source, nowhere)
            return nowhere
        candidates = self.candidates(decision)
        elsewhere = _elsewhere(decision) if _only(candidates, source) else ""
        prospect = Prospect(candidates, decision.best, not self._state.exists[pod], elsewhere)
        landing = self._judge(turn, suggestion, source, prospect)
        if not isinstance(landing, Landing):
            self._memory.keep(pod, source, prospect)
        return landing

    def _undisturbed(self, turn: Turn, twin: int, landing: Landing) -> Landing | Reason:
        """Refuse a landing from where another strategy would move the replacement again."""
        for watcher, objects in self.watchers:
            if watcher != turn and objects(twin, landing.target):
                return circular(self._nodes.names[landing.target], watcher)
        return landing

    def _unprovable(self, pod: int) -> Reason | None:
        """Why nobody can tell where the replacement of a pod would land."""
        if not self._schedulers.knows(pod):
            name = self._pods.tables.schedulers[self._pods.schedulers[pod]]
            message = f'it uses scheduler "{name}", which restow does not know; add its profile with --scheduler-config'
            return "placement", "UnknownScheduler", message
        if self._pods.flags[pod] & Flag.RESOURCE_CLAIMS:
            return "placement", "Unknown", "it claims dynamic resources, which restow does not model"
        unknown = self._evidence.decisive(pod)
        if unknown:
            return "placement", "Unknown", f"its placement depends on {_kinds(unknown)}"
        return None

    def _judge(self, turn: Turn, suggestion: Suggestion, source: int, prospect: Prospect) -> Landing | Reason:
        """Whether the nodes that could win would do, and which of them the plan goes on with."""
        candidates = prospect.candidates
        good = self.welcome(suggestion, source, candidates)
        if not good.any():
            return self._no_use(turn, source, prospect)
        if not good.all() and self._certainty == "certain":
            return self._not_certain(suggestion.pod, candidates, good)
        certainty: Certainty = "certain" if good.all() else "possible"
        target = _target(prospect.best, candidates, good)
        landing = self._undisturbed(
            turn,
            twin_of(suggestion.pod),
            Landing(target, certainty, self._kept(candidates, target), len(candidates)),
        )
        return (self._unknown_eviction(suggestion.pod) or landing) if isinstance(landing, Landing) else landing

    def _unknown_eviction(self, pod: int) -> Reason | None:
        """Why nobody can tell whether a pod may be evicted."""
        unknown = self._evidence.evicting(pod)
        return ("budget", "Unknown", f"its eviction depends on {_kinds(unknown)}") if unknown else None

    def _kept(self, candidates: IntArray, target: int) -> tuple[int, ...]:
        """The candidates that are written down: in clusters of thousands of equal nodes not all of them."""
        kept = candidates[:MOST_CANDIDATES]
        if len(kept) < len(candidates) and target > kept[-1]:
            kept = np.append(kept[:-1], target)
        return tuple(self._indices[kept])

    def _schedule(self, pod: int, when: Succession) -> Decision:
        """The scheduler's answer for the replacement of a pod, which is left without a node.

        Source: Kubernetes 1.36, a terminating pod keeps its place.
        """
        twin = twin_of(pod)
        if when is Succession.OVERLAPPING:
            self._state.terminate(pod)
            self._state.place(twin, PENDING)
            decision = self._schedulers.decide(twin)
            if decision.node != PENDING:
                return decision
        self._state.remove(pod)
        self._state.place(twin, PENDING)
        return self._schedulers.decide(twin)

    def _comes_with_volumes(self, pod: int) -> bool:
        """Whether it has volumes of its own, so that its replacement's replacement can land where nobody has asked."""
        return any(volume.ephemeral for volume in self._pods.tables.volumes[self._pods.volumes[pod]])

    def _workload(self, pod: int) -> tuple[int, int]:
        return int(self._pods.namespace[pod]), int(self._pods.owners[pod])

    def _no_place(self, decision: Decision) -> Reason:
        if decision.nominated_node != PENDING:
            victims = _some([self._pods.full_name(each) for each in decision.victims], len(decision.victims))
            node = self._nodes.names[decision.nominated_node]
            return "placement", "NeedsPreemption", f"it would fit only if {victims} left {node}: {decision.message}"
        return "placement", "NoFit", decision.message

    def _no_use(self, turn: Turn, source: int, prospect: Prospect) -> Reason:
        if _only(prospect.candidates, source):
            message = f"it would land on {self._nodes.names[source]} again{prospect.elsewhere}"
            return "placement", "SameNode", message
        message = f"it would land on {self._some_nodes(prospect.candidates)}, where {turn.plugin} gains nothing"
        return "placement", "NoGain", message

    def _not_certain(self, pod: int, candidates: IntArray, good: BoolArray) -> Reason:
        bad = candidates[~good]
        unknown = self._evidence.scoring(pod)
        if unknown and (unproven := self._unknown_eviction(pod)):
            # Whoever adds the kinds that scores depend on would be asked for these next.
            return unproven
        since = f", as far as can be told without {plural(unknown)}, which the input does not hold" if unknown else ""
        message = (
            f"{len(candidates)} nodes could win{since}, and {len(bad)} of them would not do: {self._some_nodes(bad)}; "
            "certainty: possible in the policy's restow section allows such moves"
        )
        return "placement", "NotCertain", message

    def _some_nodes(self, nodes: IntArray) -> str:
        return _some([self._nodes.names[node] for node in nodes[:_TOLD].tolist()], len(nodes))


def _only(candidates: IntArray, source: int) -> bool:
    """Whether a replacement could land nowhere but where the old pod is."""
    return len(candidates) == 1 and int(candidates[0]) == source


def _target(best: IntArray, candidates: IntArray, good: BoolArray) -> int:
    """The landing place that the plan goes on with: of the good ones the first that wins if all nodes are looked at."""
    welcome = np.zeros(int(candidates[-1]) + 1, dtype=bool)
    welcome[candidates[good]] = True
    winning = best[best < len(welcome)]
    winning = winning[welcome[winning]]
    return int(winning[0] if len(winning) else candidates[good.argmax()])


def circular(node: str, turn: Turn) -> Reason:
    """Why a pod stays that would go round in a circle."""
    return "placement", "Circle", f"it would land on {node}, and {turn.plugin} would move it again from there"


def _elsewhere(decision: Decision) -> str:
    """What keeps a replacement from all other nodes than the only one that could win."""
    fitting = int(np.count_nonzero(decision.verdicts.passes)) - 1
    if fitting:
        return f", which scores more than {fitting} other node{'s' if fitting > 1 else ''} where it fits"
    objections = histogram(reason_counts(decision.verdicts)).removesuffix(".")
    return objections and f"; the other nodes:{objections}"


def _kinds(kinds: Kinds) -> str:
    return f"{plural(kinds)}, which the input lacks"


def _some(names: Sequence[str], count: int) -> str:
    """The first of so many names."""
    told = ", ".join(names[:_TOLD])
    return told if count <= _TOLD else f"{told} and {count - _TOLD} more"
