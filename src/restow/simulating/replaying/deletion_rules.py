"""What makes a simulated controller delete a pod, asked of recorded objects; one rule for each kind of controller.

A rule may say yes of a pod of which the controller would have chosen another one, but never no of one that it has deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, cast

from msgspec import Struct, structs

from restow.cluster.pod_values import PHASES, Phase
from restow.kube.duration import MILLISECOND
from restow.kube.manifests import DaemonSet, Job, Node, Pod, StatefulSet, manifest_of
from restow.kube.objects import ObjectMeta, Workload
from restow.kube.taints import all_tolerated
from restow.recordings.reading import Document
from restow.simulating.controllers.daemon_sets import most_unavailable, node_for, selection_of
from restow.simulating.controllers.job_accounting import as_read, index_of
from restow.simulating.controllers.owned_pods import controlled
from restow.simulating.controllers.stateful_sets import may_update, next_in_update
from restow.simulating.replaying.documents import (
    RecordedObjects,
    is_true,
    metadata_of,
    node_of,
    spec_of,
    status_of,
    uid_of,
)
from restow.workloads.controllers import EXPELLING, ControlledPod, ordinal_of, stateful_set
from restow.workloads.jobs import job
from restow.workloads.made_of import REVISION_HASH


class DeletedPod(Struct, frozen=True):
    """A pod whose deletion has begun."""

    #: As it was before.
    pod: Document
    #: Those of its controller that were there and not on their way out, itself too, by uid.
    pods: Mapping[str, Document]
    #: When, in milliseconds, and until when everything is seen that was there then.
    at: int
    until: int
    objects: RecordedObjects


def _is_too_many(case: DeletedPod, owner: Document) -> bool:
    """Whether a ReplicaSet has more pods than it wants, of which this may be one."""
    return len(case.pods) > int(spec_of(owner).get("replicas", 1))


def _is_last_ordinal(case: DeletedPod, owner: Document) -> bool:
    """Whether a StatefulSet no longer wants a pod, or its update has come to it."""
    found = cast("StatefulSet", manifest_of(owner))
    seen = [_controlled(each) for each in case.pods.values()]
    actions = stateful_set(Workload(ObjectMeta(name=found.metadata.name), found.spec), seen)
    if uid_of(case.pod) in {each.uid for each in actions.delete}:
        return True
    return may_update(found, actions, seen) and _is_next_in_update(case, found)


def _is_next_in_update(case: DeletedPod, found: StatefulSet) -> bool:
    by_ordinal = {ordinal_of(found.metadata.name, metadata_of(each)["name"]): each for each in case.pods.values()}
    seen = {ordinal: _controlled(each) for ordinal, each in by_ordinal.items() if ordinal is not None}
    old = {each for each in seen if _is_outdated(by_ordinal[each], found.status.update_revision)}
    turn = next_in_update(found, seen, old)
    return turn is not None and by_ordinal[turn] is case.pod


def _controlled(pod: Document) -> ControlledPod:
    """A pod as its controller sees it, as far as it is recorded."""
    phase = PHASES.get(status_of(pod).get("phase", ""), Phase.UNKNOWN)
    return ControlledPod(metadata_of(pod)["name"], uid=uid_of(pod), phase=phase, ready=is_true(pod, "Ready"))


def _is_outdated(pod: Document, revision: str) -> bool:
    """Whether a pod says that it has another revision."""
    return bool(revision) and (metadata_of(pod).get("labels") or {}).get(REVISION_HASH, revision) != revision


def _leaves_its_node(case: DeletedPod, owner: Document) -> bool:
    """Whether a DaemonSet no longer wants a pod on its node, has another one there, or its update has come to it."""
    found = cast("DaemonSet", manifest_of(owner))
    name = _node_for(case.pod)
    nodes = list(case.objects.found_by("Node", name, case.at, case.until))
    if not nodes or not all(each is not None and _may_stay(found, each) for each in nodes):
        return True
    beside = [each for each in case.pods.values() if each is not case.pod and _node_for(each) == name]
    return bool(beside) or _is_updated_next(case, found)


def _node_for(pod: Document) -> str:
    return node_of(pod) or node_for(cast("Pod", manifest_of(pod)))


def _may_stay(found: DaemonSet, document: Document) -> bool:
    """Whether pods of a DaemonSet that are on a node stay there."""
    node = cast("Node", manifest_of(document))
    selection, tolerations = selection_of(found)
    if not all_tolerated(tolerations, node.spec.taints or (), EXPELLING):
        return False
    with suppress(ValueError):
        return selection.matches(node.metadata.name, node.metadata.labels or {})
    return False


def _is_updated_next(case: DeletedPod, found: DaemonSet) -> bool:
    """Whether an update deletes a pod that is alone on its node: one that is not well, or while few are missing."""
    strategy = found.spec.update_strategy
    surges = strategy.rolling_update is not None and strategy.rolling_update.max_surge not in (0, "0%")
    if strategy.type != "RollingUpdate" or surges or not _is_of_old_revision(case, found):
        return False
    wanted = found.status.desired_number_scheduled
    missing = wanted - sum(is_true(each, "Ready") for each in case.pods.values())
    return not is_true(case.pod, "Ready") or missing < most_unavailable(found, wanted)


def _is_of_old_revision(case: DeletedPod, found: DaemonSet) -> bool:
    """Whether a pod is not of the newest revision of its DaemonSet, or none is known."""
    known = case.objects.found_by("ControllerRevision", found.metadata.uid, case.at, case.until)
    revisions = [each for each in known if each is not None]
    if not revisions:
        return True
    newest = max(revisions, key=lambda each: (each.get("revision", 0), metadata_of(each)["name"]))
    return _is_outdated(case.pod, (metadata_of(newest).get("labels") or {}).get(REVISION_HASH, ""))


def _is_not_for_job(case: DeletedPod, owner: Document) -> bool:
    """Whether a Job ends, waits, or has more pods than it wants, of which this may be one."""
    pods = [cast("Pod", manifest_of(each)) for each in case.pods.values()]
    seen = [structs.replace(controlled(each), index=index_of(each)) for each in pods]
    return bool(job(as_read(cast("Job", manifest_of(owner))), seen, case.at * MILLISECOND).delete)


#: By kind of controller.
RULES: Final[Mapping[str, Callable[[DeletedPod, Document], bool]]] = {
    "ReplicaSet": _is_too_many,
    "ReplicationController": _is_too_many,
    "StatefulSet": _is_last_ordinal,
    "DaemonSet": _leaves_its_node,
    "Job": _is_not_for_job,
}
