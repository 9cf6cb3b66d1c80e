"""Why a pod waits: where it is in the queue, how its last attempt ended, what it waits for, and what each node lacks now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from restow.client.objects import ObjectRef
from restow.cluster.pods import NO_POD
from restow.scheduler.attempts import Attempt, AttemptObserver
from restow.scheduler.daemon import SchedulerDaemon
from restow.scheduler.explanation import LastAttempt, Objection, QueueExplanation
from restow.scheduling.framework.caches import LruCache
from restow.scheduling.framework.verdicts import PluginRejection
from restow.scheduling.queueing.queued_pods import QueuedPod, QueuePlace
from restow.scheduling.queueing.scheduling_queue import why_waiting

#: Nodes that are named for each objection.
_MOST_NAMED: Final = 10
#: Pods whose last attempt is remembered.
_CAPACITY: Final = 10_000


@dataclass(slots=True)
class LastAttempts:
    """An ``AttemptObserver`` that remembers the last attempt of each pod and passes everything on to another one."""

    following: AttemptObserver
    #: Seconds, as the queue counts them.
    clock: Callable[[], float]
    _last: LruCache[str, tuple[float, Attempt]] = field(default_factory=lambda: LruCache(_CAPACITY))

    def attempted(self, attempt: Attempt) -> None:
        """Remember an attempt, and pass it on."""
        self._last.put(attempt.pod.uid, (self.clock(), attempt))
        self.following.attempted(attempt)

    def preempted(self, pod: ObjectRef, profile: str, node: str, victims: Sequence[ObjectRef]) -> None:
        """Pass on which pods are preempted."""
        self.following.preempted(pod, profile, node, victims)

    def warn(self, sentence: str) -> None:
        """Pass on a warning."""
        self.following.warn(sentence)

    def last(self, uid: str) -> LastAttempt | None:
        """The last attempt of a pod, if it is remembered."""
        known = self._last.get(uid)
        if known is None:
            return None
        at, attempt = known
        return LastAttempt(attempt.result.value, attempt.message, self.clock() - at, attempt.node)


def explain(daemon: SchedulerDaemon, attempts: LastAttempts, namespace: str, name: str) -> QueueExplanation | None:
    """Why a pod waits; None if it does not wait for this scheduler."""
    state = daemon.mirror.state
    pod = state.order.find(namespace, name)
    queued = None if pod == NO_POD else daemon.queue.get(state.cluster.pods.uids[pod])
    if queued is None:
        return None
    place, now = daemon.queue.place(queued.key), attempts.clock()
    feasible, objections = _now(daemon, pod)
    return QueueExplanation(
        namespace=namespace,
        name=name,
        uid=queued.key,
        scheduler=queued.pod.scheduler,
        queue=place.value,
        attempts=queued.attempts,
        waited=now - queued.added,
        tried_again_in=_wait(daemon, queued, place, now),
        nominated_node=queued.pod.nominated_node,
        rejected_by=tuple(sorted(queued.rejected_by)),
        waits_for=tuple(dict.fromkeys(daemon.queue.rules.waits_for(queued)))
        if place is QueuePlace.UNSCHEDULABLE
        else (),
        sentences=why_waiting(daemon.queue, queued.key, now),
        last_attempt=attempts.last(queued.key),
        feasible_nodes=feasible,
        objections=tuple(objections),
    )


def _wait(daemon: SchedulerDaemon, queued: QueuedPod, place: QueuePlace, now: float) -> float | None:
    if place is QueuePlace.ACTIVE:
        return 0.0
    ends = daemon.queue.backoff_ends(queued.key) if place is QueuePlace.BACKOFF else None
    return None if ends is None else max(0.0, ends + 1.0 - now)


def _now(daemon: SchedulerDaemon, pod: int) -> tuple[int, list[Objection]]:
    """On how many nodes a pod fits now, and why not on the others, the most frequent reason first."""
    names = daemon.mirror.state.cluster.nodes.names
    verdicts = daemon.mirror.schedulers.verdicts(pod)
    nodes: defaultdict[PluginRejection, list[str]] = defaultdict(list)
    for node, name in enumerate(names):
        rejection = verdicts.prefilter or verdicts.rejection(node)
        if rejection is not None:
            nodes[rejection].append(name)
    return int(verdicts.passes.sum()), sorted(_objections(nodes), key=lambda each: (-each.count, each.plugin))


def _objections(nodes: defaultdict[PluginRejection, list[str]]) -> Iterator[Objection]:
    for rejection, names in nodes.items():
        yield Objection(rejection.plugin, rejection.outcome.reasons, len(names), tuple(names[:_MOST_NAMED]))
