"""Asks a plugin whether a change helps a pod that it rejected, the way the queue does: by the events that the change makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from descheduling.harness import a_cluster
from restow.cluster.node_store import read_node
from restow.kube import objects
from restow.scheduling.framework.requeueing import NodeFacts, PodFacts, Resource, node_facts, pod_facts, registered
from restow.scheduling.queueing.events import (
    ProfileRules,
    QueueingRules,
    node_events,
    object_events,
    own_changes,
    pod_events,
)
from restow.scheduling.queueing.queued_pods import QueuedPod

if TYPE_CHECKING:
    from builders import Object
    from restow.scheduling.framework.declaration import SchedulerPlugin
    from restow.scheduling.framework.requeueing import ClusterEvent

#: A node that pods of the rows are on, or are nominated for.
NODE = {"kind": "Node", "metadata": {"name": "fake-node"}}


def of_pod(pod: Object) -> PodFacts:
    """What hints see of a pod."""
    cluster = a_cluster(NODE, pod)
    return pod_facts(cluster.pods, cluster.nodes, 0)


def of_node(node: Object) -> NodeFacts:
    """What hints see of a node."""
    return node_facts(read_node(msgspec.convert(node, objects.Node)))


def helped(
    plugin: SchedulerPlugin, pod: Object, old: Object | None = None, new: Object | None = None, args: object = None
) -> bool:
    """Whether a pod that the plugin rejected is woken when an object changes, comes (old None) or goes (new None)."""
    waiting = of_pod(pod)
    settings = args if args is not None else (plugin.args() if plugin.args else None)
    interests = {plugin.name: registered(plugin.interests)}
    rules = QueueingRules({waiting.scheduler: ProfileRules(interests, {plugin.name: settings})})
    queued = QueuedPod(waiting, 0, added=0, since=0, rejected_by=frozenset({plugin.name}))
    return any(rules.helps(event, queued) for event in events(waiting, old, new))


def events(waiting: PodFacts, old: Object | None, new: Object | None) -> list[ClusterEvent]:
    """What happens when an object changes."""
    changed: Any = new or old
    kind = changed["kind"]
    if kind == "Node":
        return node_events(*(None if each is None else of_node(each) for each in (old, new)))
    if kind != "Pod":
        types = vars(objects)[kind]
        before, after = (None if each is None else msgspec.convert(each, types) for each in (old, new))
        return object_events(next(each for each in Resource if each.value.endswith(kind)), before, after)
    before, after = (None if each is None else of_pod(each) for each in (old, new))
    if before is not None and after is not None and after.uid == waiting.uid:
        return own_changes(before, after)
    return pod_events(before, after)


def nominated(pod: Object) -> Object:
    """The same pod, nominated for the node."""
    return pod | {"status": {"nominatedNodeName": "fake-node"}}
