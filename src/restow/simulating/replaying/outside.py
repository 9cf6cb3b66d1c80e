"""Which recorded changes came from outside, as events: what people, pipelines, machines and other deschedulers did.

Everything that a simulated controller, scheduler or kubelet does is left out, because it happens again by itself: the pods
and ReplicaSets of workloads, where pods land, what follows from a node that is silent. Of a drain all evictions are one
event: the whole node is drained. A pod that was not evicted and that its controller had no reason to delete was
deleted by somebody. Taints that follow from the state of a node, and those of restow, are not from outside either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from restow.kube.duration import MILLISECOND
from restow.kube.manifests import manifest_of
from restow.live.reading import METRICS
from restow.recordings.reading import Document, RecordedChange, RecordedSpan
from restow.simulating.replaying.deletions import OwnedPods
from restow.simulating.replaying.documents import (
    RecordedObjects,
    condition,
    disruption,
    is_mirror,
    is_over,
    is_terminating,
    is_true,
    metadata_of,
    node_of,
    reference_to,
    spec_of,
    status_of,
    uid_of,
)
from restow.simulating.replaying.drains import Drains, drains_of, is_evicted
from restow.simulating.replaying.events import (
    DeletePod,
    EvictPod,
    PodOfWorkload,
    RemoveObject,
    Replace,
    ReturnNode,
    is_from_outside,
)
from restow.simulating.replaying.start_times import StartTimes
from restow.simulating.scenarios.events import Action, Drain, FailNode, TimedEvent
from restow.simulating.scenarios.references import DEFAULT_NAMESPACE, NodeChoice, Reference

#: Kinds of which only the beginning is replayed: others write them, or nothing simulated reads their changes.
_STILL: Final = frozenset(
    (
        *METRICS,
        "ControllerRevision",
        "ResourceClaim",
        "ResourceSlice",
        "DeviceClass",
        "DeviceTaintRule",
        "VolumeAttachment",
    )
)
#: Kinds whose status simulated controllers write.
_OWN_STATUS: Final = frozenset(
    (
        "CronJob",
        "DaemonSet",
        "Deployment",
        "Job",
        "PodDisruptionBudget",
        "ReplicaSet",
        "ReplicationController",
        "StatefulSet",
    )
)
#: Fields of metadata and annotations that controllers write, or that follow from a change.
_FOLLOWING: Final = frozenset(("generation", "deletionTimestamp", "deletionGracePeriodSeconds", "finalizers"))
_WRITTEN: Final = ("deployment.kubernetes.io/",)
#: What the control plane says of a node from which it hears nothing.
_SILENT: Final = "Unknown"


@dataclass(slots=True)
class OutsideEvents:
    """Goes through the changes of a recording in their order."""

    span: RecordedSpan
    objects: RecordedObjects
    times: StartTimes
    #: Nanoseconds since the epoch: when the run begins.
    begins: int
    _deleted: set[str] = field(default_factory=set)
    _owned: OwnedPods = field(init=False)
    _drains: Drains = field(init=False)

    def __post_init__(self) -> None:
        """Begin with no pods."""
        self._owned, self._drains = OwnedPods(self.objects), drains_of(self.span)

    def all(self) -> Iterator[TimedEvent]:
        """Yield the events, by time."""
        for each in self.span.start:
            self._owned.take(None, each)
        for change in self.span.changes:
            for word, text, action in self._of(change):
                yield TimedEvent(change.at * MILLISECOND - self.begins, word, action, (), text)
            self._owned.take(change.old, change.new)

    def _of(self, change: RecordedChange) -> Iterator[tuple[str, str, Action]]:
        kind = change.key[0]
        if kind in _STILL:
            return
        if kind == "Node":
            yield from self._of_node(change)
        elif kind == "Pod":
            yield from self._of_pod(change)
        elif not self.objects.is_made(_known(change)):
            yield from self._of_object(change)

    def _of_object(self, change: RecordedChange) -> Iterator[tuple[str, str, Action]]:
        old, new = change.old, change.new
        target, uid = reference_to(_known(change)), uid_of(_known(change))
        name = _title(target)
        if is_terminating(new):
            if uid not in self._deleted and not is_terminating(old):
                self._deleted.add(uid)
                yield "delete", f"delete {name}", RemoveObject(target)
        elif new is not None and (old is None or _written(old) != _written(new)):
            word, text = ("apply", f"create {name}") if old is None else _change_text(name, old, new)
            yield word, text, Replace(self._manifest(new))

    def _of_node(self, change: RecordedChange) -> Iterator[tuple[str, str, Action]]:
        old, new, name = change.old, change.new, change.key[2]
        if new is None:
            yield "delete", f"delete node/{name}", RemoveObject(reference_to(_known(change)))
            return
        if old is None or _written_of_node(old) != _written_of_node(new):
            word, text = ("apply", f"create node/{name}") if old is None else _node_text(name, old, new)
            yield word, text, Replace(self._manifest(new))
        was, now = (condition(each, "Ready").get("status") for each in (old, new))
        if old is not None and now == _SILENT and was != _SILENT:
            yield "failNode", f"{name} is silent", FailNode(NodeChoice(name))
        elif was == _SILENT and now != _SILENT:
            yield "restartNode", f"{name} is back", ReturnNode(NodeChoice(name))

    def _of_pod(self, change: RecordedChange) -> Iterator[tuple[str, str, Action]]:
        old, new = change.old, change.new
        pod = _known(change)
        if is_evicted(old, new):
            self._deleted.add(uid_of(pod))
            yield from self._evicted(pod)
        elif is_terminating(new) and not is_terminating(old):
            yield from self._gone(change, pod)
        elif old is None and new is not None and not self.objects.is_made(new):
            yield "apply", f"create {_title(reference_to(new))}", Replace(self._manifest(self._born(new)))

    def _evicted(self, pod: Document) -> Iterator[tuple[str, str, Action]]:
        node, uid = node_of(pod), uid_of(pod)
        if uid not in self._drains.all:
            yield "evict", "", EvictPod(self._choice(pod))
        elif uid in self._drains.first:
            yield "drain", f"drain {node}", Drain(NodeChoice(node))

    def _gone(self, change: RecordedChange, pod: Document) -> Iterator[tuple[str, str, Action]]:
        """The deletion of a pod begins that was not evicted."""
        uid = uid_of(pod)
        if uid in self._deleted or disruption(change.new) or disruption(change.old):
            return
        if not self.objects.is_made(pod):
            self._deleted.add(uid)
            yield "delete", f"delete {_title(reference_to(pod))}", DeletePod(self._choice(pod))
        elif not is_over(pod) and not self._owned.may_delete(change.at, pod):
            yield "delete", f"delete {_title(reference_to(pod))}", DeletePod(self._choice(pod))

    def _choice(self, pod: Document) -> PodOfWorkload:
        workload = self.objects.workload_of(pod)
        return PodOfWorkload(reference_to(pod), None if workload.kind == "Pod" else workload, node_of(pod))

    def _born(self, pod: Document) -> Document:
        """A pod as it came: a scheduler binds it, unless it has never been without its node."""
        if is_mirror(pod):
            return pod
        spec = {name: value for name, value in spec_of(pod).items() if name != "nodeName"}
        return pod | {"spec": spec, "status": {}}

    def _manifest(self, document: Document) -> Any:
        return manifest_of(self.times.annotated(document, self.objects))


def _known(change: RecordedChange) -> Document:
    found = change.new or change.old
    assert found is not None
    return found


def _written(document: Document) -> Document:
    """What people write of an object: its labels, annotations and spec."""
    left = {"status", "metadata"} if document["kind"] in _OWN_STATUS else {"metadata"}
    metadata = {name: value for name, value in metadata_of(document).items() if name not in _FOLLOWING}
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {name: value for name, value in annotations.items() if not name.startswith(_WRITTEN)}
    return {name: value for name, value in document.items() if name not in left} | {"metadata": metadata}


def _written_of_node(node: Document) -> Document:
    status, spec = status_of(node), spec_of(node)
    taints = [each for each in spec.get("taints") or () if is_from_outside(str(each.get("key")))]
    own = {name: status.get(name) for name in ("allocatable", "capacity")}
    own["conditions"] = sorted((each.get("type"), each.get("status")) for each in status.get("conditions") or ())
    written = _written(node | {"status": own})
    return written | {"spec": spec | {"taints": taints, "unschedulable": bool(spec.get("unschedulable"))}}


def _title(name: Reference) -> str:
    """How a scenario names an object."""
    namespace = "" if name.namespace == DEFAULT_NAMESPACE else name.namespace
    return "/".join(filter(None, (name.kind.lower(), namespace, name.name)))


def _node_text(name: str, old: Document, new: Document) -> tuple[str, str]:
    was, now = (bool(spec_of(each).get("unschedulable")) for each in (old, new))
    if was != now:
        word = "cordon" if now else "uncordon"
        return word, f"{word} {name}"
    if is_true(old, "Ready") != is_true(new, "Ready"):
        return "apply", f"{name} is {'ready' if is_true(new, 'Ready') else 'not ready'}"
    return "apply", f"change node/{name}"


def _change_text(name: str, old: Document, new: Document) -> tuple[str, str]:
    before, after = (spec_of(each).get("replicas", 1) for each in (old, new))
    if before != after:
        return "scale", f"scale {name} to {after}"
    if spec_of(old).get("template") != spec_of(new).get("template"):
        return "apply", f"roll out {name}"
    return "apply", f"change {name}"
