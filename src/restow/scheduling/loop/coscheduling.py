"""One attempt for all waiting pods of a group of Coscheduling: nodes for so many as its PodGroup asks for, or for none.

The pods are decided one after the other, each with those before it on their nodes. If so many have a node as ``minMember``
says, those that had one before included, they get theirs; pods that found none wait alone. If there are too few, no pod gets a node, and each waits until something may help one of them: then all are tried again.

The plugin comes to the same end by another way: at Permit a pod waits on its node until enough others are there, and each
that waits has the others tried at once; one that fits nowhere sends them back, or their time is over.
Source: Permit, PostFilter and ActivateSiblings of Coscheduling, kubernetes-sigs/scheduler-plugins v0.33.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from restow.cluster.pods import PENDING
from restow.scheduling.framework.coscheduled_groups import CoscheduledKey
from restow.scheduling.framework.extension_points import PhaseTimer
from restow.scheduling.loop.decision import GroupWait
from restow.scheduling.loop.group_trial import Choose, GroupDecision, GroupTrial, held_back, unanswered, words_about
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.plugins.coscheduling import NAME

#: What a pod with a node is told that does not get it: by Permit, and by PostFilter of another pod.
_NOT_FOUND: Final = "0/1 nodes are available: 1 PodGroup not found."
_REJECTED: Final = "0/1 nodes are available: 1 optimistic rejection in PostFilter."
_BY_PLUGIN: Final = frozenset((NAME,))


def decide_coscheduled(
    schedulers: Schedulers, group: CoscheduledKey, pods: Sequence[int], choose: Choose, timer: PhaseTimer
) -> GroupDecision:
    """Decide about the waiting pods of a group, in this order; afterwards the state is as before."""
    found = schedulers.coscheduled.found(group)
    trial = GroupTrial(len(schedulers.coscheduled.placed(group)))
    with schedulers.taken_back():
        for pod in pods:
            trial.take(schedulers, schedulers.decide(pod, timer), choose)
    unknown = next((each.unknown for each in trial.decisions if each.unknown), "")
    if unknown:
        return unanswered(schedulers, pods, unknown)
    if found is None:
        return _rejected(trial, GroupWait(_NOT_FOUND, f"PodGroup {group} is not there", rejected_by=_BY_PLUGIN))
    least, ready = found.spec.min_member, sum(each.ranking is not None for each in trial.decisions)
    if ready and trial.before + ready >= least:
        nodes = [PENDING if each.ranking is None else node for each, node in trial.pairs]
        return GroupDecision(trial.decisions, nodes, True)
    words = words_about(f"PodGroup {group}", least, ready, trial.before)
    return _rejected(trial, GroupWait(_REJECTED, words, rejected_by=_BY_PLUGIN))


def _rejected(trial: GroupTrial, wait: GroupWait) -> GroupDecision:
    """No pod gets a node; those that found one are told why. While others preempt for it, their nodes are kept."""
    preempting = any(each.preempts_on != PENDING for each in trial.decisions)
    decisions = [
        each if each.ranking is None else held_back(each, replace(wait, node=node if preempting else PENDING))
        for each, node in trial.pairs
    ]
    return GroupDecision(decisions, trial.nodes, False, wait.message)
