"""Which pods their controllers may have deleted themselves, by what a recording shows of both.

What a controller does happens again in a replay by itself, so the rules are those of the simulated controllers. A pod that its
controller had no reason to delete was deleted by somebody else. Controllers of other kinds than these are taken to have a
reason always.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, cast

from restow.cluster.pod_values import PHASES, Phase
from restow.kube.manifests import StatefulSet, manifest_of
from restow.kube.objects import ObjectMeta, Workload
from restow.recordings.reading import Document
from restow.simulating.controllers.stateful_sets import may_update, next_in_update
from restow.simulating.replaying.documents import (
    RecordedObjects,
    controller_of,
    is_over,
    is_terminating,
    is_true,
    metadata_of,
    spec_of,
    status_of,
)
from restow.workloads.controllers import ControlledPod, ordinal_of, stateful_set
from restow.workloads.made_of import REVISION_HASH

#: Milliseconds by which watches of two kinds may be apart.
_APART: Final = 5_000
#: Pods that are there and not on their way out, by uid.
_Pods = Mapping[str, Document]


@dataclass(slots=True)
class OwnedPods:
    """The pods of each controller as the recording goes on."""

    objects: RecordedObjects
    #: By uid of the controller, those that are there and not on their way out.
    _active: defaultdict[str, dict[str, Document]] = field(default_factory=lambda: defaultdict(dict))

    def take(self, old: Document | None, new: Document | None) -> None:
        """Take in what an object was and is now."""
        if old is not None and old["kind"] == "Pod":
            self._beside(old).pop(_uid(old), None)
        if new is not None and new["kind"] == "Pod" and not is_terminating(new) and not is_over(new):
            self._beside(new)[_uid(new)] = new

    def _beside(self, pod: Document) -> dict[str, Document]:
        return self._active[controller_of(pod).get("uid", "")]

    def may_delete(self, at: int, pod: Document) -> bool:
        """Whether the controller of a pod may delete it now, for what it is and has at a time in milliseconds."""
        owner, pods = controller_of(pod), self._beside(pod)
        # That it was given a smaller size may be seen a moment later than what it did about it.
        seen = list(self.objects.between(owner["uid"], at, at + _APART))
        rule = _RULES.get(owner["kind"])
        if rule is None or not seen or _uid(pod) not in pods:
            return True
        return any(is_terminating(each) or each is None or _uid(pod) in rule(each, pods) for each in seen)


def _uid(document: Document) -> str:
    return str(metadata_of(document).get("uid", ""))


def _surplus(owner: Document, pods: _Pods) -> Collection[str]:
    """Any of too many pods."""
    return pods.keys() if len(pods) > spec_of(owner).get("replicas", 1) else ()


def _last_ordinals(owner: Document, pods: _Pods) -> Collection[str]:
    """The pods of a StatefulSet that it no longer wants, and the one that its update has come to."""
    found = cast("StatefulSet", manifest_of(owner | {"status": {}}))
    seen = [_controlled(each) for each in pods.values()]
    actions = stateful_set(Workload(ObjectMeta(name=found.metadata.name), found.spec), seen)
    going = {each.uid for each in actions.delete}
    return going | _next_in_update(found, owner, pods) if may_update(found, actions, seen) else going


def _next_in_update(found: StatefulSet, owner: Document, pods: _Pods) -> set[str]:
    revision = status_of(owner).get("updateRevision", "")
    by_ordinal = {ordinal_of(found.metadata.name, metadata_of(each)["name"]): each for each in pods.values()}
    seen = {ordinal: _controlled(each) for ordinal, each in by_ordinal.items() if ordinal is not None}
    turn = next_in_update(found, seen, {each for each in seen if _is_outdated(by_ordinal[each], revision)})
    return set() if turn is None else {seen[turn].uid}


def _controlled(pod: Document) -> ControlledPod:
    """A pod as its controller sees it, as far as it is recorded."""
    phase = PHASES.get(status_of(pod).get("phase", ""), Phase.UNKNOWN)
    return ControlledPod(metadata_of(pod)["name"], uid=_uid(pod), phase=phase, ready=is_true(pod, "Ready"))


def _is_outdated(pod: Document, revision: str) -> bool:
    """Whether a pod says that it has another revision."""
    return bool(revision) and (metadata_of(pod).get("labels") or {}).get(REVISION_HASH, revision) != revision


#: By kind of controller, which pods of those that it has one may delete now, by uid.
_RULES: Final[Mapping[str, Callable[[Document, _Pods], Collection[str]]]] = {
    "ReplicaSet": _surplus,
    "ReplicationController": _surplus,
    "StatefulSet": _last_ordinals,
}
