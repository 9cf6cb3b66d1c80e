"""How long recorded pods took to start, to be ready, to end and to go; as annotations of what the pods are made of.

Each workload has the medians of its own pods, and the run the medians of all: a pod without an example takes those. Pods
that are to end, and of which none was seen to, run beyond the end of the recording.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from msgspec import structs

from restow.kube.duration import MILLISECOND
from restow.recordings.reading import Document, RecordedSpan
from restow.simulating.kubelets import DELETE_DELAY, EXIT_CODE, READY_DELAY, RUN_FOR, START_DELAY, KubeletSettings
from restow.simulating.replaying.documents import (
    RecordedObjects,
    is_over,
    is_terminating,
    is_true,
    metadata_of,
    node_of,
    status_of,
)
from restow.simulating.scenarios.references import Reference

#: Milliseconds by annotation.
_Times = Mapping[str, float]
#: Kinds that have templates, and pods, which are made of them.
_MADE_OF: Final = (
    "Pod",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "ControllerRevision",
)


@dataclass(slots=True)
class _PodCourse:
    """When what happened to a pod, in milliseconds since the epoch; None is not, or before the recording."""

    bound: int | None = None
    started: int | None = None
    ready: int | None = None
    over: int | None = None
    deleted: int | None = None
    gone: int | None = None
    failed: bool = False


@dataclass(slots=True, frozen=True)
class StartTimes:
    """What the pods of a recording took."""

    by_workload: Mapping[Reference, _Times]
    #: Of pods without an example.
    kubelets: KubeletSettings

    def annotated(self, document: Document, objects: RecordedObjects) -> Document:
        """Return an object whose pods take as long as the recorded ones of its workload."""
        if document["kind"] not in _MADE_OF:
            return document
        times = self.by_workload.get(objects.workload_of(document), {})
        texts = {name: _text(name, value) for name, value in times.items()}
        return _annotated(document, texts) if texts else document


def start_times(span: RecordedSpan, objects: RecordedObjects) -> StartTimes:
    """Measure what the pods of a recording took."""
    courses = _courses(span, objects)
    by_workload = {workload: _medians(pods) for workload, pods in courses.items()}
    everything = _medians(each for pods in courses.values() for each in pods)
    found = {
        name: round(everything[annotation] * MILLISECOND)
        for name, annotation in (("start", START_DELAY), ("ready", READY_DELAY), ("delete", DELETE_DELAY))
        if annotation in everything
    }
    endless = (span.ends - span.begins) * MILLISECOND
    return StartTimes(by_workload, structs.replace(KubeletSettings(run=endless), **found))


def _courses(span: RecordedSpan, objects: RecordedObjects) -> Mapping[Reference, Sequence[_PodCourse]]:
    pods: dict[str, _PodCourse] = {}
    workloads: defaultdict[Reference, list[_PodCourse]] = defaultdict(list)
    for change in span.changes:
        known = change.new or change.old
        if known is None or known["kind"] != "Pod":
            continue
        uid = metadata_of(known).get("uid", "")
        if uid not in pods:
            pods[uid] = _PodCourse()
            workloads[objects.workload_of(known)].append(pods[uid])
        _note(pods[uid], change.at, change.old, change.new)
    return workloads


def _note(course: _PodCourse, at: int, old: Document | None, new: Document | None) -> None:
    if new is None:
        course.gone = at
        return
    if old is not None and not node_of(old) and node_of(new):
        course.bound = at
    if not _is_running(old) and _is_running(new):
        course.started = at
    if not is_true(old, "Ready") and is_true(new, "Ready") and course.ready is None:
        course.ready = at
    if not is_over(old) and is_over(new) and not is_terminating(new):
        course.over, course.failed = at, status_of(new).get("phase") == "Failed"
    if old is not None and not is_terminating(old) and is_terminating(new):
        course.deleted = at


def _is_running(pod: Document | None) -> bool:
    return pod is not None and status_of(pod).get("phase") == "Running"


def _medians(pods: Iterable[_PodCourse]) -> _Times:
    known: defaultdict[str, list[float]] = defaultdict(list)
    for each in pods:
        begun = each.started if each.started is not None else each.ready
        for name, since, until in (
            (START_DELAY, each.bound, begun),
            (READY_DELAY, begun, each.ready),
            (RUN_FOR, each.ready if each.ready is not None else begun, each.over),
            (DELETE_DELAY, each.deleted, each.gone),
        ):
            if since is not None and until is not None:
                known[name].append(max(until - since, 0))
        if each.over is not None:
            known[EXIT_CODE].append(float(each.failed))
    return {name: median(values) for name, values in known.items()}


def _text(name: str, value: float) -> str:
    return str(round(value)) if name == EXIT_CODE else f"{round(value)}ms"


def _annotated(document: Document, texts: Mapping[str, str]) -> Document:
    """An object with annotations in what its pods are made of."""
    if document["kind"] == "Pod":
        return _with_annotations(document, texts)
    if document["kind"] == "CronJob":
        return _changed(document, ("spec", "jobTemplate", "spec", "template"), texts)
    if document["kind"] == "ControllerRevision":
        return _changed(document, ("data", "spec", "template"), texts)
    return _changed(document, ("spec", "template"), texts)


def _changed(value: dict[str, Any], path: Sequence[str], texts: Mapping[str, str]) -> dict[str, Any]:
    if not path:
        return _with_annotations(value, texts)
    inner = value.get(path[0])
    return value if not isinstance(inner, dict) else value | {path[0]: _changed(inner, path[1:], texts)}


def _with_annotations(value: dict[str, Any], texts: Mapping[str, str]) -> dict[str, Any]:
    metadata = metadata_of(value)
    # What people have written of a pod comes first.
    return value | {"metadata": metadata | {"annotations": {**texts, **(metadata.get("annotations") or {})}}}
