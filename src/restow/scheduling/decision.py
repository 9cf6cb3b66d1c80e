"""Where one pod would go: the scheduler's answer, by index.

A pod that fits nowhere may preempt others: it is nominated for a node then, and its victims stay until someone removes
them. ``decide`` changes nothing; ``settle`` makes a decision true for the pods that come after.
"""

from __future__ import annotations

from dataclasses import dataclass

from restow.cluster.interning import IntArray
from restow.cluster.pod_intake import DEFAULT_SCHEDULER
from restow.cluster.pods import PENDING
from restow.scheduling.context import Context
from restow.scheduling.filtering import Filters, Verdicts
from restow.scheduling.framework import FilterPlugin
from restow.scheduling.messages import fit_error
from restow.scheduling.nominations import Nominations
from restow.scheduling.plugins.balanced_allocation import BalancedAllocation
from restow.scheduling.plugins.image_locality import ImageLocality
from restow.scheduling.plugins.inter_pod_affinity import InterPodAffinity
from restow.scheduling.plugins.node_affinity import NodeAffinity
from restow.scheduling.plugins.node_ports import NodePorts
from restow.scheduling.plugins.node_resources_fit import NodeResourcesFit
from restow.scheduling.plugins.node_unschedulable import NodeUnschedulable
from restow.scheduling.plugins.node_volume_limits import NodeVolumeLimits
from restow.scheduling.plugins.pod_topology_spread import PodTopologySpread
from restow.scheduling.plugins.taint_toleration import TaintToleration
from restow.scheduling.plugins.volume_binding import VolumeBinding
from restow.scheduling.plugins.volume_restrictions import VolumeRestrictions
from restow.scheduling.plugins.volume_zone import VolumeZone
from restow.scheduling.preemption import Preemption, Preemptor
from restow.scheduling.queue import Queue, waiting_pods
from restow.scheduling.scoring import Ranking, WeightedPlugin, rank


@dataclass(slots=True, frozen=True)
class Decision:
    """What the scheduler says of one pod."""

    pod: int
    verdicts: Verdicts
    #: Absent where no node is feasible.
    ranking: Ranking | None
    #: What preemption can do; absent where a node is feasible, or where there are no nodes at all.
    preemption: Preemption | None = None

    @property
    def best(self) -> IntArray:
        """The nodes that could win; empty where none is feasible."""
        return self.verdicts.feasible if self.ranking is None else self.ranking.best

    @property
    def node(self) -> int:
        """The first of the best nodes, or PENDING."""
        return PENDING if self.ranking is None else int(self.best[0])

    @property
    def nominated_node(self) -> int:
        """The node where the pod preempts others, or PENDING."""
        return self.preemption.best[0].node if self.preemption and self.preemption.best else PENDING

    @property
    def victims(self) -> tuple[int, ...]:
        """The pods that it preempts, the most important first."""
        return self.preemption.best[0].victims if self.preemption and self.preemption.best else ()

    @property
    def message(self) -> str:
        """The message of the condition PodScheduled; empty for a pod that gets a node."""
        if self.ranking is not None:
            return ""
        if self.preemption is None:
            return "no nodes available to schedule pods"
        return " ".join(filter(None, (fit_error(self.verdicts), self.preemption.message)))


class Scheduler:
    """The default profile on one state; each answer is about the state as it is when it is asked."""

    def __init__(self, context: Context) -> None:
        taints, affinity = TaintToleration(context), NodeAffinity(context)
        fit, spread, inter_pod = NodeResourcesFit(context), PodTopologySpread(context), InterPodAffinity(context)
        filters: list[FilterPlugin] = [
            NodeUnschedulable(context),
            taints,
            affinity,
            NodePorts(context),
            fit,
            VolumeRestrictions(context),
            NodeVolumeLimits(context),
            VolumeBinding(context),
            VolumeZone(context),
            spread,
            inter_pod,
        ]
        self._state = context.state
        self._schedulers = frozenset((DEFAULT_SCHEDULER,))
        self._nominations = Nominations(context.state, self._schedulers)
        self._filters = Filters(context, filters, self._nominations)
        self._preemptor = Preemptor(context, self._filters, self._nominations)
        self._scores = (
            WeightedPlugin(taints, 3),
            WeightedPlugin(affinity, 2),
            WeightedPlugin(fit, 1),
            WeightedPlugin(spread, 2),
            WeightedPlugin(inter_pod, 2),
            WeightedPlugin(BalancedAllocation(context), 1),
            WeightedPlugin(ImageLocality(context), 1),
        )

    def queue(self) -> Queue:
        """The pods that wait for this scheduler now."""
        return waiting_pods(self._state, self._schedulers)

    def decide(self, pod: int) -> Decision:
        """Filter and score every node for a pod; where none is feasible, look for pods to preempt."""
        verdicts = self._filters.run(pod)
        feasible = verdicts.feasible
        if len(feasible):
            return Decision(pod, verdicts, rank(pod, feasible, self._scores))
        return Decision(pod, verdicts, None, self._preemptor.preempt(pod, verdicts) if len(verdicts.verdict) else None)

    def settle(self, decision: Decision) -> None:
        """Place the pod on the decision's node, or nominate it where it preempts others."""
        if decision.node >= 0:
            self._nominations.drop(decision.pod)
            self._state.place(decision.pod, decision.node)
        elif decision.nominated_node >= 0:
            self._nominations.give(decision.pod, decision.nominated_node)
        elif decision.preemption is None or not decision.preemption.keeps_nomination:
            self._nominations.drop(decision.pod)
