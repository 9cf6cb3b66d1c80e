"""What has happened in a namespace, in a form in which the real control plane and a simulation can be compared.

A history is a list of moments: what happened close together, as a multiset, and the pictures of all objects that were to
be seen then and for a while. The simulation says which moments there are, because in virtual time they are apart by what
kubelets take; the real one must go through the same moments in the same order. Within a moment the real controllers are
free to be faster or slower than one another.

Left out is what both make up: times, uids, generated names and hashes. A pod is known by its owner, its images, and its
ordinal or index if it has one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from builders import Object

#: What happened: the word, and to whom.
Happening = tuple[Any, ...]
Picture = dict[str, list[Any]]

#: By kind, what of a status is compared.
_STATUS = {
    "Deployment": (
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "observedGeneration",
    ),
    "ReplicaSet": ("replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"),
    "ReplicationController": ("replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"),
    "StatefulSet": (
        "replicas",
        "readyReplicas",
        "availableReplicas",
        "updatedReplicas",
        "currentReplicas",
        "observedGeneration",
    ),
    "DaemonSet": (
        "currentNumberScheduled",
        "desiredNumberScheduled",
        "numberReady",
        "numberAvailable",
        "numberUnavailable",
        "updatedNumberScheduled",
        "numberMisscheduled",
        "observedGeneration",
    ),
    "Job": ("active", "succeeded", "failed", "ready", "terminating"),
    "CronJob": (),
    "PodDisruptionBudget": (
        "disruptionsAllowed",
        "currentHealthy",
        "desiredHealthy",
        "expectedPods",
        "observedGeneration",
    ),
}
#: The kinds whose objects are watched; all but nodes are in a namespace.
KINDS = (*_STATUS, "ControllerRevision", "Pod", "Node")
#: Those that controllers make.
_MADE = ("ReplicaSet", "ControllerRevision", "Job")
#: Reasons that say the same. A Deployment has the first one until the first time that its new pods are more than before;
#: what was before are the pods of the old template if the ReplicaSet was faster than the Deployment's own status.
_SAME = {"NewReplicaSetCreated": "ReplicaSetUpdated"}
_REVISION = "deployment.kubernetes.io/revision"
#: The label of what is named after its template.
_HASH = "pod-template-hash"
_INDEX = "batch.kubernetes.io/job-completion-index"
#: The label of the nodes that belong to one scene; its value is the namespace.
SCENE = "scene"


@dataclass(slots=True, frozen=True)
class Change:
    """An object came (without ``old``), changed, or went (without ``new``); ``version`` orders all changes."""

    version: int
    kind: str
    old: Object | None
    new: Object | None
    #: In seconds; only those of simulations count.
    time: float = 0.0

    @property
    def uid(self) -> str:
        """Of the object."""
        return str((self.new or self.old or {})["metadata"]["uid"])


@dataclass(slots=True)
class Moment:
    """What happened close together, and what there was to be seen then, one after the other."""

    happenings: Counter[Happening] = field(default_factory=Counter)
    pictures: list[Picture] = field(default_factory=list)


@dataclass(slots=True, frozen=True)
class Form:
    """What of a history is compared."""

    #: Whether only one placement is right, so that nodes count.
    placed: bool = False
    #: Kinds that are left out.
    silent: frozenset[str] = frozenset()
    #: Whether the generations of ReplicaSets count. Not where several pods get ready at one moment: the real Deployment
    #: controller may see them one by one, and then takes more steps.
    generations: bool = True


def moments(changes: Iterable[Change], form: Form, quiet: float = 0.5) -> list[Moment]:
    """The moments of a simulation, which are apart by at least so many seconds without any change."""
    found: list[Moment] = []
    objects: dict[tuple[str, str], Object] = {}
    last = None
    for change in changes:
        if last is None or change.time - last >= quiet:
            _close(found, objects, form)
            found.append(Moment())
        last = change.time
        found[-1].happenings.update(happenings(change, form))
        _apply(objects, change)
    _close(found, objects, form)
    return _joined(found)


def _close(found: list[Moment], objects: Mapping[tuple[str, str], Object], form: Form) -> None:
    if found:
        found[-1].pictures.append(picture(objects.values(), form))


def _joined(found: Iterable[Moment]) -> list[Moment]:
    """Where nothing happened, there is only more to be seen of the moment before, if anything."""
    joined: list[Moment] = []
    for each in found:
        if joined and not each.happenings:
            if each.pictures != joined[-1].pictures[-1:]:
                joined[-1].pictures += each.pictures
        else:
            joined.append(each)
    return joined


def difference(expected: Sequence[Moment], changes: Sequence[Change], form: Form) -> str:
    """Where the real history departs from the expected one, for people; empty where it does not."""
    rest = list(changes)
    objects: dict[tuple[str, str], Object] = {}
    for number, moment in enumerate(expected, 1):
        told = _consume(moment, rest, objects, form)
        if told:
            return f"in moment {number} of {len(expected)}, {told}"
    if rest:
        return f"after the last moment there is more: {list(happenings(rest[0], form))}"
    return ""


def _consume(moment: Moment, rest: list[Change], objects: dict[tuple[str, str], Object], form: Form) -> str:
    """Take the changes of a moment off the rest; what is wrong with them."""
    wanted = moment.happenings.copy()
    while +wanted:
        if not rest:
            return f"these are missing: {_told(+wanted)}"
        change = rest.pop(0)
        for each in happenings(change, form):
            if wanted[each] <= 0:
                return f"{each} came, and expected was: {_told(+wanted)}\nof {_told(moment.happenings)}"
            wanted[each] -= 1
        _apply(objects, change)
    seen = [picture(objects.values(), form)]
    while rest and not list(happenings(rest[0], form)):
        _apply(objects, rest.pop(0))
        seen.append(picture(objects.values(), form))
    return _missing(moment.pictures, seen)


def _missing(expected: Sequence[Picture], seen: Sequence[Picture]) -> str:
    """The first picture that was not to be seen, in its turn."""
    remaining = iter(seen)
    for each in expected:
        if not any(each == one for one in remaining):
            return f"was not to be seen (expected, last seen):\n{compared(each, seen[-1])}"
    return ""


def compared(expected: Picture, seen: Picture) -> str:
    """Two pictures, where they differ."""
    lines = []
    for kind in sorted({*expected, *seen}):
        ours, theirs = (Counter(map(repr, each.get(kind, ()))) for each in (expected, seen))
        lines += [f"  - {kind} {each}" for each in sorted((ours - theirs).elements())]
        lines += [f"  + {kind} {each}" for each in sorted((theirs - ours).elements())]
    return "\n".join(lines)


def _told(happened: Counter[Happening]) -> str:
    return "; ".join(f"{count} x {each}" for each, count in sorted(happened.items(), key=repr)) or "nothing"


def _apply(objects: dict[tuple[str, str], Object], change: Change) -> None:
    if change.new is None:
        objects.pop((change.kind, change.uid), None)
    else:
        objects[change.kind, change.uid] = change.new


def happenings(change: Change, form: Form) -> Iterator[Happening]:
    """What a change tells: of pods every step of their lives, of what controllers make that it comes and goes."""
    old, new = change.old, change.new
    if change.kind in form.silent or change.kind not in ("Pod", *_MADE):
        return
    told: Object = new or old or {}
    who = _pod(told, form) if change.kind == "Pod" else (change.kind, *_made(told))
    if old is None:
        yield ("created", *who)
    if change.kind == "Pod" and new is not None:
        before, after = _steps(old), _steps(new)
        yield from ((each, *who) for each in after if each not in before)
        if "ready" in before and "ready" not in after and "terminating" not in after:
            yield ("unready", *who)
    if new is None:
        if change.kind == "Pod" and "terminating" not in _steps(old):
            # The API server writes down that a pod is being deleted also if it deletes it at once; the simulation does not.
            yield ("terminating", *who)
        yield ("gone", *who)


def _steps(pod: Object | None) -> list[str]:
    """How far a pod has come."""
    if pod is None:
        return []
    status = pod.get("status", {})
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", ()))
    steps = {
        "bound": "nodeName" in pod["spec"],
        "terminating": "deletionTimestamp" in pod["metadata"],
        "ready": ready,
        status.get("phase") or "Pending": True,
    }
    return [name for name, taken in steps.items() if taken and name != "Pending"]


def picture(objects: Iterable[Object], form: Form) -> Picture:
    """Everything that is there, and what is reported of it."""
    found: Picture = {}
    for each in objects:
        kind = each["kind"]
        if kind in form.silent:
            continue
        told = {"Pod": _pod_now, "Node": _node_now, "ControllerRevision": _revision_now}.get(kind, _workload_now)
        found.setdefault(kind, []).append(told(each, form))
    return {kind: sorted(told, key=repr) for kind, told in found.items()}


def _pod(pod: Object, form: Form) -> tuple[Any, ...]:
    """Which pod it is."""
    metadata, spec = pod["metadata"], pod["spec"]
    owner = _owner(pod)
    kind = owner.get("kind", "")
    named = (
        metadata["name"]
        if kind == "StatefulSet" or "generateName" not in metadata
        else metadata.get("labels", {}).get("app", "")
    )
    index = metadata.get("annotations", {}).get(_INDEX)
    node = (spec.get("nodeName"),) if form.placed else ()
    return (kind, named, *(() if index is None else (int(index),)), _images(spec), *node)


def _pod_now(pod: Object, form: Form) -> tuple[Any, ...]:
    status = pod.get("status", {})
    # Of a node with a new taint, the controller of a DaemonSet and taint eviction both delete the pod.
    told = () if _owner(pod).get("kind") == "DaemonSet" else status.get("conditions", ())
    disrupted = [each.get("reason") for each in told if each["type"] == "DisruptionTarget"]
    restarts = max((each.get("restartCount", 0) for each in status.get("containerStatuses") or ()), default=0)
    return (*_pod(pod, form), status.get("phase") or "Pending", sorted(_steps(pod)), disrupted, restarts)


def _node_now(node: Object, _: Form) -> tuple[Any, ...]:
    spec = node["spec"]
    taints = sorted((each["key"], each["effect"]) for each in spec.get("taints") or ())
    ready = [each["status"] for each in node["status"].get("conditions", ()) if each["type"] == "Ready"]
    return node["metadata"]["name"], bool(spec.get("unschedulable")), taints, ready


def _revision_now(revision: Object, _: Form) -> tuple[Any, ...]:
    return (*_made(revision), revision["revision"])


def _workload_now(each: Object, form: Form) -> Object:
    kind, status, spec = each["kind"], each.get("status", {}), each["spec"]
    told: Object = {name: status.get(name, 0) for name in _STATUS[kind]}
    told["name"] = _made(each) if kind in _MADE else each["metadata"]["name"]
    told["conditions"] = sorted(
        (one["type"], one["status"], _SAME.get(one.get("reason", ""), one.get("reason", "")))
        for one in status.get("conditions") or ()
    )
    told["going"] = "deletionTimestamp" in each["metadata"]
    if kind == "ReplicaSet" and form.generations:
        told["generation"] = each["metadata"]["generation"]
    return told | _OF_KIND.get(kind, lambda *_: {})(each, spec, status)


def _of_deployment(each: Object, _: Object, __: Object) -> Object:
    return _revision(each)


def _of_replica_set(each: Object, spec: Object, _: Object) -> Object:
    return _revision(each) | {"wanted": spec.get("replicas", 1)}


def _of_stateful_set(_: Object, __: Object, status: Object) -> Object:
    return {"updated": status.get("currentRevision") == status.get("updateRevision")}


def _of_job(_: Object, __: Object, status: Object) -> Object:
    return {name: status.get(name, "") for name in ("completedIndexes", "failedIndexes")} | {
        name: name in status for name in ("startTime", "completionTime")
    }


def _of_cron_job(_: Object, __: Object, status: Object) -> Object:
    times = {name: name in status for name in ("lastScheduleTime", "lastSuccessfulTime")}
    return {"active": len(status.get("active") or ())} | times


def _of_budget(_: Object, __: Object, status: Object) -> Object:
    return {"disrupted": len(status.get("disruptedPods") or ())}


_OF_KIND = {
    "Deployment": _of_deployment,
    "ReplicaSet": _of_replica_set,
    "StatefulSet": _of_stateful_set,
    "Job": _of_job,
    "CronJob": _of_cron_job,
    "PodDisruptionBudget": _of_budget,
}


def _revision(each: Object) -> Object:
    return {"revision": each["metadata"].get("annotations", {}).get(_REVISION, "")}


def _made(each: Object) -> tuple[str, ...]:
    """What something is known by that a controller has made: its owner and its images; else by its name."""
    owner = _owner(each)
    if not owner and _HASH not in each["metadata"].get("labels", {}):
        return (each["metadata"]["name"],)
    spec = each["data"]["spec"] if each["kind"] == "ControllerRevision" else each["spec"]
    return (owner.get("name", ""), _images(spec["template"]["spec"]))


def _owner(each: Object) -> Object:
    owners = each["metadata"].get("ownerReferences") or ()
    return next((one for one in owners if one.get("controller")), {})


def _images(spec: Object) -> str:
    return ",".join(each.get("image", "") for each in spec.get("containers") or ())
