"""A scheduling queue with made-up plugins, and a driver that lets a test read as a list of what happens."""

from __future__ import annotations

from collections.abc import Mapping

from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, PodFacts, PreEnqueue, Resource
from restow.scheduling.queueing.events import ProfileRules, QueueingRules
from restow.scheduling.queueing.scheduling_queue import QueueSettings, SchedulingQueue

#: Waits for any new node, and for pods that the hint finds helpful: those whose name says so.
NODES, PODS = "Nodes", "Pods"
INTERESTS: Mapping[str, tuple[Interest, ...]] = {
    NODES: (Interest(Resource.NODE, Action.ADD, words="a node is added"),),
    PODS: (
        Interest(
            Resource.POD,
            Action.ADD | Action.DELETE,
            lambda _pod, event, _args: (event.new or event.old).name == "helpful",
            "a helpful pod comes or goes",
        ),
    ),
}
NODE_ADDED = ClusterEvent(Resource.NODE, Action.ADD)
HELPFUL = ClusterEvent(Resource.ASSIGNED_POD, Action.ADD, new=PodFacts(uid="other", name="helpful", node="n"))
USELESS = ClusterEvent(Resource.ASSIGNED_POD, Action.ADD, new=PodFacts(uid="other", name="useless", node="n"))


def a_queue(
    gates: Mapping[str, PreEnqueue] | None = None,
    interests: Mapping[str, tuple[Interest, ...]] = INTERESTS,
    settings: QueueSettings | None = None,
) -> SchedulingQueue:
    """A queue that begins at 0, with plugins that wait for nodes and for pods."""
    rules = QueueingRules({"default-scheduler": ProfileRules(interests, pre_enqueue=gates or {})})
    return SchedulingQueue(rules, 0, settings)


#: Parts that pods share, as they share those of columns.
_LABELS: Mapping[str, str] = {}
_REQUESTS: Mapping[str, int] = {}


def a_pod(uid: str, priority: int = 0, **facts: object) -> PodFacts:
    """A waiting pod."""
    given = {"labels": _LABELS, "requests": _REQUESTS} | facts
    return PodFacts(uid=uid, name=uid, priority=priority, **given)  # type: ignore[arg-type]


def rejected(queue: SchedulingQueue, uid: str, now: float, *plugins: str) -> None:
    """A pod comes, is tried and rejected by these plugins, all at once; an error where there are none."""
    queue.add(a_pod(uid), now)
    try_once(queue, uid, now, *plugins)


def try_once(queue: SchedulingQueue, uid: str, now: float, *plugins: str) -> None:
    """The next pod, which must be this one, is tried and rejected by these plugins."""
    popped = queue.pop(now)
    assert popped is not None
    assert popped.key == uid
    queue.requeue(uid, frozenset(plugins), now)


def popped(queue: SchedulingQueue, now: float) -> list[str]:
    """All pods that may be tried now, in order; none of them comes back."""
    keys = []
    while (queued := queue.pop(now)) is not None:
        keys.append(queued.key)
        queue.delete(queued.key)
    return keys
