"""Pods of a group that are tried one after the other, each with those before it on their nodes, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from restow.cluster.pods import PENDING
from restow.scheduling.loop.decision import GroupWait, SchedulingDecision
from restow.scheduling.loop.group_preemption import Placements
from restow.scheduling.loop.schedulers import Schedulers

#: What every pod is told whose group gets no nodes, before the reason.
FAILED: Final = "pod group is unschedulable"
#: Chooses the node of a decision for some node.
Choose = Callable[[SchedulingDecision], int]


@dataclass(slots=True, frozen=True)
class GroupDecision:
    """What one cycle says of a group."""

    #: About the pods in the order in which they are tried; each is true with those before it on their nodes.
    decisions: Sequence[SchedulingDecision]
    #: Where each pod is meanwhile, or PENDING.
    nodes: Sequence[int]
    #: Whether the pods with nodes get them.
    is_placed: bool
    #: What the group is told; empty where it is placed.
    message: str = ""
    is_error: bool = False

    @property
    def rest(self) -> Sequence[int]:
        """The pods without nodes."""
        return [each.pod for each, node in zip(self.decisions, self.nodes, strict=True) if node == PENDING]

    def to_be_repeated(self) -> GroupDecision:
        """The same without a pod that was missing: those that had nodes are tried again, whatever happens."""
        decisions = [
            replace(each, group_wait=replace(each.group_wait, rejected_by=frozenset())) if each.group_wait else each
            for each in self.decisions
        ]
        return replace(self, decisions=decisions)


@dataclass(slots=True)
class GroupTrial:
    """Pods that were tried, and where they are meanwhile."""

    #: How many pods of the group had a node before.
    before: int
    decisions: list[SchedulingDecision] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    #: Since 1.37: what the group is told that gets no nodes.
    told: str = ""
    #: What is wrong with the group as a whole; no pod was tried then, or none gets a node.
    error: str = ""

    @property
    def placements(self) -> Placements:
        """The pods that have a node, and the node."""
        return [(each.pod, node) for each, node in self.pairs if node != PENDING]

    @property
    def scheduled(self) -> int:
        """How many pods of the group have a node."""
        return self.before + sum(node != PENDING for node in self.nodes)

    @property
    def is_enough(self) -> bool:
        """Since 1.37: whether the pods with nodes get them."""
        return bool(self.placements) and not self.told and not self.error

    @property
    def pairs(self) -> Iterator[tuple[SchedulingDecision, int]]:
        """Each decision, and where its pod is."""
        return zip(self.decisions, self.nodes, strict=True)

    @property
    def broken(self) -> SchedulingDecision | None:
        """The decision that says nothing of nodes, with which the trial ended; None where there is none."""
        last = self.decisions[-1] if self.decisions else None
        return last if last is not None and (last.error or last.unknown) else None

    def take(self, schedulers: Schedulers, decision: SchedulingDecision, choose: Choose) -> None:
        """Assume a pod where it goes, or where it would preempt others."""
        node = decision.nominated_node if decision.ranking is None else choose(decision)
        self.decisions.append(decision)
        self.nodes.append(node)
        if decision.preempts_on != PENDING:
            schedulers.nominations.give(decision.pod, node)
        if node != PENDING:
            schedulers.assume(decision.pod, node)


def held_back(decision: SchedulingDecision, wait: GroupWait) -> SchedulingDecision:
    """The decision about a pod that does not get its node, or has found none, because its group waits."""
    return replace(decision, ranking=None, group_wait=wait)


def unanswered(schedulers: Schedulers, pods: Sequence[int], unknown: str) -> GroupDecision:
    """That it is not known where any of the pods goes."""
    decisions = [replace(schedulers.unasked(pod), unknown=unknown) for pod in pods]
    return GroupDecision(decisions, [PENDING] * len(pods), False, unknown)


def words_about(title: str, least: int, found: int, there: int) -> str:
    """How far a group is: how many of its pods find a node now, and how many have one."""
    have = f"{there} {'has' if there == 1 else 'have'} one already" if there else ""
    find = f"{found} of its pods {'finds' if found == 1 else 'find'} a node"
    return f"{title} needs {least}: {', '.join(filter(None, (find, have)))}"
