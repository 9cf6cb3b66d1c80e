"""Preemption: where a pod that fits nowhere would fit if less important pods went.

Only nodes are tried whose rejection the removal of pods could lift, each on its own, every one of them (kube-scheduler
may stop at a tenth of them in large clusters). A pod that finds such a node is nominated there and waits.
Source: DefaultPreemption, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pods import Flag
from restow.kube.objects import Condition
from restow.scheduling.candidates import Candidate, best_candidates
from restow.scheduling.context import Context
from restow.scheduling.disruption import Disruption
from restow.scheduling.dry_runs import try_out, try_out_resources
from restow.scheduling.filtering import Asked, Filters, Verdicts
from restow.scheduling.messages import histogram
from restow.scheduling.nominations import Nominations
from restow.scheduling.plugins import node_affinity, node_unschedulable, taint_toleration
from restow.scheduling.plugins.node_resources_fit import NodeResourcesFit
from restow.scheduling.victims import PotentialVictims, importance, potential_victims

#: What the plugin before says; dynamic resources are not modelled.
_NO_CLAIMS = "no new claims to deallocate, "
#: That plugin's error where a pod is ruled out before it has seen it; preemption is not asked then.
_NOT_FOUND = "not found"
_NEVER = "not eligible due to preemptionPolicy=Never."
_TERMINATING = "not eligible due to a terminating pod on the nominated node."
_NO_VICTIMS = "No preemption victims found for incoming pod"
_NOT_HELPFUL = "Preemption is not helpful for scheduling"

#: Filters that look at the node only, whatever pods are on it.
_STATIC = frozenset({node_unschedulable.NAME, taint_toleration.NAME, node_affinity.NAME})


@dataclass(slots=True, frozen=True)
class Preemption:
    """What preemption can do for a pod."""

    #: In order of the nodes' names.
    candidates: tuple[Candidate, ...] = ()
    #: Those among which it may choose; the first is chosen.
    best: tuple[Candidate, ...] = ()
    #: Why it can do nothing; empty where it can.
    message: str = ""
    #: Whether the pod stays nominated for the node that it is nominated for already.
    keeps_nomination: bool = False


class Preemptor:
    """DefaultPreemption on one state."""

    def __init__(self, context: Context, filters: Filters, nominations: Nominations) -> None:
        self._context = context
        self._state = context.state
        self._pods = context.state.cluster.pods
        self._filters = filters
        self._nominations = nominations

    def preempt(self, pod: int, verdicts: Verdicts) -> Preemption:
        """What can be done for a pod that these verdicts leave without a node, on the state as it is."""
        if verdicts.prefilter is not None and verdicts.prefilter.outcome.unresolvable:
            return Preemption(message=_NOT_FOUND, keeps_nomination=True)
        reason = self._ineligible(pod, verdicts)
        if reason:
            return Preemption(message=f"{_NO_CLAIMS}preemption: {reason}", keeps_nomination=True)
        nodes = np.flatnonzero(_resolvable(verdicts))
        potential = potential_victims(self._state, pod, nodes, self._importance, self._disruption)
        candidates, reasons = self._try_out(pod, potential)
        if not candidates:
            reasons[_NOT_HELPFUL] = len(verdicts.verdict) - len(nodes)
            return Preemption(message=_NO_CLAIMS + _failure(len(verdicts.verdict), reasons))
        return Preemption(candidates, best_candidates(candidates, self._pods))

    @cached_property
    def _disruption(self) -> Disruption:
        return Disruption(self._context)

    @cached_property
    def _importance(self) -> IntArray:
        return importance(self._pods)

    def _ineligible(self, pod: int, verdicts: Verdicts) -> str:
        """Why a pod may not preempt; empty where it may."""
        if self._pods.flags[pod] & Flag.NEVER_PREEMPTS:
            return _NEVER
        node = self._nominations.node(pod)
        if node < 0:
            return ""
        objection = verdicts.objection(node)
        if objection is not None and objection.outcome.unresolvable:
            return ""
        leaving = (each for each in self._state.pods_on(node).tolist() if self._is_preempted(each))
        return _TERMINATING if any(self._pods.priority[each] < self._pods.priority[pod] for each in leaving) else ""

    def _is_preempted(self, pod: int) -> bool:
        """Whether a pod is on its way out because another one preempted it."""
        conditions = self._pods.tables.conditions[self._pods.conditions[pod]]
        return bool(self._state.terminating[pod]) and any(map(_tells_preemption, conditions))

    def _try_out(self, pod: int, potential: PotentialVictims) -> tuple[tuple[Candidate, ...], Counter[str]]:
        inhabited = np.diff(potential.first) > 0
        reasons = Counter({_NO_VICTIMS: int(np.count_nonzero(~inhabited))})
        potential = potential.on(inhabited)
        asked = self._filters.prefilter(pod)
        fit, simple = self._only_resources(asked, potential.nodes)
        candidates: list[Candidate] = []
        if fit is not None and simple.any():
            part = potential.on(simple)
            victims, failures = try_out_resources(self._state, fit, pod, part)
            reasons.update(failures)
            candidates.extend(self._candidates(part, victims))
        if not simple.all():
            part = potential.on(~simple)
            victims, failures = try_out(self._context, self._filters, asked, fit, part)
            reasons.update(failures)
            candidates.extend(self._candidates(part, victims))
        return tuple(sorted(candidates, key=lambda candidate: candidate.node)), reasons

    def _only_resources(self, asked: Asked, nodes: IntArray) -> tuple[NodeResourcesFit | None, BoolArray]:
        """The nodes where pods are in the way by their requests alone, bool[len(nodes)], and the plugin to ask then."""
        simple = np.array([not self._filters.is_kept(asked.pod, node) for node in nodes.tolist()], dtype=bool)
        fit: NodeResourcesFit | None = None
        for plugin in asked.plugins:
            if isinstance(plugin, NodeResourcesFit):
                fit = plugin
            elif plugin.name in _STATIC:
                simple &= plugin.judge(asked.pod, nodes).passes
            else:
                simple[:] = False
        return fit, simple if fit is not None else np.zeros(len(nodes), dtype=bool)

    def _candidates(self, potential: PotentialVictims, victims: BoolArray) -> list[Candidate]:
        """A candidate for each node with victims."""
        candidates = []
        group = np.repeat(np.arange(len(potential.nodes)), np.diff(potential.first))
        for position in np.unique(group[victims]).tolist():
            place = potential.of(position)
            chosen = potential.pods[place][victims[place]]
            candidates.append(
                Candidate(
                    node=int(potential.nodes[position]),
                    victims=tuple(chosen[np.argsort(self._importance[chosen])].tolist()),
                    violations=int(np.count_nonzero(potential.violating[place] & victims[place])),
                )
            )
        return candidates


def _tells_preemption(condition: Condition) -> bool:
    told = (condition.type, condition.status, condition.reason)
    return told == ("DisruptionTarget", "True", "PreemptionByScheduler")


def _resolvable(verdicts: Verdicts) -> BoolArray:
    """The nodes whose rejection the removal of pods could lift, bool[node]."""
    lasting = np.array([each.outcome.unresolvable for each in verdicts.objections], dtype=bool)
    resolvable: BoolArray = ~lasting[verdicts.verdict]
    return resolvable


def _failure(total: int, reasons: Mapping[str, int]) -> str:
    given = {reason: count for reason, count in reasons.items() if count}
    return f"preemption: 0/{total} nodes are available:{histogram(given)}"
