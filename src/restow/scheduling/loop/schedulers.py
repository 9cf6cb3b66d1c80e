"""All profiles of a configuration on one state: one queue, one set of nominations, and a scheduler for each pod.

A pod is scheduled by the profile that its ``spec.schedulerName`` names. Pods that name another scheduler are left to
that one. Source: the scheduler's profile map, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pods import PENDING
from restow.cluster.snapshot import ClusterSnapshot
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.coscheduled_groups import CoscheduledGroups, CoscheduledKey
from restow.scheduling.framework.extension_points import PhaseTimer, untimed
from restow.scheduling.framework.scheduling_groups import GroupKey, SchedulingGroups
from restow.scheduling.framework.verdicts import Verdicts
from restow.scheduling.framework.waiting_pods import Nominations, Queue, waiting_for_others, waiting_pods
from restow.scheduling.framework.workload_gangs import GangKey, WorkloadGangs
from restow.scheduling.loop.decision import PodAttempt, Scheduler, SchedulingDecision
from restow.scheduling.plugins.coscheduling import NAME as COSCHEDULING
from restow.scheduling.sampling.landing_odds import LandingOdds
from restow.scheduling.volumes.storage import Reservation

#: Pods that are decided about together, or that wait for one another on their nodes.
Group = GroupKey | CoscheduledKey | GangKey


class Schedulers:
    """The schedulers of some profiles, each with a name of its own."""

    def __init__(self, context: Context, profiles: Iterable[SchedulerProfile] = (DEFAULT_PROFILE,)) -> None:
        by_name = {profile.name: profile for profile in profiles}
        self.context = context
        self._state = context.state
        #: Which pods are scheduled together.
        self.groups = SchedulingGroups(context.state)
        #: Which wait for one another on their nodes, in Kubernetes 1.35.
        self.gangs = WorkloadGangs(context.state)
        #: Those of profiles with Coscheduling.
        self.coscheduled = CoscheduledGroups(context.state)
        self._coscheduling = frozenset(name for name, each in by_name.items() if each.runs(COSCHEDULING, "permit"))
        self._names = frozenset(by_name)
        self._ignores_gates = frozenset(name for name, profile in by_name.items() if profile.ignores_gates)
        #: Which nodes are kept for pods of any profile.
        self.nominations = Nominations(context.state, self._names, self._ignores_gates)
        self._schedulers = {name: Scheduler(context, profile, self.nominations) for name, profile in by_name.items()}

    @property
    def cluster(self) -> ClusterSnapshot:
        """The cluster of their state."""
        return self._state.cluster

    def queue(self) -> Queue:
        """The pods that wait for one of the schedulers now, in the one order in which they are taken."""
        return waiting_pods(self._state, self._names, self._ignores_gates)

    def scheduler_of(self, pod: int) -> Scheduler:
        """The scheduler that a pod names; KeyError where the configuration does not have it."""
        return self._schedulers[self._asked(pod)]

    def group_of(self, pod: int) -> Group | None:
        """The group that a pod is decided with, or waits for; None where no other pod matters."""
        own = self.groups.of(pod) or self.gangs.of(pod)
        if own is not None or self._asked(pod) not in self._coscheduling:
            return own
        return self.coscheduled.of(pod)

    def waiting_in(self, group: Group) -> list[int]:
        """The pods of a group that may need a node."""
        if isinstance(group, CoscheduledKey):
            return self.coscheduled.waiting(group)
        there = self.gangs.members(group) if isinstance(group, GangKey) else self.groups.members(group)
        members: list[int] = there.tolist()
        return members

    def why_never_bound(self, pod: int) -> str | None:
        """Why the next pod of a pod's group would never be bound, in the plugin's words; None where it would be."""
        group = self.group_of(pod)
        if isinstance(group, GangKey):
            return self.gangs.why_never_bound(group)
        if not isinstance(group, CoscheduledKey):
            return self.groups.why_never_tried(pod)
        found = self.coscheduled.found(group)
        if found is None:
            return "PodGroup not found"
        there, least = len(self.coscheduled.placed(group)), found.spec.min_member
        return None if there >= least else f"PodGroup {group} needs {least} pods with nodes and has {there}"

    def decide(self, pod: int, timer: PhaseTimer = untimed) -> SchedulingDecision:
        """What the pod's scheduler says of it; KeyError where the configuration does not have it."""
        return self.scheduler_of(pod).decide(pod, timer)

    def attempt(self, pod: int, start: int, timer: PhaseTimer = untimed) -> PodAttempt:
        """As ``decide``, with the nodes that the scheduler's search finds which begins at ``start``."""
        return self.scheduler_of(pod).attempt(pod, start, timer)

    def find_node(self, pod: int, timer: PhaseTimer = untimed, *, among: BoolArray | None = None) -> SchedulingDecision:
        """As ``decide``, but no pod is preempted; with ``among``, bool[node], only these nodes are looked at."""
        return self.scheduler_of(pod).find_node(pod, timer, among=among)

    def unasked(self, pod: int) -> SchedulingDecision:
        """No answer about a pod: no node was asked about."""
        return self.scheduler_of(pod).unasked(pod)

    def assume(self, pod: int, node: int) -> None:
        """A pod is on a node from now on, and no node is kept for it any longer."""
        self.nominations.drop(pod)
        self._state.place(pod, node)

    def take_back(self, pod: int) -> None:
        """A pod that was assumed to be on a node has none."""
        self._state.place(pod, PENDING)

    @contextmanager
    def taken_back(self) -> Iterator[None]:
        """Take back at the end what changes in the state meanwhile, and which nodes are kept for pods."""
        mark, nominated = self._state.checkpoint(), self.nominations.all()
        yield
        self._state.undo(mark)
        self.nominations.restore(nominated)

    def unknown(self, pod: int) -> str:
        """Why it is not known where a pod that is decided alone goes, a clause for people; empty where it is."""
        group = self.groups.of(pod)
        return (self.groups.unknown_alone(group) if group is not None else "") or self.scheduler_of(pod).unknown(pod)

    def knows(self, pod: int) -> bool:
        """Whether one of the schedulers is the one that a pod names."""
        return self._asked(pod) in self._names

    def signature(self, pod: int) -> Hashable:
        """Of pods on one node with the same parts and equal signatures their scheduler says the same."""
        return self.scheduler_of(pod).signature(pod) if self.knows(pod) else None

    def fitting(self, pod: int) -> BoolArray:
        """Which nodes pass all filters for a pod, bool[node]."""
        return self.scheduler_of(pod).fitting(pod)

    def verdicts(self, pod: int) -> Verdicts:
        """The filters' verdicts on each node for a pod."""
        return self.scheduler_of(pod).verdicts(pod)

    def admitting(self, pod: int) -> IntArray:
        """The nodes that do not keep a pod out for what they are; all that ``fitting`` has are among them."""
        return self.scheduler_of(pod).admitting(pod)

    def passing(self, pod: int, nodes: IntArray) -> IntArray:
        """Those of some nodes that pass all filters for a pod; nothing is asked about the others."""
        return self.scheduler_of(pod).passing(pod, nodes)

    def best_of(self, pod: int, nodes: IntArray) -> IntArray:
        """Those of some feasible nodes (at least one) that have the best score among themselves."""
        return self.scheduler_of(pod).best_of(pod, nodes)

    def odds(self, decision: SchedulingDecision) -> LandingOdds:
        """Every node that could win, and how probable each is; to be asked before the state changes."""
        return self.scheduler_of(decision.pod).odds(decision)

    def reservation(self, pod: int, node: int) -> Reservation | None:
        """The volumes that a pod takes on a node, and those that are to be made there first; None where it needs none."""
        return self.scheduler_of(pod).reservation(pod, node)

    def settle(self, decision: SchedulingDecision) -> None:
        """Place the pod on the decision's node, or nominate it where it preempts others."""
        self.scheduler_of(decision.pod).settle(decision)

    def left_alone(self) -> dict[int, str]:
        """The waiting pods that name a scheduler which the configuration does not have, and a sentence about each."""
        name = self._state.cluster.pods.full_name
        return {
            pod: f'{name(pod)} asks for scheduler "{self._asked(pod)}", which the configuration does not have; '
            "it is left as it is"
            for pod in waiting_for_others(self._state, self._names)
        }

    def _asked(self, pod: int) -> str:
        pods = self._state.cluster.pods
        asked: str = pods.tables.schedulers[pods.schedulers[pod]]
        return asked


@dataclass(slots=True)
class NodeChooser:
    """Draws the node that a pod goes to among the best; all profiles share one.

    A plan names all nodes that could win; a scheduler has to choose. Ties are broken at random. In clusters of 100 and
    more nodes only some feasible nodes are looked at, and the search for them begins where the last one ended, so that all
    nodes have their turn. Source: nextStartNodeIndex and selectHost, Kubernetes 1.36.
    """

    chance: Random
    #: Where the next search begins, in visiting order.
    start: int = 0

    def attempt(self, schedulers: Schedulers, pod: int, timer: PhaseTimer = untimed) -> int | SchedulingDecision:
        """The node for a pod, or why it gets none; KeyError where no scheduler is the one that it names."""
        best, self.start, failed = schedulers.attempt(pod, self.start, timer)
        return self._drawn(best) if failed is None else failed

    def node(self, schedulers: Schedulers, decision: SchedulingDecision) -> int:
        """The node for a pod that gets one, on the state on which that was decided."""
        best, self.start = schedulers.scheduler_of(decision.pod).search(decision, self.start)
        return self._drawn(best)

    def _drawn(self, best: IntArray) -> int:
        return int(self.chance.choice(best.tolist()))
