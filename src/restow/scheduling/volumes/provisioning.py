"""Where the volume of a claim could be made: the class must make volumes, be allowed there and have room.

Source: checkVolumeProvisions of VolumeBinding, MatchTopologySelectorTerms, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from restow.cluster.interning import BoolArray
from restow.cluster.node_matching import matches
from restow.cluster.nodes import Nodes
from restow.cluster.snapshot import Cluster
from restow.kube.labels import NOTHING, Requirement, Selector, selector_from
from restow.kube.node_selection import NodeSelection, SelectorTerm
from restow.kube.objects import CSIDriver, CSIStorageCapacity, PersistentVolumeClaim, StorageClass, TopologySelectorTerm
from restow.kube.quantity import parse_quantity
from restow.scheduling.volumes.matching import requested
from restow.scheduling.volumes.storage import Storage, class_of_claim

_NONE = "kubernetes.io/no-provisioner"


class Provisioning:
    """Which nodes could get a new volume of a claim."""

    def __init__(self, cluster: Cluster, storage: Storage) -> None:
        self._cluster = cluster
        self._nodes = cluster.nodes
        self._storage = storage
        self._allowed: dict[str, BoolArray] = {}
        self._reach: dict[tuple[str, str], BoolArray] = {}

    def allowed(self, claim: PersistentVolumeClaim) -> BoolArray:
        """Where the class makes volumes at all, bool[node]."""
        name = class_of_claim(claim)
        known = self._allowed.get(name)
        if known is None:
            known = self._allowed[name] = _allowed(self._storage.storage_class(name), self._nodes)
        return known

    def has_room(self, claim: PersistentVolumeClaim) -> BoolArray:
        """Where storage is left for the claim, bool[node]; everywhere, if its driver does not tell."""
        storage_class = self._storage.storage_class(class_of_claim(claim))
        if storage_class is None or not self._tells_capacity(storage_class.provisioner) or not _says_size(claim):
            return np.ones(len(self._nodes), dtype=bool)
        room = np.zeros(len(self._nodes), dtype=bool)
        capacities: Mapping[tuple[str, str], CSIStorageCapacity] = self._cluster.kind("CSIStorageCapacity")
        for key, capacity in capacities.items():
            if capacity.storage_class_name == storage_class.metadata.name and _is_enough(capacity, claim):
                room |= self._reach_of(key, capacity)
        return room

    def _tells_capacity(self, driver: str) -> bool:
        found: CSIDriver | None = self._cluster.kind("CSIDriver").get(("", driver))
        return found is not None and bool(found.spec.storage_capacity)

    def _reach_of(self, key: tuple[str, str], capacity: CSIStorageCapacity) -> BoolArray:
        known = self._reach.get(key)
        if known is None:
            known = self._reach[key] = _selected(_topology(capacity), self._nodes)
        return known


def _allowed(storage_class: StorageClass | None, nodes: Nodes) -> BoolArray:
    if storage_class is None or storage_class.provisioner in ("", _NONE):
        return np.zeros(len(nodes), dtype=bool)
    if not storage_class.allowed_topologies:
        return np.ones(len(nodes), dtype=bool)
    return matches(NodeSelection((), tuple(map(_term, storage_class.allowed_topologies))), nodes)


def _term(term: TopologySelectorTerm) -> SelectorTerm:
    return SelectorTerm(
        tuple(Requirement(each.key, "In", each.values or ()) for each in term.match_label_expressions or ())
    )


def _topology(capacity: CSIStorageCapacity) -> Selector:
    """The nodes that a capacity is for; none where it does not say, or says it wrongly."""
    try:
        return selector_from(capacity.node_topology)
    except ValueError:
        return NOTHING


def _selected(selector: Selector, nodes: Nodes) -> BoolArray:
    """The nodes whose labels a selector matches."""
    if not selector.requirements:
        return np.full(len(nodes), selector.selectable)
    return matches(NodeSelection((), (SelectorTerm(selector.requirements),)), nodes)


def _says_size(claim: PersistentVolumeClaim) -> bool:
    return claim.spec.resources is not None and "storage" in (claim.spec.resources.requests or {})


def _is_enough(capacity: CSIStorageCapacity, claim: PersistentVolumeClaim) -> bool:
    """Whether a volume of the claim's size, rounded up to bytes, can still be made."""
    limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return limit is not None and parse_quantity(limit).value() >= -(-requested(claim) // 10**9)
