"""One pass over pods that wait: each is decided on what those before it have left, and a group when its first pod comes.

``restow schedule`` makes one over the queue. A longer run keeps the ``Schedulers``, the profiles on one state with their
caches, and makes a pass each time pods wait.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from restow.cluster.pods import PENDING
from restow.scheduling.framework.coscheduled_groups import CoscheduledKey
from restow.scheduling.framework.minors import GROUPS_PREEMPT, holds
from restow.scheduling.framework.scheduling_groups import GroupKey
from restow.scheduling.framework.workload_gangs import GangKey
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.loop.group_cycle import decide_group
from restow.scheduling.loop.permit_waiting import Turn, schedule_with_gangs
from restow.scheduling.loop.schedulers import Group, Schedulers


def schedule(schedulers: Schedulers, pods: Iterable[int] | None = None) -> Iterator[SchedulingDecision]:
    """The decisions about some pods in this order, or about all that wait now in the queue's.

    A decision is true of the state when it is given; it is made true (``settle``) when the next one is asked for. The
    pods of a group come together, at the place of the first; those of a gang of Kubernetes 1.35 one by one.
    """
    turns = _turns(schedulers, schedulers.queue().pods if pods is None else pods)
    if any(isinstance(group, GangKey) for group, _ in turns):
        yield from schedule_with_gangs(schedulers, turns, partial(_decide, schedulers))
        return
    for turn in turns:
        yield from _decide(schedulers, turn)


def _decide(schedulers: Schedulers, turn: Turn) -> Iterator[SchedulingDecision]:
    group, pods = turn
    assert not isinstance(group, GangKey), "its pods wait for one another"
    if group is not None:
        yield from _schedule_group(schedulers, group, pods)
        return
    decision = schedulers.decide(pods[0])
    yield decision
    schedulers.settle(decision)


def _turns(schedulers: Schedulers, pods: Iterable[int]) -> list[Turn]:
    """Each pod that is decided alone, and each group with its pods."""
    turns: list[Turn] = []
    groups: defaultdict[Group, list[int]] = defaultdict(list)
    for pod in pods:
        group = schedulers.group_of(pod)
        if group is None or isinstance(group, GangKey):
            turns.append((group, [pod]))
            continue
        if group not in groups:
            turns.append((group, groups[group]))
        groups[group].append(pod)
    return turns


def _schedule_group(
    schedulers: Schedulers, group: GroupKey | CoscheduledKey, pods: Sequence[int]
) -> Iterator[SchedulingDecision]:
    found = decide_group(schedulers, group, pods, lambda decision: decision.node)
    if found.is_placed:
        at_once = holds(GROUPS_PREEMPT, schedulers.cluster) and not isinstance(group, CoscheduledKey)
        rest = found.rest if at_once else ()
        for decision in found.decisions:
            if decision.pod not in rest:
                yield decision
                schedulers.settle(decision)
        if rest:
            # Since 1.37 they are tried again at once.
            yield from _schedule_group(schedulers, group, rest)
        return
    with schedulers.taken_back():
        for decision, node in zip(found.decisions, found.nodes, strict=True):
            yield decision
            if node != PENDING:
                schedulers.assume(decision.pod, node)
    for decision in found.decisions:
        schedulers.settle(decision)
