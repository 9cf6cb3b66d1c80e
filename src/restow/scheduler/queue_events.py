"""Changes in the cluster, as events for queued pods.

A pending pod is itself in the queue; a pod with a node is an event for the pending ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from restow.scheduler.mirror import MirrorChanges, PodChange, PodSnapshot, WatchedChange
from restow.scheduling.framework.cluster_events import ClusterEvent
from restow.scheduling.framework.facts import PodFacts, node_facts
from restow.scheduling.queueing import changes as queueing


def waits(pod: PodSnapshot | None, schedulers: Collection[str]) -> bool:
    """Whether a pod belongs in the queue of some schedulers."""
    return pod is not None and not pod.facts.node and not pod.is_over and pod.facts.scheduler in schedulers


def events_of(changes: MirrorChanges) -> Iterator[ClusterEvent]:
    """All events of some changes, in their order."""
    for pod in changes.pods:
        yield from pod_events(pod)
    for each in changes.objects:
        yield from _object_events(each)


def pod_events(change: PodChange) -> Iterable[ClusterEvent]:
    """The events of a change of a pod for the others; a terminated pod counts as deleted."""
    return queueing.pod_events(_counting(change.before), _counting(change.after))


def _counting(pod: PodSnapshot | None) -> PodFacts | None:
    return None if pod is None or pod.is_over else pod.facts


def _object_events(change: WatchedChange) -> Iterable[ClusterEvent]:
    if change.kind == "Node":
        old, new = (None if each is None else node_facts(each) for each in (change.before, change.after))
        return queueing.node_events(old, new)
    if change.kind in queueing.RESOURCES:
        return queueing.object_events(queueing.RESOURCES[change.kind], change.before, change.after)
    return ()
