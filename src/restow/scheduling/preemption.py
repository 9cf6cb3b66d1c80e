"""Preemption: where a pod that fits nowhere would fit if less important pods went.

Only nodes are tried whose rejection the removal of pods could lift, each on its own, every one of them (kube-scheduler
may stop at a tenth of them in large clusters). A pod that finds such a node is nominated there and waits.
Source: DefaultPreemption, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from restow.cluster.interning import BoolArray
from restow.cluster.pods import Flag
from restow.kube.objects import Condition
from restow.scheduling.candidates import NOTHING_FOUND, Candidate, FoundCandidates, KnownCandidates
from restow.scheduling.context import Context
from restow.scheduling.dry_runs import DryRuns
from restow.scheduling.filtering import Filters
from restow.scheduling.in_tree import DYNAMIC_RESOURCES
from restow.scheduling.messages import histogram
from restow.scheduling.nominations import Nominations
from restow.scheduling.prefiltering import Asked
from restow.scheduling.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.ranked_candidates import RankedCandidates
from restow.scheduling.resource_trials import ResourceTrials
from restow.scheduling.verdicts import Verdicts
from restow.scheduling.victims import VictimSearch

#: What DynamicResources says of pods without claims.
_NO_CLAIMS = "no new claims to deallocate"
#: Its error where a pod is ruled out before it has seen it; whoever comes after it is not asked then.
_NOT_FOUND = "not found"
_NEVER = "preemption: not eligible due to preemptionPolicy=Never."
_TERMINATING = "preemption: not eligible due to a terminating pod on the nominated node."
_NO_VICTIMS = "No preemption victims found for incoming pod"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


@dataclass(slots=True, frozen=True)
class Preemption:
    """What preemption can do for a pod."""

    found: FoundCandidates = NOTHING_FOUND
    #: Why it can do nothing; empty where it can.
    message: str = ""
    #: Whether the pod stays nominated for the node that it is nominated for already.
    keeps_nomination: bool = False

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The nodes where it would help, in order of their names."""
        return self.found.candidates

    @property
    def best(self) -> tuple[Candidate, ...]:
        """Those among which it may choose; the first is chosen."""
        return self.found.best

    @property
    def chosen(self) -> Candidate | None:
        """The first of the best; None where there is none."""
        return self.found.chosen


_WITHOUT_CLAIMS = Preemption(message=_NO_CLAIMS, keeps_nomination=True)


