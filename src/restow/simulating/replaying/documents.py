"""Objects of a recording, and what they say of themselves: who made them, to which workload they belong."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from restow.recordings.reading import Document, ObjectKey, RecordedSpan
from restow.simulating.api_server.changes import DISRUPTION_TARGET
from restow.simulating.scenarios.references import Reference

#: By kind, the kinds of controllers that a simulation has and that make such objects.
_MAKERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job"),
    "ReplicaSet": ("Deployment",),
    "Job": ("CronJob",),
    "ControllerRevision": ("StatefulSet", "DaemonSet"),
}


def metadata_of(document: Document) -> dict[str, Any]:
    """The metadata of an object."""
    return document.get("metadata") or {}


def uid_of(document: Document) -> str:
    """The uid of an object; empty if it has none."""
    return str(metadata_of(document).get("uid", ""))


def spec_of(document: Document) -> dict[str, Any]:
    """The spec of an object; empty if it has none."""
    return document.get("spec") or {}


def status_of(document: Document) -> dict[str, Any]:
    """The status of an object; empty if it has none."""
    return document.get("status") or {}


def node_of(pod: Document | None) -> str:
    """The node of a pod; empty while it waits for one."""
    return "" if pod is None else spec_of(pod).get("nodeName") or ""


def reference_to(document: Document) -> Reference:
    """The name of an object."""
    metadata = metadata_of(document)
    return Reference(document["kind"], metadata.get("namespace") or "", metadata["name"])


def key_of(document: Document) -> ObjectKey:
    """Kind, namespace and name of an object."""
    metadata = metadata_of(document)
    return document["kind"], metadata.get("namespace") or "", metadata["name"]


def condition(document: Document | None, kind: str) -> dict[str, Any]:
    """A condition of an object; empty if it has none of this type."""
    found = status_of(document).get("conditions") or () if document is not None else ()
    return next((each for each in found if each.get("type") == kind), {})


def is_true(document: Document | None, kind: str) -> bool:
    """Whether a condition of an object holds."""
    return condition(document, kind).get("status") == "True"


def disruption(pod: Document | None) -> str:
    """Why a pod is to go, as who deletes it has said; empty if it does not, or not for a known reason."""
    return str(condition(pod, DISRUPTION_TARGET).get("reason") or "") if is_true(pod, DISRUPTION_TARGET) else ""


def is_over(pod: Document | None) -> bool:
    """Whether a pod has succeeded or failed."""
    return pod is not None and status_of(pod).get("phase") in {"Succeeded", "Failed"}


def is_terminating(document: Document | None) -> bool:
    """Whether the deletion of an object has begun, or it is gone."""
    return document is None or bool(metadata_of(document).get("deletionTimestamp"))


def is_mirror(pod: Document) -> bool:
    """Whether a kubelet made a pod of a file."""
    return bool((metadata_of(pod).get("annotations") or {}).get("kubernetes.io/config.mirror"))


def controller_of(document: Document) -> dict[str, Any]:
    """The owner that controls an object; empty if none does."""
    owners = metadata_of(document).get("ownerReferences") or ()
    return next((each for each in owners if each.get("controller")), {})


#: By what objects of a kind are looked for.
_FOUND_BY: Final[Mapping[str, Callable[[Document], str]]] = {
    "Node": lambda node: str(metadata_of(node)["name"]),
    "ControllerRevision": lambda revision: str(controller_of(revision).get("uid", "")),
}


@dataclass(slots=True)
class RecordedObjects:
    """Every object of a part of a recording, as it was at each time."""

    #: By uid, when it changed, and to what; None is gone.
    _courses: defaultdict[str, list[tuple[int, Document | None]]] = field(default_factory=lambda: defaultdict(list))
    _last: dict[str, Document] = field(default_factory=dict)
    #: The uids of all nodes by name, and of all revisions by the uid of their controller, each with its kind.
    _found_by: defaultdict[tuple[str, str], dict[str, None]] = field(default_factory=lambda: defaultdict(dict))

    @staticmethod
    def of(span: RecordedSpan) -> RecordedObjects:
        """Collect them."""
        found = RecordedObjects()
        for each in span.start:
            found._note(span.begins, each)
        for change in span.changes:
            known = change.new or change.old
            assert known is not None
            if change.new is not None:
                found._note(change.at, change.new)
            else:
                found._courses[uid_of(known)].append((change.at, None))
        return found

    def _note(self, at: int, document: Document) -> None:
        uid, kind = uid_of(document), document["kind"]
        self._courses[uid].append((at, document))
        self._last[uid] = document
        if kind in _FOUND_BY:
            self._found_by[kind, _FOUND_BY[kind](document)][uid] = None

    def between(self, uid: str, since: int, until: int) -> Iterator[Document | None]:
        """Yield what an object was from one time to another, in milliseconds; None where it was gone."""
        course = self._courses.get(uid, [])
        first = max(bisect_right(course, since, key=lambda each: each[0]) - 1, 0)
        for at, document in course[first:]:
            if at > until:
                return
            yield document

    def found_by(self, kind: str, what: str, since: int, until: int) -> Iterator[Document | None]:
        """Yield what the nodes of a name, or the revisions of a controller's uid, were in a time, unless all of it gone."""
        for uid in self._found_by.get((kind, what), ()):
            seen = list(self.between(uid, since, until))
            if any(each is not None for each in seen):
                yield from seen

    def is_made(self, document: Document) -> bool:
        """Whether a simulated controller makes an object: its own is one, and in the recording."""
        owner = controller_of(document)
        return owner.get("kind") in _MAKERS.get(document["kind"], ()) and owner.get("uid") in self._last

    def workload_of(self, document: Document) -> Reference:
        """What people know an object by: the controller of its controllers, or itself."""
        owner = self._last.get(controller_of(document).get("uid", ""))
        return reference_to(document) if owner is None else self.workload_of(owner)
