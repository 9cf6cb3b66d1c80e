"""A part of a recording, ready to be simulated: its beginning, and what came from outside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from restow.cluster.snapshot import ClusterStore
from restow.kube.duration import MILLISECOND
from restow.kube.manifests import Manifest
from restow.kube.timestamps import SECOND
from restow.recordings.reading import Document, RecordedSpan
from restow.simulating.kubelets import KubeletSettings
from restow.simulating.replaying.documents import RecordedObjects, is_over, is_terminating
from restow.simulating.replaying.events import EvictPod
from restow.simulating.replaying.outside import OutsideEvents
from restow.simulating.replaying.start_times import start_times
from restow.simulating.replaying.usage import usage_events
from restow.simulating.scenarios.events import TimedEvent
from restow.simulating.scenarios.folder import read_object

#: What is measured is said of workloads.
_LEFT_OUT: Final = frozenset(("NodeMetrics", "PodMetrics"))


@dataclass(slots=True, frozen=True)
class ReplayedSpan:
    """What a simulation needs of a recording."""

    span: RecordedSpan
    #: Nanoseconds since the epoch: a whole second, as objects have times.
    begins: int
    #: Nanoseconds.
    duration: int
    start: tuple[Manifest, ...]
    events: tuple[TimedEvent, ...]
    kubelets: KubeletSettings

    def counts(self) -> Mapping[str, int]:
        """How many events there are of each kind, the most frequent first."""
        return dict(Counter(each.word for each in self.events).most_common())


def replay_of(span: RecordedSpan) -> ReplayedSpan:
    """Return what is replayed of a recording; ValueError names an object that cannot be read."""
    begins = span.begins * MILLISECOND // SECOND * SECOND
    objects = RecordedObjects.of(span)
    times = start_times(span, objects)
    readable = ClusterStore()

    def manifest(document: Document) -> Any:
        return read_object(times.annotated(document, objects), readable).manifest

    return ReplayedSpan(
        span=span,
        begins=begins,
        duration=span.ends * MILLISECOND - begins,
        start=tuple(manifest(each) for each in span.start if each["kind"] not in _LEFT_OUT and not _is_done(each)),
        events=(*usage_events(span, objects, begins), *OutsideEvents(span, objects, times, begins).all()),
        kubelets=times.kubelets,
    )


def without_evictions(events: Iterable[TimedEvent]) -> tuple[TimedEvent, ...]:
    """The events without the evictions of others: another descheduler decides now."""
    return tuple(each for each in events if not isinstance(each.action, EvictPod))


def _is_done(document: Document) -> bool:
    """Whether a pod has ended and is being deleted: nobody would delete it again."""
    return document["kind"] == "Pod" and is_over(document) and is_terminating(document)
