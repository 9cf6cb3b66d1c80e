"""Where one pod would go: the scheduler's answer, by index.

A pod that fits nowhere may preempt others: it is nominated for a node then, and its victims stay until someone removes
them. ``decide`` changes nothing; ``settle`` makes a decision true for the pods that come after. Of a pod that asks for
something that is not known (``UnknownError``) the answer says so, and names no node.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_values import Flag
from restow.cluster.pods import PENDING
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile, plugins_of, post_filters_of
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.extension_points import (
    PASSES,
    CycleError,
    Outcome,
    PhaseTimer,
    SigningPlugin,
    UnknownError,
    untimed,
)
from restow.scheduling.framework.filtering import Filters
from restow.scheduling.framework.post_filtering import Candidate, Handle, Preemption, run_post_filters
from restow.scheduling.framework.prefiltering import PreFilterResult
from restow.scheduling.framework.scoring import Ranking, best_of, rank
from restow.scheduling.framework.verdicts import PluginRejection, Verdicts, fit_error
from restow.scheduling.framework.waiting_pods import Nominations, Queue, waiting_pods
from restow.scheduling.plugins.node_resources_fit import NodeResourcesFit
from restow.scheduling.sampling.landing_odds import LandingOdds, Sampling
from restow.scheduling.volumes.storage import Reservation


@dataclass(slots=True, frozen=True)
class GroupWait:
    """A pod does not get the node that it found, or could preempt on, because its group waits."""

    #: What the pod is told; empty: what it is told for itself.
    message: str
    #: How far the group is, a sentence for people.
    words: str = ""
    #: The node that is kept for it meanwhile, or PENDING.
    node: int = PENDING
    #: Whether it stays nominated for the node that it is nominated for already, if no other one is kept for it.
    is_kept: bool = False
    #: The pods that have to go for the group; told of one of its pods for all.
    victims: tuple[int, ...] = ()
    #: The plugins whose events can help; none of the scheduler's own groups, which no event wakes.
    rejected_by: frozenset[str] = frozenset()
    #: Whether the pod is on that node already, and waits there for others.
    holds_node: bool = False


@dataclass(slots=True, frozen=True)
class SchedulingDecision:
    """The scheduler's decision about one pod."""

    pod: int
    verdicts: Verdicts
    #: Absent where no node is feasible, or where the feasible ones cannot be scored.
    ranking: Ranking | None
    #: What preemption can do; absent where a node is feasible, or where there are no nodes at all.
    preemption: Preemption | None = None
    #: Why the cycle broke off without an answer; empty where it did not.
    error: str = ""
    #: Why it is not known where the pod goes; empty where it is.
    unknown: str = ""
    #: Absent where the pod is in no group, or the group does not wait.
    group_wait: GroupWait | None = None

    @property
    def best(self) -> IntArray:
        """The best of all feasible nodes; empty where there is none. ``Scheduler.odds`` has those that could win."""
        return _NO_NODES if self.ranking is None else self.ranking.best

    @property
    def node(self) -> int:
        """The first of the best nodes, or PENDING."""
        return PENDING if self.ranking is None else self.ranking.first

    @property
    def nominated_node(self) -> int:
        """The node where the pod or its group preempts others, or PENDING."""
        return self.preempts_on if self.group_wait is None else self.group_wait.node

    @property
    def preempts_on(self) -> int:
        """The node where the pod itself preempts others, even if its group then gets no nodes; PENDING where it does not."""
        return self.chosen.node if self.chosen else PENDING

    @property
    def chosen(self) -> Candidate | None:
        """What the pod itself preempts, even if its group then gets no nodes; None where it preempts nothing."""
        return self.preemption.chosen if self.preemption else None

    @property
    def victims(self) -> tuple[int, ...]:
        """The pods that it or its group preempts, the most important first."""
        if self.group_wait is not None and self.group_wait.victims:
            return self.group_wait.victims
        return self.chosen.victims if self.chosen else ()

    def where(self, nodes: Sequence[str]) -> str:
        """Where its victims are, in words, of a pod that is nominated for a node; ``nodes`` are the names of nodes."""
        return self.chosen.where(nodes) if self.chosen else nodes[self.nominated_node]

    @property
    def message(self) -> str:
        """The message of the condition PodScheduled, or why it is unknown; empty for a pod that gets a node."""
        if self.unknown:
            return f"where it goes is unknown: {self.unknown}"
        if self.group_wait is not None and self.group_wait.message:
            return self.group_wait.message
        if self.ranking is not None or self.error:
            return self.error
        if self.preemption is None:
            return "no nodes available to schedule pods"
        return " ".join(filter(None, (fit_error(self.verdicts), self.preemption.message)))

    @property
    def keeps_nomination(self) -> bool:
        """Whether a pod that is nominated for no other node now stays nominated as it is."""
        if self.group_wait is not None:
            return self.group_wait.is_kept
        return self.preemption is not None and self.preemption.keeps_nomination


