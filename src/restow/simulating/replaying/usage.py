"""What recorded pods and nodes used, as events: for each reading of metrics.k8s.io one.

The pods of a simulated workload are others than the recorded ones. So each of them uses what the recorded ones of its
workload used on average, and a node uses what its pods do, and in addition what it used beyond its pods.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from restow.kube.duration import MILLISECOND
from restow.kube.quantity import parse_quantity
from restow.recordings.reading import Document, ObjectKey, RecordedSpan
from restow.simulating.replaying.documents import RecordedObjects, key_of, node_of
from restow.simulating.replaying.events import SetAverageUsage
from restow.simulating.scenarios.events import TimedEvent
from restow.simulating.scenarios.references import Reference
from restow.simulating.scenarios.usage import Amounts

_WORD: Final = "setUsage"
_READ: Final = ("Pod", "PodMetrics", "NodeMetrics")
#: Milliseconds within which changes are those of one reading.
_ONE_READING: Final = 5_000


def usage_events(span: RecordedSpan, objects: RecordedObjects, begins: int) -> Iterator[TimedEvent]:
    """Yield the readings, by time; ``begins`` is the start of the run, in nanoseconds since the epoch."""
    readings = _Readings(objects)
    for each in span.start:
        readings.take(key_of(each), each, span.begins)
    for change in span.changes:
        if readings.since is not None and change.at > readings.since + _ONE_READING:
            yield from readings.event(begins)
        readings.take(change.key, change.new, change.at)
    yield from readings.event(begins)


@dataclass(slots=True)
class _Readings:
    """What is measured now, and whether that is new."""

    objects: RecordedObjects
    #: When the first change came that is in no event yet, in milliseconds.
    since: int | None = None
    _known: dict[ObjectKey, Document] = field(default_factory=dict)
    _said: dict[Reference, Amounts] = field(default_factory=dict)

    def take(self, key: ObjectKey, new: Document | None, at: int) -> None:
        """Take in a change."""
        if key[0] not in _READ:
            return
        if new is None:
            self._known.pop(key, None)
        else:
            self._known[key] = new
        if key[0] != "Pod" and new is not None and self.since is None:
            self.since = at

    def event(self, begins: int) -> Iterator[TimedEvent]:
        """Yield what has changed since the last event, if anything has."""
        if self.since is None:
            return
        at, self.since = self.since, None
        news = {name: amounts for name, amounts in self._usage() if self._said.get(name) != amounts}
        self._said |= news
        if news:
            yield TimedEvent(max(at * MILLISECOND - begins, 0), _WORD, SetAverageUsage(news))

    def _usage(self) -> Iterator[tuple[Reference, Amounts]]:
        workloads: defaultdict[Reference, list[Amounts]] = defaultdict(list)
        nodes: defaultdict[str, list[Amounts]] = defaultdict(list)
        for (kind, namespace, name), metrics in self._known.items():
            pod = self._known.get(("Pod", namespace, name)) if kind == "PodMetrics" else None
            if pod is not None:
                used = _sum(_amounts(each) for each in metrics.get("containers") or ())
                workloads[self.objects.workload_of(pod)].append(used)
                nodes[node_of(pod)].append(used)
        for workload, found in workloads.items():
            yield workload, {resource: total // len(found) for resource, total in _sum(found).items()}
        for (kind, _, name), metrics in self._known.items():
            if kind == "NodeMetrics":
                of_pods = _sum(nodes[name])
                own = {each: max(amount - of_pods.get(each, 0), 0) for each, amount in _amounts(metrics).items()}
                yield Reference("Node", "", name), own


def _amounts(metrics: Document) -> Amounts:
    return {resource: parse_quantity(str(text)).nano for resource, text in (metrics.get("usage") or {}).items()}


def _sum(amounts: Iterable[Amounts]) -> Mapping[str, int]:
    total: defaultdict[str, int] = defaultdict(int)
    for each in amounts:
        for resource, amount in each.items():
            total[resource] += amount
    return total
