"""A pod in the queue, and the places where pods wait.

Pods that can be tried, or wait out a backoff, are kept in order (``OrderedKeys``). Unschedulable ones are found by the
plugins that rejected them: an event concerns the plugins that wait for such events, and of the replicas of a workload,
which differ in nothing but their names, one is looked at for all. Of pods in flight all events are kept since the oldest
attempt began, because an event in the middle of an attempt may be the very one that helps. Source: QueuedPodInfo,
backoffQueue with SchedulerPopFromBackoffQ, unschedulablePods, inFlightPods and inFlightEvents, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from heapq import heapify, heappop, heappush
from itertools import islice
from math import floor
from typing import Any, Final

from msgspec import Struct, structs

from restow.scheduling.framework.requeueing import ClusterEvent, PodFacts

#: More are beyond any maximum.
_MOST_DOUBLINGS: Final = 64

#: A heap of fewer entries is never cleaned up.
_FEW = 64

#: What pods have in common that no event helps one of and not the other.
_Kind = tuple[Any, ...]


class QueuePlace(StrEnum):
    """Where in the queue a pod is, as metrics call it."""

    ACTIVE = "active"
    BACKOFF = "backoff"
    UNSCHEDULABLE = "unschedulable"
    #: It is among the unschedulable, because a plugin does not let it be tried at all.
    GATED = "gated"
    #: It was taken out to be tried, or is being bound.
    IN_FLIGHT = "in flight"


class QueuedPod(Struct, frozen=True):
    """One pod with its attempts. Source: QueuedPodInfo, Kubernetes 1.36."""

    pod: PodFacts
    #: In which order it came; settles who is first where nothing else does.
    number: int
    #: When it came.
    added: float
    #: When it came, or came back after an attempt: of equal priority, who has waited longer is first.
    since: float
    #: When it could be tried for the first time; None where it never could.
    first_active: float | None = None
    attempts: int = 0
    #: How often it was rejected, and how many attempts in a row ended in an error.
    rejections: int = 0
    errors: int = 0
    #: The plugins that rejected it in the last attempt, and those that have kept it from being tried since.
    rejected_by: frozenset[str] = frozenset()
    #: The plugin that does not let it be tried; empty where none does.
    gated_by: str = ""
    #: Whether it is tried again only because it had waited for so long.
    was_flushed: bool = False

    @property
    def key(self) -> str:
        """The uid of the pod."""
        return self.pod.uid

    @property
    def failures(self) -> int:
        """The number of failures that the wait before the next attempt depends on."""
        return self.errors or self.rejections

    @property
    def order(self) -> tuple[int, float, int]:
        """Its place among pods that can be tried. Source: PrioritySort, Kubernetes 1.36."""
        return -self.pod.priority, self.since, self.number

    def failed(self, rejected_by: frozenset[str], now: float) -> QueuedPod:
        """The pod after an attempt that ended with these rejections or, without any, in an error."""
        return structs.replace(
            self,
            since=now,
            rejections=self.rejections + bool(rejected_by),
            errors=0 if rejected_by else self.errors + 1,
            rejected_by=rejected_by,
            gated_by="",
            was_flushed=False,
        )


class BackoffSettings(Struct, frozen=True):
    """How long a pod waits after an attempt that failed; a ``podMaxBackoffSeconds`` of 0 is no wait at all.

    The wait begins with ``podInitialBackoffSeconds`` and doubles with every rejection, up to the maximum. Errors are
    counted apart, because trouble with the API server is not the pod's: the wait after an error goes by how many there
    were in a row. Waits end at whole seconds, so that all pods of one second are ordered by priority.
    """

    initial: float = 1
    maximum: float = 10

    def duration(self, failures: int) -> float:
        """Seconds to wait after a number of failures; at least one failure."""
        return min(self.initial * 2.0 ** min(failures - 1, _MOST_DOUBLINGS), self.maximum)

    def ends(self, since: float, failures: int) -> int | None:
        """The second in which the wait of a pod ends that failed last at ``since``; None where it does not wait."""
        if self.maximum == 0 or failures == 0:
            return None
        return floor(since + self.duration(failures))


def is_backing_off(ends: int | None, now: float) -> bool:
    """Whether a wait lasts: until the second in which it ends is over."""
    return ends is not None and ends >= floor(now)


class OrderedKeys:
    """Keys, each with a place in the order; places are tuples that differ for different keys.

    A heap that passes over keys which were taken out when it comes to them.
    """

    def __init__(self) -> None:
        self._places: dict[str, tuple[Any, ...]] = {}
        self._heap: list[tuple[tuple[Any, ...], str]] = []

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def put(self, key: str, place: tuple[Any, ...]) -> None:
        """Put a key in its place, also one that is elsewhere."""
        self._places[key] = place
        heappush(self._heap, (place, key))
        if len(self._heap) > max(_FEW, 2 * len(self._places)):
            self._heap = [(place, key) for key, place in self._places.items()]
            heapify(self._heap)

    def discard(self, key: str) -> None:
        """Take a key out, if it is there."""
        self._places.pop(key, None)

    def first(self) -> tuple[str, tuple[Any, ...]] | None:
        """The first key and its place; None where there is none."""
        while self._heap:
            place, key = self._heap[0]
            if self._places.get(key) == place:
                return key, place
            heappop(self._heap)
        return None


class InFlight:
    """Running attempts by key of the pod, and the events since the oldest of them began."""

    def __init__(self) -> None:
        #: How many events there had been when an attempt began, oldest attempt first.
        self._began: dict[str, int] = {}
        self._events: deque[ClusterEvent] = deque()
        #: How many events there were that are no longer kept.
        self._forgotten = 0

    def __contains__(self, key: str) -> bool:
        return key in self._began

    def __len__(self) -> int:
        return len(self._began)

    def begin(self, key: str) -> None:
        """Record that an attempt begins."""
        self._began[key] = self._forgotten + len(self._events)

    def note(self, event: ClusterEvent) -> None:
        """Record an event, if any attempt is running."""
        if self._began:
            self._events.append(event)

    def since(self, key: str) -> Iterator[ClusterEvent]:
        """What happened since an attempt began."""
        return islice(self._events, self._began[key] - self._forgotten, None)

    def end(self, key: str) -> None:
        """An attempt ends; what only it could have asked for is forgotten."""
        if self._began.pop(key, None) is None:
            return
        oldest = next(iter(self._began.values()), self._forgotten + len(self._events))
        while self._forgotten < oldest:
            self._events.popleft()
            self._forgotten += 1

    def kept(self) -> Counter[str]:
        """How many events are kept, by label."""
        return Counter(event.label for event in self._events)


@dataclass(slots=True)
class UnschedulablePods:
    """The pods that wait for an event; it changes with every pod that comes or leaves.

    A pod that a plugin does not let be tried is woken only by what that plugin waits for, and by no passing of time.
    """

    _kinds: dict[str, _Kind] = field(default_factory=dict)
    _alike: dict[_Kind, dict[str, QueuedPod]] = field(default_factory=dict)
    _by_plugin: defaultdict[str, dict[_Kind, None]] = field(default_factory=lambda: defaultdict(dict))
    #: Those that are not gated, who has waited longest first.
    _oldest: OrderedKeys = field(default_factory=OrderedKeys)

    def __len__(self) -> int:
        return len(self._kinds)

    def __contains__(self, key: str) -> bool:
        return key in self._kinds

    @property
    def gated(self) -> int:
        """How many of them may not be tried at all."""
        return len(self._kinds) - len(self._oldest)

    def put(self, queued: QueuedPod) -> None:
        """A pod comes, or something of it changes."""
        self.discard(queued.key)
        kind = self._kinds[queued.key] = (queued.gated_by, queued.rejected_by, *queued.pod.kept(_parts))
        self._alike.setdefault(kind, {})[queued.key] = queued
        for plugin in _listening(queued):
            self._by_plugin[plugin][kind] = None
        if not queued.gated_by:
            self._oldest.put(queued.key, (queued.since, queued.number))

    def discard(self, key: str) -> None:
        """A pod leaves, if it is there."""
        kind = self._kinds.pop(key, None)
        if kind is None:
            return
        self._oldest.discard(key)
        queued = self._alike[kind].pop(key)
        if not self._alike[kind]:
            del self._alike[kind]
            for plugin in _listening(queued):
                del self._by_plugin[plugin][kind]

    def helped(
        self, is_registered: Callable[[str], bool], helps: Callable[[QueuedPod], bool], about: str
    ) -> list[QueuedPod]:
        """The pods that an event helps, in the order in which they came.

        ``is_registered`` says whether a plugin waits for such events, ``helps`` whether it helps a pod. ``about`` is
        the key of the pod that the event is about: that one is asked on its own.
        """
        kinds = dict.fromkeys(
            kind for plugin, kinds in self._by_plugin.items() if is_registered(plugin) for kind in kinds
        )
        found: list[QueuedPod] = []
        for kind in kinds:
            alike = self._alike[kind]
            itself = alike.get(about)
            one = next((each for each in alike.values() if each is not itself), None)
            if one is not None and helps(one):
                found += (each for each in alike.values() if each is not itself)
            if itself is not None and helps(itself):
                found.append(itself)
        return sorted(found, key=lambda queued: queued.number)

    def oldest(self) -> float | None:
        """Since when the pod waits that has waited longest; None where none is waiting for more than its gate."""
        first = self._oldest.first()
        return None if first is None else first[1][0]

    def older_than(self, since: float) -> Iterator[QueuedPod]:
        """The pods that have waited since before a time, who has waited longest first; they are taken out."""
        while (oldest := self._oldest.first()) is not None and oldest[1][0] < since:
            key = oldest[0]
            queued = self._alike[self._kinds[key]][key]
            self.discard(key)
            yield queued


def _listening(queued: QueuedPod) -> frozenset[str]:
    """The plugins whose events a pod gets."""
    return frozenset((queued.gated_by,)) if queued.gated_by else queued.rejected_by


def _parts(pod: PodFacts) -> tuple[Any, ...]:
    """Everything that hints look at but name and uid. Parts that pods share are the same objects, as long as a pod has them."""
    shared = (pod.labels, pod.requests, pod.tolerations, pod.rules, pod.spread, pod.ports, pod.volumes)
    own = (pod.namespace, pod.scheduler, pod.priority, pod.node, pod.nominated_node, pod.gates, pod.group, pod.workload)
    return (*own, *map(id, shared))