class Preemptor:
    """The PostFilter plugins of one profile on one state, of which DefaultPreemption is the one that can help.

    They are asked in turn until one does; what the others say is told.
    """

    def __init__(
        self,
        context: Context,
        filters: Filters,
        nominations: Nominations,
        profile: SchedulerProfile = DEFAULT_PROFILE,
    ) -> None:
        self._plugins = profile.plugins["postFilter"]
        self._prefilters = profile.plugins["preFilter"]
        self._context = context
        self._state = context.state
        self._pods = context.state.cluster.pods
        self._filters = filters
        self._nominations = nominations
        self._search = VictimSearch(context)
        self._resource_trials = ResourceTrials(context.state, filters.kept_nodes, self._search, filters.numbered)

    def preempt(self, pod: int, verdicts: Verdicts) -> Preemption:
        """What can be done for a pod that these verdicts leave without a node, on the state as it is."""
        answers: list[Preemption] = []
        for plugin in self._plugins:
            if plugin == DYNAMIC_RESOURCES and self._is_unseen(verdicts):
                return Preemption(message=_NOT_FOUND, keeps_nomination=True)
            answer = _WITHOUT_CLAIMS if plugin == DYNAMIC_RESOURCES else self._make_room(pod, verdicts)
            if answer.chosen is not None:
                return answer
            answers.append(answer)
        return Preemption(
            message=", ".join(each.message for each in answers),
            keeps_nomination=bool(answers) and all(each.keeps_nomination for each in answers),
        )

    def _is_unseen(self, verdicts: Verdicts) -> bool:
        """Whether the pod was ruled out before DynamicResources had a look at it."""
        if DYNAMIC_RESOURCES not in self._prefilters:
            return True
        ruled_out = verdicts.prefilter
        if ruled_out is None or not ruled_out.outcome.unresolvable:
            return False
        return ruled_out.plugin not in self._prefilters[self._prefilters.index(DYNAMIC_RESOURCES) :]

    def _make_room(self, pod: int, verdicts: Verdicts) -> Preemption:
        """What DefaultPreemption can do."""
        reason = self._ineligible(pod, verdicts)
        if reason:
            return Preemption(message=reason, keeps_nomination=True)
        resolvable = _resolvable(verdicts)
        found, reasons = self._try_out(pod, resolvable)
        if found.chosen is None:
            reasons[_NOT_HELPFUL] = int(np.count_nonzero(~resolvable))
            return Preemption(message=_failure(len(resolvable), reasons))
        return Preemption(found)

    def _try_out(self, pod: int, wanted: BoolArray) -> tuple[FoundCandidates, Counter[str]]:
        """The candidates among some nodes, bool[node]; if there are none, how many nodes are none for which reason."""
        asked = self._filters.prefilter(pod)
        fit = self._filters.only_resources(asked)
        if fit is None or self._nominations.node(pod) >= 0:
            return self._try_out_each(asked, wanted)
        found = self._resource_trials.run(fit, pod, wanted)
        if found.chosen is not None:
            return found, Counter()
        return found, self._resource_trials.failures(fit, pod, wanted, self._filters.rejections, _NO_VICTIMS)

    def _try_out_each(self, asked: Asked, wanted: BoolArray) -> tuple[FoundCandidates, Counter[str]]:
        potential = self._search.potential(int(self._pods.priority[asked.pod]), np.flatnonzero(wanted))
        inhabited = np.diff(potential.first) > 0
        part = potential.on(inhabited)
        victims, reasons = DryRuns(self._filters, asked).run(part)
        reasons[_NO_VICTIMS] = int(np.count_nonzero(~inhabited))
        ranked_candidates = RankedCandidates(self._pods, len(wanted), KnownCandidates())
        ranked_candidates.replace(part.nodes, self._search.candidates(part, victims))
        return ranked_candidates.among(wanted), reasons

    def _ineligible(self, pod: int, verdicts: Verdicts) -> str:
        """Why a pod may not preempt; empty where it may."""
        if self._pods.flags[pod] & Flag.NEVER_PREEMPTS:
            return _NEVER
        node = self._nominations.node(pod)
        if node < 0:
            return ""
        rejection = verdicts.rejection(node)
        if rejection is not None and rejection.outcome.unresolvable:
            return ""
        leaving = (each for each in self._state.pods_on(node).tolist() if self._is_preempted(each))
        return _TERMINATING if any(self._pods.priority[each] < self._pods.priority[pod] for each in leaving) else ""

    def _is_preempted(self, pod: int) -> bool:
        """Whether a pod is on its way out because another one preempted it."""
        conditions = self._pods.tables.conditions[self._pods.conditions[pod]]
        return bool(self._state.terminating[pod]) and any(map(_tells_preemption, conditions))


def _tells_preemption(condition: Condition) -> bool:
    told = (condition.type, condition.status, condition.reason)
    return told == ("DisruptionTarget", "True", "PreemptionByScheduler")


def _resolvable(verdicts: Verdicts) -> BoolArray:
    """The nodes whose rejection the removal of pods could lift, bool[node]."""
    lasting = np.array([each.outcome.unresolvable for each in verdicts.rejections], dtype=bool)
    resolvable: BoolArray = ~lasting.take(verdicts.verdict)
    return resolvable


def _failure(total: int, reasons: Mapping[str, int]) -> str:
    given = {reason: count for reason, count in reasons.items() if count}
    return f"preemption: 0/{total} nodes are available:{histogram(given)}"
