"""NodeVolumeLimits: a node attaches a limited number of volumes of a CSI driver.

The limit is what the node's CSINode says of the driver; without one there is none. Attached are the distinct volumes of
the pods on the node and those of its VolumeAttachments; a volume that is attached already costs nothing more. The
counts are kept by driver and refreshed where a node changed. Since 1.37 a CSIDriver may ask that nodes without the driver
are rejected. Source: Kubernetes 1.33 to 1.37.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodePart
from restow.cluster.pod_columns import PodIndex
from restow.cluster.snapshot import Key
from restow.kube.objects import CSIDriver, CSINode, VolumeAttachment
from restow.scheduling.framework.caches import PerNode
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.framework.extension_points import (
    PASSES,
    PROCEED,
    SKIP,
    FilterResult,
    Outcome,
    PreFiltered,
    one_outcome,
)
from restow.scheduling.framework.minors import MISSING_DRIVERS, holds
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, PodFacts, Resource
from restow.scheduling.volumes.attachable import Attachable, attachables, driver_of, is_migratable
from restow.scheduling.volumes.storage import VolumePlugin, has_claim

NAME = "NodeVolumeLimits"

_UNLIMITED = np.iinfo(np.int64).max
#: Up to this many nodes are counted one by one.
_FEW = 64
_EXCEEDED = Outcome(("node(s) exceed max volume count",))

Counts = npt.NDArray[np.int64]


class NodeVolumeLimits(VolumePlugin):
    """Filter."""

    name = NAME

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._state = context.state
        self._nodes = context.state.cluster.nodes
        self._cluster = context.state.cluster
        self._attached = PerNode.following(context.state, self._count_attached)
        self._limits: dict[str, Counts] = {}
        self._rejects_missing = holds(MISSING_DRIVERS, self._cluster)
        self._nodes.follow(NodePart.POSITION, self._forget)

    def _forget(self) -> None:
        self._limits = {}
        self.__dict__.pop("_observed", None)

    def prefilter(self, pod: int) -> PreFiltered:
        """Skip pods without a volume that any driver could attach."""
        volumes = self._storage.volumes_of(pod)
        return PROCEED if any(each.disk is None or is_migratable(each.disk) for each in volumes) else SKIP

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes that lack a driver, and nodes where one would have more volumes than it may."""
        by_driver = _by_driver(set(attachables(self._storage, pod)))
        exceeded = self._exceeded(by_driver)
        if not self._rejects_missing:
            return one_outcome(exceeded[nodes], _EXCEEDED)
        categories = np.where(exceeded, 0, PASSES)
        drivers = sorted(by_driver)
        for number, driver in reversed(tuple(enumerate(drivers, start=1))):
            categories[self._lacks(driver)] = number
        return FilterResult(categories[nodes], (_EXCEEDED, *map(_not_installed, drivers)))

    def _exceeded(self, by_driver: Mapping[str, Sequence[Attachable]]) -> BoolArray:
        """The nodes where some driver would have more volumes than it may."""
        exceeded = np.zeros(len(self._nodes), dtype=bool)
        for driver, volumes in by_driver.items():
            limits = self._limits_of(driver)
            if (limits != _UNLIMITED).any():
                new = np.sum([self._is_new(volume) for volume in volumes], axis=0)
                exceeded |= (new > 0) & (self._attached.of(driver) + new > limits)
        return exceeded

    def _lacks(self, driver: str) -> BoolArray:
        """The nodes that lack a driver, if its CSIDriver asks for it. Source: VolumeLimitScaling, Kubernetes 1.37."""
        asks: CSIDriver | None = self._cluster.kind("CSIDriver").get(("", driver))
        if asks is None or not asks.spec.prevent_pod_scheduling_if_missing:
            return np.zeros(len(self._nodes), dtype=bool)
        lacks = np.ones(len(self._nodes), dtype=bool)
        csi_nodes: Mapping[Key, CSINode] = self._cluster.kind("CSINode")
        for (_, name), csi_node in csi_nodes.items():
            if name in self._nodes.index and any(each.name == driver for each in csi_node.spec.drivers or ()):
                lacks[self._nodes.index[name]] = False
        return lacks

    def _is_new(self, volume: Attachable) -> BoolArray:
        """The nodes where no pod has a volume yet."""
        new = np.ones(len(self._nodes), dtype=bool)
        holders: IntArray = np.array(self._holders.of(volume), dtype=np.int64)
        at = self._state.node[holders[self._state.holding(holders)]]
        new[at[at >= 0]] = False
        return new

    def _count_attached(self, driver: str, nodes: IntArray) -> Counts:
        """How many volumes of a driver each node has attached; 0 where there is no limit."""
        limited = self._limits_of(driver)[nodes] != _UNLIMITED
        if np.count_nonzero(limited) > _FEW:
            return np.where(limited, self._count_everywhere(driver)[nodes], 0)
        counts = np.zeros(len(nodes), dtype=np.int64)
        for position in np.flatnonzero(limited).tolist():
            counts[position] = len(self._volumes_on(int(nodes[position]), driver))
        return counts

    def _count_everywhere(self, driver: str) -> Counts:
        """How many volumes of a driver each node has attached."""
        volumes = [(volume, pods) for volume, pods in self._holders.values.items() if volume.driver == driver]
        number = {volume.handle: place for place, (volume, _) in enumerate(volumes)}
        users: IntArray = np.array([pod for _, pods in volumes for pod in pods], dtype=np.int64)
        used = np.repeat(np.arange(len(volumes)), [len(pods) for _, pods in volumes])
        counted = self._state.holding(users) & (self._state.node[users] >= 0)
        observed = [
            (node, number.setdefault(handle, len(number)))
            for node, found in self._observed.items()
            for name, handle in found
            if name == driver
        ]
        nodes, attached = np.array(observed, dtype=np.int64).reshape(-1, 2).T
        nodes = np.concatenate((nodes, self._state.node[users[counted]]))
        attached = np.concatenate((attached, used[counted]))
        distinct = np.unique(nodes * max(len(number), 1) + attached)
        return np.bincount(distinct // max(len(number), 1), minlength=len(self._nodes))

    def _volumes_on(self, node: int, driver: str) -> set[str]:
        """The handles of the volumes of a driver that are attached to a node."""
        pods = self._state.pods_on(node)
        found = {handle for name, handle in self._observed.get(node, ()) if name == driver}
        for pod in pods[self._storage.has_volumes.of(pods)].tolist():
            for volume in attachables(self._storage, pod):
                if volume.driver == driver:
                    found.add(volume.handle)
        return found

    def _limits_of(self, driver: str) -> Counts:
        """How many volumes of a driver each node may attach."""
        limits = self._limits.get(driver)
        if limits is None:
            csi_nodes: Mapping[Key, CSINode] = self._cluster.kind("CSINode")
            limits = self._limits[driver] = np.full(len(self._nodes), _UNLIMITED)
            for (_, name), csi_node in csi_nodes.items():
                limit = _limit(csi_node, driver)
                if name in self._nodes.index and limit is not None:
                    limits[self._nodes.index[name]] = limit
        return limits

    @cached_property
    def _holders(self) -> PodIndex[Attachable]:
        """The pods that use a volume, on any node."""
        return PodIndex(
            self._cluster.pods,
            self._storage.with_volumes,
            lambda pods: (attachables(self._storage, pod) for pod in pods),
        )

    @cached_property
    def _observed(self) -> Mapping[int, set[tuple[str, str]]]:
        """(driver, handle) of the VolumeAttachments of each node."""
        observed: dict[int, set[tuple[str, str]]] = defaultdict(set)
        for each in self._cluster.kind("VolumeAttachment").values():
            handle, node = self._attached_handle(each), self._nodes.index.get(each.spec.node_name)
            if handle is not None and node is not None and each.spec.attacher:
                observed[node].add((each.spec.attacher, handle))
        return observed

    def _attached_handle(self, attachment: VolumeAttachment) -> str | None:
        name = attachment.spec.source.persistent_volume_name
        volume = None if name is None else self._storage.volume(name)
        return None if volume is None or volume.spec.csi is None else volume.spec.csi.volume_handle


def _by_driver(volumes: set[Attachable]) -> Mapping[str, list[Attachable]]:
    found: dict[str, list[Attachable]] = defaultdict(list)
    for volume in volumes:
        found[volume.driver].append(volume)
    return found


def _not_installed(driver: str) -> Outcome:
    return Outcome((f"{driver} CSI driver is not installed on the node",))


def _limit(csi_node: CSINode, driver: str) -> int | None:
    """How many volumes of a driver a node may attach; None where its CSINode does not say."""
    counts = [
        each.allocatable.count for each in csi_node.spec.drivers or () if each.name == driver and each.allocatable
    ]
    return counts[-1] if counts else None


def _detaches(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: a pod is gone that had, or was to have, volumes which count."""
    old: PodFacts = event.old
    return old.counts_somewhere and any(each.disk is None or is_migratable(each.disk) for each in old.volumes)


def _is_detached(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: a volume is detached, and the pod has a claim or a disk of its driver."""
    attachment: VolumeAttachment = event.old
    return any(
        each.is_named_claim or (each.disk is not None and driver_of(each.disk) == attachment.spec.attacher)
        for each in pod.volumes
    )


def _raises_limit(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the node may attach more volumes of some driver."""
    old: CSINode = event.old
    new: CSINode = event.new
    names = [each.name for each in new.spec.drivers or ()]
    return any((_limit(new, name) or 0) > (_limit(old, name) or 0) for name in names)


PLUGIN = SchedulerPlugin(
    NAME,
    ("preFilter", "filter"),
    lambda context, _args: NodeVolumeLimits(context),
    interests=(
        Interest(Resource.CSI_NODE, Action.ADD, words="a CSINode is added"),
        Interest(Resource.CSI_NODE, Action.UPDATE, _raises_limit, "a node may attach more volumes of a driver"),
        Interest(Resource.POD, Action.DELETE, _detaches, "a pod with volumes goes"),
        Interest(Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD, has_claim, "one of its claims is added"),
        Interest(Resource.VOLUME_ATTACHMENT, Action.DELETE, _is_detached, "a volume is detached"),
    ),
)
