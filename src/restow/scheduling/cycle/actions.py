"""What an attempt of the scheduling cycle leads to, as values; whoever asks carries them out."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from restow.scheduling.framework.requeueing import PodFacts
from restow.scheduling.framework.scheduling_groups import GroupKey
from restow.scheduling.framework.workload_gangs import GangKey
from restow.scheduling.queueing.queued_pods import QueuedPod
from restow.scheduling.volumes.storage import Reservation


class Bind(Struct, frozen=True, kw_only=True):
    """Bind a pod to a node, after its volumes there; if that fails, give up its place in the cache and ``requeue`` it."""

    queued: QueuedPod
    node: str
    #: The volumes to bind first; None if there are none.
    volumes: Reservation | None


class MarkUnschedulable(Struct, frozen=True, kw_only=True):
    """Say why a pod has no node now, make room for it by preemption, and call ``requeue``."""

    queued: QueuedPod
    message: str
    #: The plugins that rejected nodes; none after an error, which says nothing about the pod.
    rejected_by: frozenset[str] = frozenset()
    is_error: bool = False
    #: Whether it asks for something that restow does not model, so that no node was looked for.
    is_unknown: bool = False
    #: Whether preemption was tried, successfully or not.
    tried_preemption: bool = False
    #: The nominated node to write to its status, empty for none; None leaves it as it is.
    nominated_node: str | None = None
    #: The pods to delete on that node, the most important first; some may be terminating already.
    victims: Sequence[PodFacts] = ()
    #: Less important pods that lose their nomination for that node.
    outranked: Sequence[PodFacts] = ()


class MarkGroup(Struct, frozen=True, kw_only=True):
    """Say in a PodGroup's status whether its pods get nodes; one that says they do is left as it is."""

    group: GroupKey
    condition: str
    is_placed: bool
    message: str
    is_error: bool


class Hold(Struct, frozen=True, kw_only=True):
    """Let a pod wait on a node for others of its gang: show it there from now on, and call ``waiting.hold``."""

    queued: QueuedPod
    node: str
    gang: GangKey


#: What an attempt leads to, to be carried out in order.
Action = Bind | MarkUnschedulable | MarkGroup | Hold
