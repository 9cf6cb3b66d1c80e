"""A part of a recording, ready to be simulated: its beginning, and what came from outside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from restow.cluster.snapshot import ClusterStore
from restow.kube.duration import MILLISECOND
from restow.kube.manifests import Manifest, manifest_of
from restow.kube.timestamps import SECOND
from restow.live.reading import METRICS
from restow.recordings.reading import Document, ObjectKey, RecordedChange, RecordedSpan
from restow.simulating.kubelets import KubeletSettings
from restow.simulating.replaying.documents import RecordedObjects, is_over, is_terminating, key_of
from restow.simulating.replaying.events import EvictPod
from restow.simulating.replaying.outside import OutsideEvents
from restow.simulating.replaying.start_times import start_times
from restow.simulating.replaying.usage import usage_events
from restow.simulating.scenarios.events import TimedEvent
from restow.simulating.scenarios.folder import read_object


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
    #: The objects that cannot be read and are left out, a sentence each.
    left_out: tuple[str, ...] = ()

    def counts(self) -> Mapping[str, int]:
        """How many events there are of each kind, the most frequent first."""
        return dict(Counter(each.word for each in self.events).most_common())


def replay_of(span: RecordedSpan) -> ReplayedSpan:
    """Return what is replayed of a recording; objects that cannot be read are left out, with all their changes."""
    span, left_out = _readable(span)
    begins = span.begins * MILLISECOND // SECOND * SECOND
    objects = RecordedObjects.of(span)
    times = start_times(span, objects)
    # What was measured is said of workloads.
    start = [each for each in span.start if each["kind"] not in METRICS and not _is_done(each)]
    return ReplayedSpan(
        span=span,
        begins=begins,
        duration=span.ends * MILLISECOND - begins,
        start=tuple(manifest_of(times.annotated(each, objects)) for each in start),
        events=(*usage_events(span, objects, begins), *OutsideEvents(span, objects, times, begins).all()),
        kubelets=times.kubelets,
        left_out=left_out,
    )


def _readable(span: RecordedSpan) -> tuple[RecordedSpan, tuple[str, ...]]:
    """The part of a recording that can be read, and what is wrong with the rest of it."""
    readable = ClusterStore()
    wrong: dict[ObjectKey, str] = {}
    coming = ((each.key, each.new) for each in span.changes if each.new is not None and _is_another(each))
    for key, document in (*((key_of(each), each) for each in span.start), *coming):
        try:
            read_object(document, readable)
        except ValueError as error:
            wrong.setdefault(key, str(error))
    if not wrong:
        return span, ()
    start = tuple(each for each in span.start if key_of(each) not in wrong)
    changes = tuple(each for each in span.changes if each.key not in wrong)
    return replace(span, start=start, changes=changes), tuple(wrong.values())


def _is_another(change: RecordedChange) -> bool:
    """Whether more has changed than a status."""
    return change.old is None or change.new is None or change.old.get("spec") != change.new.get("spec")


def without_evictions(events: Iterable[TimedEvent]) -> tuple[TimedEvent, ...]:
    """The events without the evictions of others: another descheduler decides now."""
    return tuple(each for each in events if not isinstance(each.action, EvictPod))


def _is_done(document: Document) -> bool:
    """Whether a pod has ended and is being deleted: nothing would delete it again."""
    return document["kind"] == "Pod" and is_over(document) and is_terminating(document)
