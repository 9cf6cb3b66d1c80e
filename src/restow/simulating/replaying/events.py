"""Actions that only a recording has: objects as they were written, pods that were evicted or deleted, nodes that are back.

The pods of a simulated workload have other names than the recorded ones, and may be elsewhere. So what happened to a pod
happens to the pod of this name, or else to another one of its workload: one on the same node, or else the oldest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from msgspec import structs

from restow.kube.manifests import Manifest, Node, Pod, kind_of
from restow.kube.timestamps import SECOND
from restow.simulating.api_server.admission import default_namespace
from restow.simulating.api_server.eviction import TOO_MANY_REQUESTS, evict
from restow.simulating.api_server.indexes import key_of
from restow.simulating.api_server.store import Store
from restow.simulating.controllers.node_lifecycle import OWN_TAINTS
from restow.simulating.controllers.rollouts import REVISION
from restow.simulating.scenarios.event_applier import ActionError, EventApplier, act
from restow.simulating.scenarios.events import RecordedAction
from restow.simulating.scenarios.references import NodeChoice, Reference, controllers_of
from restow.simulating.scenarios.usage import Amounts

#: Who evicts, as far as the recording knows.
OTHERS: Final = "another client"
#: How long it takes from one try to evict to the next, and how often it is tried.
_RETRY: Final = 5 * SECOND
_TRIES: Final = 12
#: What people write about others than themselves.
_RESTOW: Final = "restow.dev/"


@dataclass(slots=True, frozen=True)
class PodOfWorkload:
    """A pod that was recorded."""

    pod: Reference
    #: None of a pod that nothing makes again.
    workload: Reference | None
    node: str


@dataclass(slots=True, frozen=True)
class Replace(RecordedAction):
    """An object is there as it is written: its spec, its labels and annotations; what controllers write stays."""

    manifest: Manifest


@dataclass(slots=True, frozen=True)
class RemoveObject(RecordedAction):
    """An object is deleted, if it is still there: its namespace or its owner may have gone before."""

    target: Reference


@dataclass(slots=True, frozen=True)
class EvictPod(RecordedAction):
    """Evict a pod."""

    choice: PodOfWorkload


@dataclass(slots=True, frozen=True)
class DeletePod(RecordedAction):
    """Delete a pod, whatever its budget says."""

    choice: PodOfWorkload


@dataclass(slots=True, frozen=True)
class ReturnNode(RecordedAction):
    """Nodes are heard of again; the pods on them have been running all the time."""

    nodes: NodeChoice


@dataclass(slots=True, frozen=True)
class SetAverageUsage(RecordedAction):
    """What the pods of workloads use on average from now on, and nodes in addition to that of their pods."""

    usage: Mapping[Reference, Amounts]


@act.register
def _measure(action: SetAverageUsage, applier: EventApplier) -> None:
    applier.usage.set_all(action.usage)


@act.register
def _replace(action: Replace, applier: EventApplier) -> None:
    store, manifest = applier.simulation.store, action.manifest
    kind = kind_of(manifest)
    old = store.get(kind, default_namespace(manifest, kind).namespace, manifest.metadata.name)
    if old is None:
        # With its uid, which objects name that nothing here makes.
        store.load(manifest)
    else:
        store.update(_written_over(manifest, old))


def _written_over(manifest: Any, old: Any) -> Any:
    """The new object with what others have written of the old one."""
    annotations = {**(manifest.metadata.annotations or {})}
    if revision := old.metadata.annotation(REVISION):
        annotations[REVISION] = revision
    metadata = structs.replace(old.metadata, labels=manifest.metadata.labels, annotations=annotations or None)
    if isinstance(manifest, Node):
        return structs.replace(_node_over(manifest, old), metadata=metadata)
    status = {"status": old.status} if hasattr(old, "status") else {}
    return structs.replace(manifest, metadata=metadata, **status)


def _node_over(manifest: Node, old: Node) -> Node:
    outside = [each for each in manifest.spec.taints or () if is_from_outside(each.key)]
    taints = (*outside, *(each for each in old.spec.taints or () if not is_from_outside(each.key)))
    status = structs.replace(
        old.status,
        allocatable=manifest.status.allocatable,
        capacity=manifest.status.capacity,
        conditions=manifest.status.conditions,
    )
    return structs.replace(manifest, spec=structs.replace(manifest.spec, taints=taints or None), status=status)


def is_from_outside(taint: str) -> bool:
    """Whether the taint of a key neither follows from the state of its node nor is restow's."""
    return taint not in OWN_TAINTS and not taint.startswith(_RESTOW)


@act.register
def _remove(action: RemoveObject, applier: EventApplier) -> None:
    target = action.target
    applier.simulation.store.delete(target.kind, target.namespace, target.name)


@act.register
def _evict(action: EvictPod, applier: EventApplier) -> None:
    _try(applier, _found(action.choice, applier.simulation.store), _TRIES)


def _try(applier: EventApplier, pod: Pod, tries: int) -> None:
    """Ask for an eviction, as long as the pod is there and its budget may allow it."""
    store = applier.simulation.store
    now: Pod | None = store.get("Pod", *key_of(pod))
    if now is None or now.metadata.uid != pod.metadata.uid or now.metadata.is_terminating:
        return
    answer = evict(store, *key_of(pod))
    if answer.is_evicted:
        applier.evicted(now, (OTHERS,))
    elif answer.code == TOO_MANY_REQUESTS and tries > 1:
        store.clock.after(_RETRY, lambda: _try(applier, pod, tries - 1))


@act.register
def _delete_pod(action: DeletePod, applier: EventApplier) -> None:
    store = applier.simulation.store
    store.delete("Pod", *key_of(_found(action.choice, store)))


@act.register
def _return_node(action: ReturnNode, applier: EventApplier) -> None:
    if action.nodes.name is not None:
        applier.kubelets.start_node(action.nodes.name)


def _found(choice: PodOfWorkload, store: Store) -> Pod:
    """The pod that is meant; ActionError where its workload has none."""
    named: Pod | None = store.get("Pod", choice.pod.namespace, choice.pod.name)
    if named is not None and named.is_active:
        return named
    alike: list[Pod] = [
        each
        for each in store.list("Pod", choice.pod.namespace)
        if each.is_active and choice.workload in set(controllers_of(each, store))
    ]
    if choice.workload is None or not alike:
        raise ActionError(f"there is neither {choice.pod} nor another pod of its workload")
    return min(alike, key=lambda each: (each.node != choice.node, each.metadata.creation_timestamp, key_of(each)))
