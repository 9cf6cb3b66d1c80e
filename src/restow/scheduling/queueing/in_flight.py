"""What happens while pods are being tried.

An event that comes in the middle of an attempt may be the very one that helps, and the attempt cannot see it. So all
events are kept while some attempt lasts, in one list for all of them; an attempt that fails looks through those that came
since it began. Source: inFlightPods and inFlightEvents, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice

from restow.scheduling.framework.cluster_events import ClusterEvent


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
