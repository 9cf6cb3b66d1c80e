"""The result of a decision about one pod, in terms that outlive the state on which it was made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from restow.client.binding import ObjectRef
from restow.cluster.state import ClusterState
from restow.scheduler.observing import Attempt, AttemptTimer, Result
from restow.scheduling.loop.decision import SchedulingDecision
from restow.scheduling.queueing.queued_pod import QueuedPod


@dataclass(slots=True, frozen=True, kw_only=True)
class RunningAttempt:
    """An attempt in progress."""

    queued: QueuedPod
    pod: ObjectRef
    #: When the pod was taken from the queue, and when its node was decided, in the event loop's time.
    began: float
    decided: float
    timing: AttemptTimer

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name of the pod."""
        return self.pod.namespace, self.pod.name

    def ended(
        self,
        now: float,
        result: Result,
        *,
        node: str = "",
        message: str = "",
        rejected_by: frozenset[str] = frozenset(),
        tried_preemption: bool = False,
    ) -> Attempt:
        """The attempt as observers see it."""
        return Attempt(
            pod=self.pod,
            profile=self.queued.pod.scheduler,
            result=result,
            number=self.queued.attempts,
            deciding=self.decided - self.began,
            lasted=now - self.began,
            waited=now - self.queued.added,
            node=node,
            message=message,
            rejected_by=rejected_by,
            parts=self.timing.parts,
            tried_preemption=tried_preemption,
        )


@dataclass(slots=True, frozen=True, kw_only=True)
class FailedAttempt:
    """Why a pod has no node now, and what to do about it."""

    message: str
    rejected_by: frozenset[str] = frozenset()
    #: Whether preemption was tried, successfully or not.
    tried_preemption: bool = False
    #: Whether this is an error, which says nothing about the pod.
    is_error: bool = False
    #: The ``nominatedNodeName`` to write to its status, empty for none; None leaves it as it is.
    nominated_node: str | None = None
    #: The pods to delete on that node, the most important first.
    victims: Sequence[ObjectRef] = ()
    #: Less important pods that lose their nomination for that node.
    outranked: Sequence[ObjectRef] = ()


def ref_of(state: ClusterState, pod: int) -> ObjectRef:
    """How requests identify a pod."""
    pods = state.cluster.pods
    return ObjectRef(pods.tables.namespaces[pods.namespace[pod]], pods.names[pod], pods.uids[pod])


def victims_of(state: ClusterState, decision: SchedulingDecision) -> list[ObjectRef]:
    """The pods that a decision preempts, without those that are being deleted already."""
    return [ref_of(state, victim) for victim in decision.victims if not state.terminating[victim]]


def asks_for_room(decision: SchedulingDecision) -> bool:
    """Whether preemption was tried; like kube-scheduler 1.36, not after an earlier error."""
    return decision.preemption is not None and not decision.preemption.is_final