class PodAttempt(NamedTuple):
    """What came of an attempt to schedule a pod."""

    #: The best of the nodes that the search found; empty where the pod gets none.
    best: IntArray
    #: Where the next search begins, in visiting order.
    following: int
    #: Why the pod gets no node; None where it gets one.
    failed: SchedulingDecision | None = None


_NO_NODES: Final = np.zeros(0, dtype=np.int64)
#: Of a pod that fits nowhere: nothing was tried for it, and it stays nominated as it is.
_NONE_TRIED: Final = Preemption(keeps_nomination=True)


class Scheduler:
    """One profile on one state; each answer is about the state as it is when it is asked.

    Schedulers of one cluster share their ``nominations``; without any the profile has its own.
    """

    def __init__(
        self, context: Context, profile: SchedulerProfile = DEFAULT_PROFILE, nominations: Nominations | None = None
    ) -> None:
        plugins = plugins_of(profile, context)
        self._state = context.state
        self._schedulers = frozenset((profile.name,))
        self._ignores_gates = self._schedulers if profile.ignores_gates else frozenset()
        if nominations is None:
            nominations = Nominations(context.state, self._schedulers, self._ignores_gates)
        self._nominations = nominations
        self._filters = Filters(context, plugins.filters, self._nominations)
        handle = Handle(context, self._filters, self._nominations, profile.plugins["preFilter"])
        self._post_filters = post_filters_of(profile, handle)
        #: The names of the plugins that are asked about pods, or groups, that fit nowhere.
        self.asked_last = frozenset(profile.plugins["postFilter"])
        self._scores = plugins.scores
        self._reserving = plugins.reserving
        asked_last = (each for each in self._post_filters if isinstance(each, SigningPlugin))
        self._signing = (*plugins.signing, *asked_last)
        self._sampling = Sampling(context.state.cluster.nodes, self._scores, profile.percentage_of_nodes_to_score)

    def queue(self) -> Queue:
        """The pods that wait for this scheduler now."""
        return waiting_pods(self._state, self._schedulers, self._ignores_gates)

    def decide(self, pod: int, timer: PhaseTimer = untimed) -> SchedulingDecision:
        """Filter and score every node for a pod; where none is feasible, look for pods to preempt."""
        return self._with_preemption(self.find_node(pod, timer), timer)

    def attempt(self, pod: int, start: int, timer: PhaseTimer = untimed) -> PodAttempt:
        """As ``decide``, but score only nodes that a search finds which begins at ``start``."""
        asked = self._filtered(pod, timer)
        if isinstance(asked, SchedulingDecision):
            return PodAttempt(_NO_NODES, start, self._with_preemption(asked, timer))
        found, following = self._found(pod, asked, start)
        if len(found) == np.count_nonzero(asked.passes):
            decision = self._ranked(pod, asked, timer)
            return PodAttempt(decision.best, following, decision if decision.ranking is None else None)
        try:
            best = best_of(pod, found, self._scores, timer)
            timer("Score")
            return PodAttempt(best, following)
        except CycleError as error:
            timer("Score", status="Error")
            return PodAttempt(_NO_NODES, following, SchedulingDecision(pod, asked, None, error=str(error)))

    def find_node(self, pod: int, timer: PhaseTimer = untimed, *, among: BoolArray | None = None) -> SchedulingDecision:
        """Filter and score every node for a pod, or some, bool[node], and preempt none."""
        asked = self._filtered(pod, timer, among)
        return asked if isinstance(asked, SchedulingDecision) else self._ranked(pod, asked, timer)

    def _with_preemption(self, decision: SchedulingDecision, timer: PhaseTimer) -> SchedulingDecision:
        if decision.preemption is not _NONE_TRIED:
            return decision
        preemption = run_post_filters(self._post_filters, decision.pod, decision.verdicts)
        timer("PostFilter", status=_status(preemption))
        return replace(decision, preemption=preemption)

    def _filtered(self, pod: int, timer: PhaseTimer, among: BoolArray | None = None) -> Verdicts | SchedulingDecision:
        """The verdicts on every node for a pod; where none is feasible, the decision."""
        try:
            verdicts = self._filters.run(pod, among)
        except CycleError as error:
            timer("Filter", status="Error")
            unasked = self._filters.unasked()
            if isinstance(error, UnknownError):
                rejection = PluginRejection(error.plugin, Outcome((str(error),), unresolvable=True))
                verdicts = Verdicts(unasked.verdict, unasked.rejections, rejection)
                return SchedulingDecision(pod, verdicts, None, unknown=str(error))
            return SchedulingDecision(pod, unasked, None, error=str(error) if len(unasked.verdict) else "")
        timer("Filter")
        if verdicts.passes.any():
            return verdicts
        if len(verdicts.verdict) == 0:
            return SchedulingDecision(pod, verdicts, None)
        return SchedulingDecision(pod, verdicts, None, _NONE_TRIED)

    def unasked(self, pod: int) -> SchedulingDecision:
        """No answer about a pod: no node was asked about."""
        return SchedulingDecision(pod, self._filters.unasked(), None)

    def unknown(self, pod: int) -> str:
        """Why it is not known where a pod goes, a clause for people; empty where it is."""
        cluster = self._state.cluster
        if not cluster.pods.carries(pod, Flag.RESOURCE_CLAIMS) and not cluster.kind("DeviceClass"):
            return ""
        try:
            self._filters.prefilter(pod)
        except UnknownError as error:
            return str(error)
        except CycleError:
            pass
        return ""

    def _ranked(self, pod: int, verdicts: Verdicts, timer: PhaseTimer) -> SchedulingDecision:
        """The best of the feasible nodes; a single one is taken whatever scores have to say."""
        try:
            ranking = rank(pod, verdicts.passes, self._scores, timer)
            timer("Score")
            return SchedulingDecision(pod, verdicts, ranking)
        except CycleError as error:
            timer("Score", status="Error")
            if np.count_nonzero(verdicts.passes) == 1:
                return SchedulingDecision(pod, verdicts, rank(pod, verdicts.passes, ()))
            return SchedulingDecision(pod, verdicts, None, error=str(error))

    def signature(self, pod: int) -> Hashable:
        """Of pods on one node with the same parts and equal signatures it says the same, on the state as it is.

        The parts are all columns but names, ages, namespace, labels, owners and images.
        """
        return tuple(plugin.signature(pod) for plugin in self._signing)

    def rejections_by_node(self, pod: int) -> list[tuple[PluginRejection, ...]]:
        """All plugins that reject each node now, where ``decide`` reports only the first."""
        return self._filters.rejections_by_node(pod)

    def fitting(self, pod: int) -> BoolArray:
        """Which nodes pass all filters for a pod, bool[node]; none where the cycle breaks off."""
        return self.verdicts(pod).passes

    def verdicts(self, pod: int) -> Verdicts:
        """The filters' verdicts on each node for a pod; no plugin was asked if the cycle breaks off."""
        try:
            return self._filters.run(pod)
        except CycleError:
            return self._filters.unasked()

    def prefilter(self, pod: int) -> PreFilterResult:
        """Which plugins have something to say of a pod, on the state as it is; CycleError where one breaks off."""
        return self._filters.prefilter(pod)

    def is_local(self, asked: PreFilterResult) -> bool:
        """Whether ``passes`` depends on the node and its pods alone."""
        return self._filters.is_local(asked)

    def passes(self, asked: PreFilterResult, node: int) -> bool:
        """Whether a node passes, as those plugins say of it that were to be asked when ``prefilter`` was."""
        return self._filters.run_on(asked, node) == PASSES

    def admitting(self, pod: int) -> IntArray:
        """The nodes that do not keep a pod out for what they are; all that ``fitting`` has are among them."""
        try:
            return np.zeros(0, dtype=np.int64) if self.unknown(pod) else self._filters.admitting(pod)
        except CycleError:
            return np.zeros(0, dtype=np.int64)

    def passing(self, pod: int, nodes: IntArray) -> IntArray:
        """Those of some nodes that ``fitting`` has; nothing is asked about the others."""
        try:
            return nodes[:0] if self.unknown(pod) else self._filters.passing(pod, nodes)
        except CycleError:
            return nodes[:0]

    def best_of(self, pod: int, nodes: IntArray) -> IntArray:
        """Those of some feasible nodes (at least one) that have the best score among themselves."""
        try:
            return best_of(pod, nodes, self._scores)
        except CycleError:
            return nodes

    def fullness(self, pods: Sequence[int], nodes: IntArray) -> int:
        """How full some nodes would be with these pods, as NodeResourcesFit scores that together with its weight."""
        fullness = 0
        for each in self._scores:
            if isinstance(each.plugin, NodeResourcesFit):
                fullness += each.weight * each.plugin.fullness(pods, nodes)
        return fullness

    def odds(self, decision: SchedulingDecision) -> LandingOdds:
        """Every node that could win, and how probable each is; to be asked before the state changes.

        Ties are broken by chance. In clusters of 100 and more nodes so is which of the feasible nodes are scored at all
        (``scheduling.sampling.landing_odds``): the best of all need not be among them.
        """
        if decision.ranking is None:
            return LandingOdds.equal(decision.best)
        try:
            return self._sampling.odds(decision.pod, decision.ranking, decision.verdicts.allowed)
        except CycleError:
            return LandingOdds.unknown(decision.ranking.nodes)

    def search(self, decision: SchedulingDecision, start: int) -> tuple[IntArray, int]:
        """The best of the nodes that a search finds which begins at ``start``, and where the next search begins.

        For a decision for some node, on the state on which it was made.
        """
        assert decision.ranking is not None
        found, following = self._found(decision.pod, decision.verdicts, start)
        if len(found) == np.count_nonzero(decision.verdicts.passes):
            return decision.best, following
        return self.best_of(decision.pod, found), following

    def _found(self, pod: int, verdicts: Verdicts, start: int) -> tuple[IntArray, int]:
        """The feasible nodes that a search finds which begins at ``start``, and where the next search begins."""
        if self._nominations.node(pod) >= 0 and np.count_nonzero(verdicts.passes) == 1:
            # The node of ``nominatedNodeName``, most likely, without a search.
            return np.flatnonzero(verdicts.passes), start
        return self._sampling.found(verdicts.passes, verdicts.allowed, start)

    def reservation(self, pod: int, node: int) -> Reservation | None:
        """The volumes that a pod takes on a node, and those that are to be made there first; None where it needs none."""
        return next((found for each in self._reserving if (found := each.reservation(pod, node)) is not None), None)

    def settle(self, decision: SchedulingDecision) -> None:
        """Place the pod on the decision's node, or nominate it where it preempts others; what is unknown changes nothing."""
        if decision.unknown:
            return
        if decision.node >= 0:
            self._nominations.drop(decision.pod)
            self._state.place(decision.pod, decision.node)
            return
        if decision.preempts_on >= 0:
            self._nominations.give(decision.pod, decision.preempts_on)
        if decision.nominated_node >= 0:
            self._nominations.note(decision.pod, decision.nominated_node)
        elif not decision.keeps_nomination:
            self._nominations.drop(decision.pod)


def _status(preemption: Preemption) -> str:
    if preemption.is_final:
        return "Error"
    return "Unschedulable" if preemption.chosen is None else "Success"
