"""Cluster events from two states of an object.

An event is as precise as possible, in the order in which kube-scheduler emits events. Source:
PodSchedulingPropertiesChange, NodeSchedulingPropertiesChange and the event handlers of the scheduler, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from restow.scheduling.framework.cluster_events import Action, ClusterEvent, Resource
from restow.scheduling.framework.facts import NodeFacts, PodFacts

#: The kinds that rejected pods wait for, in addition to nodes and pods.
RESOURCES: Final[Mapping[str, Resource]] = {
    "PersistentVolume": Resource.PERSISTENT_VOLUME,
    "PersistentVolumeClaim": Resource.PERSISTENT_VOLUME_CLAIM,
    "StorageClass": Resource.STORAGE_CLASS,
    "CSINode": Resource.CSI_NODE,
    "CSIDriver": Resource.CSI_DRIVER,
    "CSIStorageCapacity": Resource.CSI_STORAGE_CAPACITY,
    "VolumeAttachment": Resource.VOLUME_ATTACHMENT,
}


def pod_events(old: PodFacts | None, new: PodFacts | None) -> list[ClusterEvent]:
    """What a change of one pod means to others; None where it was not there, or is gone.

    A pod that has no node matters to others only while a node is kept for it.
    """
    if new is not None and new.node:
        if old is None or not old.node:
            return [ClusterEvent(Resource.ASSIGNED_POD, Action.ADD, None, new)]
        return _pod_updates(Resource.ASSIGNED_POD, old, new)
    if old is None:
        return []
    if old.node:
        return [ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE, old)]
    if old.nominated_node and (new is None or new.nominated_node != old.nominated_node):
        return [ClusterEvent(Resource.ASSIGNED_POD, Action.DELETE, old, at_most_priority=old.priority)]
    return []


def own_changes(old: PodFacts, new: PodFacts) -> list[ClusterEvent]:
    """What a change of a waiting pod means to itself."""
    return _pod_updates(Resource.UNSCHEDULABLE_POD, old, new)


def node_events(old: NodeFacts | None, new: NodeFacts | None) -> list[ClusterEvent]:
    """What a change of one node means; None where it was not there, or is gone."""
    if old is None or new is None:
        return object_events(Resource.NODE, old, new)
    return [ClusterEvent(Resource.NODE, action, old, new) for action in _node_actions(old, new)]


def object_events(resource: Resource, old: Any, new: Any) -> list[ClusterEvent]:
    """What a change of any other object means; None where it was not there, or is gone."""
    if old is None and new is None:
        return []
    action = Action.ADD if old is None else Action.DELETE if new is None else Action.UPDATE
    return [ClusterEvent(resource, action, old, new)]


def _pod_updates(resource: Resource, old: PodFacts, new: PodFacts) -> list[ClusterEvent]:
    actions = list(_pod_actions(old, new)) or [Action.UPDATE]
    return [ClusterEvent(resource, action, old, new) for action in actions]


def _pod_actions(old: PodFacts, new: PodFacts) -> Iterator[Action]:
    if old.labels != new.labels:
        yield Action.UPDATE_POD_LABEL
    if any(amount > new.requests.get(name, -1) for name, amount in old.requests.items()):
        yield Action.UPDATE_POD_SCALE_DOWN
    if old.gates and not new.gates:
        yield Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    # The API server lets no one change or remove one.
    if len(old.tolerations) != len(new.tolerations):
        yield Action.UPDATE_POD_TOLERATION


def _node_actions(old: NodeFacts, new: NodeFacts) -> Iterator[Action]:
    if old.unschedulable and not new.unschedulable:
        yield Action.UPDATE_NODE_TAINT
    if old.allocatable != new.allocatable:
        yield Action.UPDATE_NODE_ALLOCATABLE
    if old.labels != new.labels:
        yield Action.UPDATE_NODE_LABEL
    if old.taints != new.taints:
        yield Action.UPDATE_NODE_TAINT
    if old.conditions != new.conditions:
        yield Action.UPDATE_NODE_CONDITION
