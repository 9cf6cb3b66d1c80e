"""DefaultPreemption: where a pod that fits nowhere would fit if less important pods went.

Only nodes are tried whose rejection the removal of pods could lift, each on its own, every one of them (kube-scheduler
may stop at a tenth of them in large clusters). A pod that finds such a node is nominated there
and waits. Since 1.37 pods on other nodes may be among its victims (``preemption.victim_units``). A pod with
``preemptionPolicy: Never`` preempts none. Source: DefaultPreemption, Kubernetes 1.33 to 1.37.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from restow.cluster.interning import BoolArray
from restow.cluster.pod_values import Flag
from restow.documents.findings import Issue
from restow.kube.objects import Int32
from restow.scheduling.framework.declaration import SchedulerPlugin, SchedulerPluginArgs, invalid, out_of_range
from restow.scheduling.framework.minors import PREEMPTION_TOLD, holds
from restow.scheduling.framework.post_filtering import Candidate, FoundCandidates, Handle, Preemption
from restow.scheduling.framework.prefiltering import PreFilterResult
from restow.scheduling.framework.requeueing import Action, Interest, PodFacts, QueueSurroundings, Resource
from restow.scheduling.framework.verdicts import Verdicts, histogram
from restow.scheduling.preemption.candidates import KnownCandidates, RankedCandidates
from restow.scheduling.preemption.dry_runs import DryRuns, ResourceTrials
from restow.scheduling.preemption.victims import VictimSearch, leaves_for_others

NAME = "DefaultPreemption"

_NEVER = "preemption: not eligible due to preemptionPolicy=Never."
_TERMINATING = "preemption: not eligible due to a terminating pod on the nominated node."
_NO_VICTIMS = "No preemption victims found for incoming pod"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"


class DefaultPreemptionArgs(SchedulerPluginArgs, frozen=True):
    """How many nodes preemption tries at least. restow tries all of them."""

    min_candidate_nodes_percentage: Int32 = 10
    min_candidate_nodes_absolute: Int32 = 100


def check(args: DefaultPreemptionArgs) -> list[Issue]:
    """Both shares from 0, and not 0 together."""
    percentage, absolute = args.min_candidate_nodes_percentage, args.min_candidate_nodes_absolute
    names = ("minCandidateNodesPercentage", "minCandidateNodesAbsolute")
    problems = out_of_range(names[:1], percentage, 0, 100)
    if absolute < 0:
        problems.append(invalid(names[1:], absolute, "not in valid range [0, inf)"))
    if percentage == absolute == 0:
        problems += [
            invalid((own,), 0, f"cannot be zero at the same time as {other}") for own, other in (names, names[::-1])
        ]
    return problems


class DefaultPreemption:
    """PostFilter."""

    def __init__(self, handle: Handle) -> None:
        self._state = handle.context.state
        self._pods = handle.context.state.cluster.pods
        self._filters = handle.filters
        self._nominations = handle.nominations
        self._tells_placement = holds(PREEMPTION_TOLD, handle.context.state.cluster)
        self._search = VictimSearch(handle.context)
        self._resource_trials = ResourceTrials(
            self._state, self._filters.kept_nodes, self._search, self._filters.numbered
        )

    def post_filter(self, pod: int, verdicts: Verdicts) -> Preemption:
        """The nodes that pods could leave for a pod, and the best of them."""
        reason = self._ineligible(pod, verdicts)
        if reason:
            return Preemption(message=reason, keeps_nomination=True)
        resolvable = _resolvable(verdicts)
        found, reasons = self._try_out(pod, resolvable)
        if found.chosen is None:
            reasons[_NOT_HELPFUL] = int(np.count_nonzero(~resolvable))
            return Preemption(message=_failure(len(resolvable), reasons))
        return Preemption(found, self._placement(found.chosen))

    def _placement(self, chosen: Candidate) -> str:
        """What the pod is told of the node where it may preempt; empty up to 1.36."""
        if not self._tells_placement:
            return ""
        node, victims = self._state.cluster.nodes.names[chosen.node], len(chosen.victims)
        return f"preemption: found a potential placement for pod on node {node}, preempting {victims} victims"

    def _try_out(self, pod: int, wanted: BoolArray) -> tuple[FoundCandidates, Counter[str]]:
        """The candidates among the wanted nodes (bool[node]); if there are none, how many nodes each reason excludes."""
        asked = self._filters.prefilter(pod)
        by_usage = self._filters.only_usage(asked)
        if by_usage is None or self._nominations.node(pod) >= 0:
            return self._try_out_each(asked, wanted)
        found = self._resource_trials.run(by_usage, pod, wanted)
        if found.chosen is not None:
            return found, Counter()
        return found, self._resource_trials.failures(by_usage, pod, wanted, self._filters.rejections, _NO_VICTIMS)

    def _try_out_each(self, asked: PreFilterResult, wanted: BoolArray) -> tuple[FoundCandidates, Counter[str]]:
        potential = self._search.potential(int(self._pods.priority[asked.pod]), np.flatnonzero(wanted))
        inhabited = np.diff(potential.first) > 0
        part = potential.on(inhabited)
        victims, reasons = DryRuns(self._filters, asked).run(part)
        reasons[_NO_VICTIMS] = int(np.count_nonzero(~inhabited))
        ranked_candidates = RankedCandidates(self._pods, len(wanted), KnownCandidates())
        ranked_candidates.replace(part.nodes, self._search.candidates(part, victims))
        return ranked_candidates.among(wanted), reasons

    def _ineligible(self, pod: int, verdicts: Verdicts) -> str:
        """Why a pod may not preempt (``preemptionPolicy``, victims on their way out); empty where it may."""
        if self._pods.carries(pod, Flag.NEVER_PREEMPTS):
            return _NEVER
        node = self._nominations.node(pod)
        if node < 0:
            return ""
        rejection = verdicts.rejection(node)
        if rejection is not None and rejection.outcome.unresolvable:
            return ""
        leaving = (each for each in self._state.pods_on(node).tolist() if leaves_for_others(self._state, each))
        priorities = self._search.units.priorities(np.fromiter(leaving, dtype=np.int64))
        return _TERMINATING if (priorities < self._pods.priority[pod]).any() else ""


def _resolvable(verdicts: Verdicts) -> BoolArray:
    """The nodes whose rejection the removal of pods could lift, bool[node]."""
    lasting = np.array([each.outcome.unresolvable for each in verdicts.rejections], dtype=bool)
    resolvable: BoolArray = ~lasting.take(verdicts.verdict)
    return resolvable


def _failure(total: int, reasons: Mapping[str, int]) -> str:
    given = {reason: count for reason, count in reasons.items() if count}
    return f"preemption: 0/{total} nodes are available:{histogram(given)}"


def _waits_for_victims(pod: PodFacts, surroundings: QueueSurroundings) -> str | None:
    """A pod is not tried while its victims are still being deleted; those are to go before it looks again."""
    waits = pod.uid in surroundings.preempting
    return "waiting for the preemption for this pod to be finished" if waits else None


PLUGIN = SchedulerPlugin(
    NAME,
    ("preEnqueue", "postFilter"),
    make_post_filter=lambda handle, _args: DefaultPreemption(handle),
    args=DefaultPreemptionArgs,
    check=check,
    pre_enqueue=_waits_for_victims,
    # Whether that helps say the plugins that rejected the pod.
    interests=(Interest(Resource.POD, Action.DELETE, lambda *_: False, "its victims are gone"),),
)
