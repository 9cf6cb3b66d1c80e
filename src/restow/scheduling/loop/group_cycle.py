"""One cycle about a whole group: a node for each of its pods, with those before it on theirs; or nodes for none.

The pods are decided one after the other, and each that finds a node is assumed there. Then all are taken back, and the
group gets its nodes if enough of its pods have one: ``minCount`` of a gang, those that have one already included, and one
of any other group. Pods that found no node wait alone. If the group fails, so does each of its pods.

Up to 1.36 a pod that fits nowhere may preempt others. It is assumed on that node, beside its victims, and the group waits
until they are gone. Since 1.37 the cycle ends as soon as ``minCount`` is out of reach, and no pod preempts for itself: the
group does (``group_preemption``). Pods that have to share a domain are tried in each (``group_domains``). A group whose
pods differ too much gets no nodes (``group_rules``).
Source: podGroupSchedulingDefaultAlgorithm and submitPodGroupAlgorithmResult, Kubernetes 1.36 and 1.37.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from restow.cluster.interning import BoolArray
from restow.cluster.pods import PENDING
from restow.kube.objects import PodGroup
from restow.scheduling.framework.coscheduled_groups import CoscheduledKey
from restow.scheduling.framework.extension_points import PhaseTimer, untimed
from restow.scheduling.framework.minors import GROUPS_PREEMPT, holds
from restow.scheduling.framework.scheduling_groups import GroupKey, least_of, topology_of
from restow.scheduling.loop.coscheduling import decide_coscheduled
from restow.scheduling.loop.decision import GroupWait, SchedulingDecision
from restow.scheduling.loop.group_domains import in_best_domain
from restow.scheduling.loop.group_preemption import Placements, preempt
from restow.scheduling.loop.group_rules import mismatch
from restow.scheduling.loop.group_trial import (
    FAILED,
    Choose,
    GroupDecision,
    GroupTrial,
    held_back,
    unanswered,
    words_about,
)
from restow.scheduling.loop.schedulers import Schedulers

_TOO_FEW: Final = (
    f"{FAILED}, waiting for minCount pods from a gang to be scheduled, "
    "one or more plugins asked to wait and no plugin rejected pod"
)
_PREEMPTING: Final = f"{FAILED}, pod group is waiting for preemption to complete"


def decide_group(
    schedulers: Schedulers,
    group: GroupKey | CoscheduledKey,
    pods: Sequence[int],
    choose: Choose,
    timer: PhaseTimer = untimed,
) -> GroupDecision:
    """Decide about pods of a group that may be tried, in this order; afterwards the state is as before."""
    if isinstance(group, CoscheduledKey):
        return decide_coscheduled(schedulers, group, pods, choose, timer)
    if unknown := schedulers.groups.unknown(group):
        return unanswered(schedulers, pods, unknown)
    found = schedulers.groups.pod_group(group)
    cycle = _Cycle(schedulers, group, found or PodGroup(), choose, timer)
    if found is None:
        return cycle.broken_off(pods, {}, f"failed to get podGroup {'/'.join(group)}")
    if problem := mismatch(schedulers, group, found, pods):
        return cycle.broken_off(pods, {}, problem)
    return cycle.as_one(pods) if holds(GROUPS_PREEMPT, schedulers.cluster) else cycle.pod_by_pod(pods)


@dataclass(slots=True, frozen=True)
class _Cycle:
    schedulers: Schedulers
    group: GroupKey
    pod_group: PodGroup
    choose: Choose
    timer: PhaseTimer

    def pod_by_pod(self, pods: Sequence[int]) -> GroupDecision:
        """Up to 1.36."""
        trial = GroupTrial(self._have_nodes())
        with self.schedulers.taken_back():
            for pod in pods:
                trial.take(self.schedulers, self.schedulers.decide(pod, self.timer), self.choose)
                if trial.broken:
                    break
        if trial.broken:
            return self._broken(pods, trial)
        if not trial.placements or self._is_out_of_reach(trial, 0):
            words = self._words(len(trial.placements))
            given_up = [
                held_back(each, GroupWait(_TOO_FEW, words)) if node != PENDING else each for each, node in trial.pairs
            ]
            return self._failed(given_up, trial.nodes, FAILED)
        if all(each.ranking is not None for each, node in trial.pairs if node != PENDING):
            return GroupDecision(trial.decisions, trial.nodes, True)
        words = f"{_title(self.group)} gets its nodes once the pods are gone that its pods preempt"
        waiting = [
            each if each.ranking is None else held_back(each, GroupWait(_PREEMPTING, words, node))
            for each, node in trial.pairs
        ]
        return self._failed(waiting, trial.nodes, _PREEMPTING)

    def as_one(self, pods: Sequence[int]) -> GroupDecision:
        """Since 1.37."""
        with self.schedulers.taken_back():
            trial = self._tried(pods)
        if trial.broken:
            return self._broken(pods, trial)
        if trial.error:
            return self.broken_off(pods, {}, trial.error)
        if trial.is_enough:
            return GroupDecision(trial.decisions, trial.nodes, True)
        found = preempt(self.schedulers, self.pod_group, pods, lambda: self._placements(pods))
        told = ", ".join(filter(None, (trial.told, found.message)))
        given_up = told if found.helps else f"{FAILED}, {told}"
        messages = [given_up if node != PENDING else "" for node in trial.nodes]
        messages += [trial.told] * (len(pods) - len(trial.nodes))
        nodes = [*trial.nodes, *[PENDING] * (len(pods) - len(trial.nodes))]
        words = self._words(len(trial.placements))
        waits = [
            GroupWait(message, words, found.nominated.get(pod, PENDING), is_kept=found.helps or node == PENDING)
            for pod, node, message in zip(pods, nodes, messages, strict=True)
        ]
        waits[0] = replace(waits[0], victims=found.victims)
        decisions = [*trial.decisions, *map(self.schedulers.unasked, pods[len(trial.decisions) :])]
        return self._failed(list(map(held_back, decisions, waits)), nodes, told)

    def _placements(self, pods: Sequence[int]) -> tuple[Placements, str]:
        """Where the pods go now; or why the group gets no nodes."""
        trial = self._tried(pods)
        if trial.broken:
            return [], trial.broken.message
        return (trial.placements, "") if trial.is_enough else ([], trial.error or trial.told)

    def _tried(self, pods: Sequence[int]) -> GroupTrial:
        """Try the pods on all nodes, or where they have to share a domain, on those of the best one."""
        if self.schedulers.groups.some_share_a_domain():
            topology, attempt = topology_of(self.pod_group), partial(self._until_out_of_reach, pods)
            trial = in_best_domain(self.schedulers, self.group, topology, attempt)
        else:
            trial = self._until_out_of_reach(pods, None)
        trial.told = trial.told or ("" if trial.placements else FAILED)
        return trial

    def _until_out_of_reach(self, pods: Sequence[int], among: BoolArray | None) -> GroupTrial:
        """Try the pods, on some nodes or all, for as long as there can still be enough; they stay where they are assumed."""
        trial = GroupTrial(self._have_nodes())
        if self._is_out_of_reach(trial, len(pods)):
            trial.told = f"{FAILED}, {self._lacking(trial, len(pods))}"
            return trial
        for left, pod in zip(range(len(pods) - 1, -1, -1), pods, strict=True):
            trial.take(self.schedulers, self.schedulers.find_node(pod, self.timer, among=among), self.choose)
            if trial.broken:
                return trial
            if self._is_out_of_reach(trial, left):
                trial.told = self._lacking(trial, left)
                return trial
        return trial

    def _have_nodes(self) -> int:
        return len(self.schedulers.groups.placed(self.group))

    def _is_out_of_reach(self, trial: GroupTrial, remaining: int) -> bool:
        return trial.scheduled + remaining < least_of(self.pod_group)

    def _lacking(self, trial: GroupTrial, remaining: int) -> str:
        counted = f"{trial.scheduled} scheduled, {remaining} remaining"
        return f"minCount ({least_of(self.pod_group)}) cannot be satisfied: {counted}"

    def _words(self, found: int) -> str:
        return words_about(_title(self.group), least_of(self.pod_group), found, self._have_nodes())

    def _failed(self, decisions: Sequence[SchedulingDecision], nodes: Sequence[int], message: str) -> GroupDecision:
        return GroupDecision(decisions, nodes, False, message)

    def _broken(self, pods: Sequence[int], trial: GroupTrial) -> GroupDecision:
        """A decision about one of the pods broke off, and with it all of them."""
        last = trial.decisions[-1]
        if last.unknown:
            return unanswered(self.schedulers, pods, last.unknown)
        return self.broken_off(pods, {last.pod: last}, f"failed to schedule other pod from a pod group: {last.error}")

    def broken_off(self, pods: Sequence[int], known: dict[int, SchedulingDecision], problem: str) -> GroupDecision:
        """An error of all pods but those of which another one is known."""
        decisions = [known.get(pod) or replace(self.schedulers.unasked(pod), error=problem) for pod in pods]
        return replace(self._failed(decisions, [PENDING] * len(pods), problem), is_error=True)


def _title(group: GroupKey) -> str:
    return f"PodGroup {'/'.join(group)}"
