"""VolumeZone: a volume whose labels name a zone or a region is only reachable from nodes there.

Only named claims count, not those of generic ephemeral volumes. Nodes without any label of that kind take every volume.
Source: Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NO_LABEL, NodePart
from restow.kube.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.framework.extension_points import PROCEED, SKIP, FilterResult, Outcome, PreFiltered, one_outcome
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, PodFacts, Resource
from restow.scheduling.volumes.storage import (
    WAIT_FOR_FIRST_CONSUMER,
    VolumePlugin,
    class_of_claim,
    names_claim,
    not_found,
)

NAME = "VolumeZone"

#: Beta labels of a volume are also compared with the node's label of today, never the other way round.
_TODAY = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_KEYS = (*_TODAY, *_TODAY.values())
_ELSEWHERE = Outcome(("node(s) had no available volume zone",), unresolvable=True)


class VolumeZone(VolumePlugin):
    """Filter."""

    name = NAME

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._nodes = context.state.cluster.nodes
        self._nodes.follow(NodePart.POSITION | NodePart.ASKED_LABELS, lambda: self.__dict__.pop("_placed", None))

    def prefilter(self, pod: int) -> PreFiltered:
        """Fail if a claim leads to no volume; skip pods whose volumes name no place."""
        labelled = False
        for volume in self._storage.volumes_of(pod):
            if volume.is_named_claim:
                found = self._volume(self._storage.claim(pod, volume), volume.claim)
                if isinstance(found, Outcome):
                    return PreFiltered(failure=found)
                labelled = labelled or (found is not None and any(_places(found)))
        return PROCEED if labelled else SKIP

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes outside the zones and regions of a volume."""
        reachable = np.ones(len(self._nodes), dtype=bool)
        for volume in self._storage.volumes_of(pod):
            if volume.is_named_claim:
                found = self._volume(self._storage.claim(pod, volume), volume.claim)
                assert not isinstance(found, Outcome), "PreFilter lets no pod through whose volumes are missing"
                for key, values in _places(found) if found is not None else ():
                    reachable &= self._within(key, values)
        return one_outcome((~reachable & self._placed)[nodes], _ELSEWHERE)

    def _volume(self, claim: PersistentVolumeClaim | None, name: str) -> PersistentVolume | Outcome | None:
        """The volume of a claim, None where one is still to be chosen, or why there cannot be one."""
        if not name:
            return Outcome(("PersistentVolumeClaim had no name",), unresolvable=True)
        if claim is None:
            return not_found("persistentvolumeclaim", name)
        if not claim.spec.volume_name:
            return self._unbound(class_of_claim(claim))
        return self._storage.volume(claim.spec.volume_name) or not_found("persistentvolume", claim.spec.volume_name)

    def _unbound(self, class_name: str) -> Outcome | None:
        """Why a claim of this class without a volume keeps its pod waiting; None where it does not."""
        if not class_name:
            return Outcome(("PersistentVolumeClaim had no pv name and storageClass name",), unresolvable=True)
        storage_class = self._storage.storage_class(class_name)
        if storage_class is None:
            return not_found("storageclass.storage.k8s.io", class_name)
        if storage_class.volume_binding_mode is None:
            return Outcome((f'VolumeBindingMode not set for StorageClass "{class_name}"',), unresolvable=True)
        if storage_class.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER:
            return None
        return Outcome(("PersistentVolume had no name",), unresolvable=True)

    @cached_property
    def _placed(self) -> BoolArray:
        """The nodes that name their place by any of the labels."""
        placed = np.zeros(len(self._nodes), dtype=bool)
        for key in _KEYS:
            placed |= np.not_equal(self._nodes.label_column(key).codes, NO_LABEL)
        return placed

    def _within(self, key: str, values: frozenset[str]) -> BoolArray:
        """The nodes with one of these values."""
        column = self._nodes.label_column(key)
        within = np.isin(column.codes, [column.code(value) for value in values])
        if key in _TODAY:
            within |= np.equal(column.codes, NO_LABEL) & self._within(_TODAY[key], values)
        return within


def _places(volume: PersistentVolume) -> Iterator[tuple[str, frozenset[str]]]:
    """The labels that name a volume's place, with their values; a malformed one names none."""
    labels = volume.metadata.labels or {}
    for key in _KEYS:
        if key in labels:
            values = frozenset(part.strip() for part in labels[key].split("__"))
            if "" not in values:
                yield key, values


def _waits_for_consumer(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: volumes of the class are chosen when their pod is scheduled."""
    new: StorageClass = event.new
    return new.volume_binding_mode == WAIT_FOR_FIRST_CONSUMER


def _is_elsewhere(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the volume is new, or its labels name another place than before."""
    old: PersistentVolume | None = event.old
    new: PersistentVolume = event.new
    return old is None or list(_places(old)) != list(_places(new))


PLUGIN = SchedulerPlugin(
    NAME,
    ("preFilter", "filter"),
    lambda context, _args: VolumeZone(context),
    interests=(
        Interest(
            Resource.STORAGE_CLASS,
            Action.ADD,
            _waits_for_consumer,
            "a storage class with WaitForFirstConsumer is added",
        ),
        Interest(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, words="a node is added or gets other labels"),
        Interest(
            Resource.PERSISTENT_VOLUME_CLAIM,
            Action.ADD | Action.UPDATE,
            names_claim,
            "one of its claims is added or changes",
        ),
        Interest(
            Resource.PERSISTENT_VOLUME,
            Action.ADD | Action.UPDATE,
            _is_elsewhere,
            "a persistent volume is added or gets other zone labels",
        ),
    ),
)
