"""What a change in the cluster means to waiting pods: which events it is, and which pods they help.

An event from two states of an object is as precise as possible, and events come in the order in which kube-scheduler
emits them. The rules of the profiles say which of them help a pod, and which pods may not be tried at all; the queue knows
no plugin by name. Source: PodSchedulingPropertiesChange, NodeSchedulingPropertiesChange, the scheduler's event handlers,
isPodWorthRequeuing and runPreEnqueuePlugins, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct, field

from restow.cluster.pod_values import POD_GROUP_LABEL
from restow.scheduling.framework.requeueing import (
    ALONE,
    ANYTHING,
    Action,
    ClusterEvent,
    Interest,
    NodeFacts,
    PodFacts,
    PreEnqueue,
    QueueSurroundings,
    Resource,
)
from restow.scheduling.queueing.queued_pods import QueuedPod

#: The kinds that rejected pods wait for, in addition to nodes and pods.
RESOURCES: Final[Mapping[str, Resource]] = {
    "PersistentVolume": Resource.PERSISTENT_VOLUME,
    "PersistentVolumeClaim": Resource.PERSISTENT_VOLUME_CLAIM,
    "StorageClass": Resource.STORAGE_CLASS,
    "CSINode": Resource.CSI_NODE,
    "CSIDriver": Resource.CSI_DRIVER,
    "CSIStorageCapacity": Resource.CSI_STORAGE_CAPACITY,
    "VolumeAttachment": Resource.VOLUME_ATTACHMENT,
    "PodGroup": Resource.POD_GROUP,
    "Workload.scheduling.k8s.io": Resource.WORKLOAD,
    "PodGroup.scheduling.x-k8s.io": Resource.COSCHEDULED_GROUP,
    "NodeResourceTopology": Resource.NODE_RESOURCE_TOPOLOGY,
}


def pod_events(old: PodFacts | None, new: PodFacts | None) -> list[ClusterEvent]:
    """What a change of one pod means to others; None where it was not there, or is gone.

    A pod that has no node matters to others only while a node is kept for it, or as one more of its group.
    """
    if new is not None and new.node:
        if old is None or not old.node:
            return [ClusterEvent(Resource.ASSIGNED_POD, Action.ADD, None, new)]
        return _pod_updates(Resource.ASSIGNED_POD, old, new)
    if old is None:
        # To a group, each of its pods matters.
        matters = new is not None and (new.group or new.workload or POD_GROUP_LABEL in new.labels)
        return [ClusterEvent(Resource.UNSCHEDULABLE_POD, Action.ADD, None, new)] if matters else []
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


class ProfileRules(Struct, frozen=True):
    """The queueing rules of the plugins of one profile."""

    #: Of each plugin, by name.
    interests: Mapping[str, tuple[Interest, ...]] = field(default_factory=dict)
    #: What each plugin is set to, where it has arguments.
    arguments: Mapping[str, Any] = field(default_factory=dict)
    #: Who may keep a pod from being tried, in order.
    pre_enqueue: Mapping[str, PreEnqueue] = field(default_factory=dict)

    def interests_of(self, plugin: str) -> tuple[Interest, ...]:
        """What helps pods that a plugin rejected; anything, where the profile does not have the plugin."""
        return self.interests.get(plugin, ANYTHING)


class QueueingRules:
    """The queueing rules of all profiles, by the scheduler that pods name."""

    def __init__(self, profiles: Mapping[str, ProfileRules], surroundings: QueueSurroundings = ALONE) -> None:
        self._profiles = profiles
        self._surroundings = surroundings

    def is_registered(self, plugin: str, event: ClusterEvent) -> bool:
        """Whether a plugin waits for such events in some profile."""
        return any(interest.covers(event) for each in self._profiles.values() for interest in each.interests_of(plugin))

    def helps(self, event: ClusterEvent, queued: QueuedPod) -> bool:
        """Whether an event can help a pod, as one of the plugins that rejected it says."""
        if event.resource is Resource.ANY:
            return event.new is None or event.new.uid == queued.key
        rules = self._of(queued.pod)
        return any(
            _helps(interest, queued.pod, event, rules.arguments.get(plugin))
            for plugin in queued.rejected_by
            for interest in rules.interests_of(plugin)
        )

    def gate(self, queued: QueuedPod) -> str:
        """The plugin that does not let a pod be tried now; empty where none does."""
        gates = self._of(queued.pod).pre_enqueue
        first = [queued.gated_by] if queued.gated_by in gates else []
        names = dict.fromkeys([*first, *gates])
        return next((name for name in names if gates[name](queued.pod, self._surroundings) is not None), "")

    def why_gated(self, queued: QueuedPod) -> str | None:
        """What the plugin says that does not let a pod be tried; None where it has nothing against it any more."""
        gate = self._of(queued.pod).pre_enqueue.get(queued.gated_by)
        return gate(queued.pod, self._surroundings) if gate is not None else None

    def waits_for(self, queued: QueuedPod) -> Iterator[str]:
        """What can help a pod, in words."""
        rules = self._of(queued.pod)
        for plugin in sorted(queued.rejected_by):
            yield from (each.words for each in rules.interests_of(plugin) if each.words)

    def _of(self, pod: PodFacts) -> ProfileRules:
        return self._profiles.get(pod.scheduler, _NO_RULES)


#: Rules of pods that name no profile: any event may help them.
_NO_RULES = ProfileRules()


def _helps(interest: Interest, pod: PodFacts, event: ClusterEvent, arguments: Any) -> bool:
    if not interest.covers(event):
        return False
    if interest.hint is None:
        return True
    try:
        return bool(interest.hint(pod, event, arguments))
    except Exception:  # noqa: BLE001  a pod must not be left waiting because a hint has a fault
        return True
