"""The recorded past as a run: its changes go through the observer that watches simulated clusters.

So both are counted by the same code, and what differs between them is what differs between the past and its simulation.
Nothing acts here: every change is written as it was recorded, at its time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from restow.kube.duration import MILLISECOND
from restow.kube.manifests import Pod, manifest_of
from restow.live.reading import METRICS
from restow.recordings.reading import Document, RecordedChange, RecordedSpan
from restow.simulating.replaying.drains import Drains, drains_of, is_evicted
from restow.simulating.replaying.events import OTHERS
from restow.simulating.scenarios.events import DRAIN
from restow.simulating.scenarios.judging import Judge
from restow.simulating.scenarios.observing import RunObserver
from restow.simulating.scenarios.run_record import RunRecord, RunRecorder
from restow.simulating.virtual_cluster import VirtualCluster


def recorded_run(span: RecordedSpan, begins: int, end: int) -> RunRecord:
    """Return what happened in a recording until a time; both in nanoseconds since the epoch.

    ValueError for an object that cannot be read.
    """
    simulation = VirtualCluster.at(begins, 1, span.server_minor)
    recorder = RunRecorder()
    observer = RunObserver(simulation, Judge(()), [recorder.observe])
    _Past(simulation, observer, drains_of(span)).enter(span)
    simulation.clock.run(end)
    observer.finish()
    return recorder.finish(end - begins)


@dataclass(slots=True)
class _Past:
    """Writes what was recorded."""

    simulation: VirtualCluster
    observer: RunObserver
    drains: Drains

    def enter(self, span: RecordedSpan) -> None:
        """Write the beginning now, and each change at its time."""
        self._load(each for each in span.start if each["kind"] != "Pod")
        self._load(each for each in span.start if each["kind"] == "Pod")
        clock = self.simulation.clock
        for change in span.changes:
            if change.key[0] not in METRICS:
                clock.at(max(change.at * MILLISECOND, clock.now), partial(self._write, change))

    def _load(self, documents: Iterable[Document]) -> None:
        for each in documents:
            if each["kind"] not in METRICS:
                self.simulation.store.load(manifest_of(each))

    def _write(self, change: RecordedChange) -> None:
        store = self.simulation.store
        kind, namespace, name = change.key
        if change.new is None:
            store.forget(kind, namespace, name)
            return
        if kind == "Pod" and is_evicted(change.old, change.new):
            pod: Pod | None = store.get("Pod", namespace, name)
            if pod is not None:
                self.observer.evicted(pod, (DRAIN if pod.metadata.uid in self.drains.all else OTHERS,))
        store.load(manifest_of(change.new))
