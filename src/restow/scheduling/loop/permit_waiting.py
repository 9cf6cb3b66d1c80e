"""A pass with gangs of Kubernetes 1.35: a pod waits on its node until enough others of its gang have nodes.

Each pod is tried alone, in its turn. One that finds a node holds it from then on, for all pods after it; once so many pods
of the gang have a node as it needs, those before the pass included, all of them are bound. Each that begins to wait
has the others of its gang tried again that found none: behind those of the same priority that were not tried yet. Where too
few get a node, those that have one keep it to the end of the pass, and no pod is bound. The scheduler lets them wait for five
minutes, then takes the nodes back.

Which of them are bound shows only in the end. So a pass is made twice: first without a word, then each pod is told what
came of its last attempt.
Source: Reserve and Permit of GangScheduling, and Activate of the scheduling queue, Kubernetes 1.35.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final

from restow.cluster.pods import PENDING
from restow.scheduling.framework.workload_gangs import GangKey, title
from restow.scheduling.loop.decision import GroupWait, SchedulingDecision
from restow.scheduling.loop.group_trial import held_back, words_about
from restow.scheduling.loop.schedulers import Group, Schedulers
from restow.scheduling.plugins.gang_scheduling import NAME

#: Pods that are decided about at one time, and their group if they are more than one.
Turn = tuple[Group | None, Sequence[int]]
#: Decides about the pods of a turn that is of no gang, and makes each decision true when it is asked for the next one.
Decide = Callable[[Turn], Iterator[SchedulingDecision]]

_WAITS: Final = "waiting for minCount pods from a gang to be waiting on permit"
_BY_PLUGIN: Final = frozenset((NAME,))


def schedule_with_gangs(schedulers: Schedulers, turns: Sequence[Turn], decide: Decide) -> Iterator[SchedulingDecision]:
    """The decisions about pods of gangs and others, each as it is in the end."""
    with schedulers.taken_back():
        first = _Pass(schedulers, turns, decide)
        last = {decision.pod: number for number, decision in enumerate(first.attempts())}
    again = _Pass(schedulers, turns, decide)
    waiting = []
    for number, decision in enumerate(again.attempts()):
        if last[decision.pod] == number:
            told = first.told(decision)
            yield told
            waiting += [told] if told.pod in first.holding else []
    again.end_waiting()
    for told in waiting:
        schedulers.settle(told)


@dataclass(slots=True)
class _Pass:
    schedulers: Schedulers
    turns: Sequence[Turn]
    decide: Decide
    #: The pods that wait on a node.
    holding: set[int] = field(default_factory=set)
    #: Why it is not known where pods of a gang go.
    unknown: dict[GangKey, str] = field(default_factory=dict)
    #: How many pods of a gang had a node before.
    before: dict[GangKey, int] = field(default_factory=dict)
    _left: list[tuple[int, int, Turn]] = field(default_factory=list)
    _number: Iterator[int] = field(default_factory=count)
    #: The turns of pods of a gang that found no node, in order, and the numbers that they got then.
    _failed: defaultdict[GangKey, list[tuple[int, int, Turn]]] = field(default_factory=lambda: defaultdict(list))

    def attempts(self) -> Iterator[SchedulingDecision]:
        """The decision of each attempt; it is made true when the next one is asked for."""
        self._left = [self._place(turn) for turn in self.turns]
        heapify(self._left)
        while self._left:
            turn = heappop(self._left)[-1]
            if isinstance(turn[0], GangKey):
                yield from self._attempt(turn[0], turn)
            else:
                yield from self.decide(turn)

    def _place(self, turn: Turn) -> tuple[int, int, Turn]:
        """Where a turn has its place among others: by priority, then behind those that have one."""
        return -int(self.schedulers.cluster.pods.priority[turn[1][0]]), next(self._number), turn

    def _attempt(self, gang: GangKey, turn: Turn) -> Iterator[SchedulingDecision]:
        self.before.setdefault(gang, len(self.schedulers.gangs.placed(gang)))
        decision = self.schedulers.decide(turn[1][0])
        if decision.ranking is not None and (problem := self.schedulers.gangs.why_not_permitted(gang)):
            decision = replace(decision, ranking=None, error=problem)
        yield decision
        if decision.node == PENDING:
            self.schedulers.settle(decision)
            self._failed[gang].append(self._place(turn))
            if decision.unknown:
                self.unknown[gang] = decision.unknown
            return
        self.schedulers.assume(decision.pod, decision.node)
        self._permit(gang, decision)

    def _permit(self, gang: GangKey, decision: SchedulingDecision) -> None:
        """Bind the pods of a gang that wait, if there are enough now; otherwise one more waits."""
        gangs = self.schedulers.gangs
        if len(gangs.placed(gang)) >= gangs.least(gang):
            self.holding -= {pod for pod in self.holding if gangs.of(pod) == gang}
            return
        self.holding.add(decision.pod)
        for place in self._failed.pop(gang, ()):
            heappush(self._left, place)

    def told(self, decision: SchedulingDecision) -> SchedulingDecision:
        """The decision about a pod, as it is after this pass."""
        gang = self.schedulers.gangs.of(decision.pod)
        if gang is None or decision.pod not in self.holding:
            return decision
        if gang in self.unknown:
            return replace(self.schedulers.unasked(decision.pod), unknown=self.unknown[gang])
        found = sum(self.schedulers.gangs.of(pod) == gang for pod in self.holding)
        words = words_about(title(gang), self.schedulers.gangs.least(gang), found, self.before[gang])
        return held_back(decision, GroupWait(_WAITS, words, decision.node, rejected_by=_BY_PLUGIN, holds_node=True))

    def end_waiting(self) -> None:
        """Take the nodes back from pods that wait."""
        for pod in sorted(self.holding):
            self.schedulers.take_back(pod)
