"""Which volume each unbound claim of a pod would get on each node, out of those that exist.

Claims are served from the smallest request up; each gets the smallest volume that will do and that no other claim of
the pod has on that node. A volume that was reserved for the claim goes before all others, and decides alone.
Source: FindMatchingVolume, component-helpers, Kubernetes 1.36; upstream takes volumes of the same size at random, here
the first by name is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.node_matching import matches
from restow.cluster.nodes import NodePart, Nodes
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.kube.labels import NOTHING, Requirement, Selector, selector_from
from restow.kube.node_selection import NodeSelection, SelectorTerm
from restow.kube.objects import (
    CSIDriver,
    CSIStorageCapacity,
    ObjectReference,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologySelectorTerm,
    WireQuantity,
)
from restow.kube.quantity import parse_quantity
from restow.scheduling.volumes.storage import Storage, class_of_claim

NO_VOLUME = -1

_STORAGE = "storage"
_FILESYSTEM = "Filesystem"
_NANO = 10**9
#: More bytes than any storage has.
_MOST = 1 << 50

_NONE = "kubernetes.io/no-provisioner"


class VolumeMatch(Struct, frozen=True):
    """What one claim would get: the volume with the number ``chosen[node]``, or NO_VOLUME."""

    claim: PersistentVolumeClaim
    chosen: IntArray
    #: Numbers of the volumes by name.
    numbers: Mapping[str, int]
    #: By number.
    volumes: Sequence[PersistentVolume]

    def sizes(self) -> IntArray:
        """How many bytes each volume has, int64[number]."""
        return np.array([in_bytes(_capacity(volume)) for volume in self.volumes], dtype=np.int64)

    def takes(self, volume: str) -> BoolArray:
        """The nodes where the claim gets this volume."""
        number = self.numbers.get(volume)
        return np.zeros(len(self.chosen), dtype=bool) if number is None else np.equal(self.chosen, number)

    def volume(self, node: int) -> str | None:
        """The volume that the claim gets on a node."""
        number = int(self.chosen[node])
        return None if number == NO_VOLUME else next(name for name, each in self.numbers.items() if each == number)


class VolumeOffer(Struct, frozen=True):
    """The volumes that exist, and what is known of them."""

    #: The volumes of the class of a claim.
    of_claim: Callable[[PersistentVolumeClaim], Sequence[PersistentVolume]]
    #: The nodes that reach a volume.
    reach: Callable[[PersistentVolume], BoolArray]
    #: Claims by the name of the volume that a scheduled pod took for them.
    reserved: Mapping[str, Key]


# Source: checkVolumeProvisions of VolumeBinding, MatchTopologySelectorTerms, Kubernetes 1.36.
class Provisioning:
    """Which nodes could get a new volume of a claim."""

    def __init__(self, cluster: ClusterSnapshot, storage: Storage) -> None:
        self._cluster = cluster
        self._nodes = cluster.nodes
        self._storage = storage
        self._allowed: dict[str, BoolArray] = {}
        self._reach: dict[tuple[str, str], BoolArray] = {}
        self._nodes.follow(NodePart.POSITION | NodePart.ASKED_LABELS, self._forget)

    def _forget(self) -> None:
        self._allowed, self._reach = {}, {}

    def allowed(self, claim: PersistentVolumeClaim) -> BoolArray:
        """Where the class makes volumes at all (``allowedTopologies``), bool[node]."""
        name = class_of_claim(claim)
        known = self._allowed.get(name)
        if known is None:
            known = self._allowed[name] = _allowed(self._storage.storage_class(name), self._nodes)
        return known

    def has_room(self, claim: PersistentVolumeClaim) -> BoolArray:
        """Where storage is left for the claim, bool[node]; everywhere if its driver does not report it (``storageCapacity``)."""
        left = self.left(claim)
        return np.ones(len(self._nodes), dtype=bool) if left is None else left[1]

    def left(self, claim: PersistentVolumeClaim) -> tuple[IntArray, BoolArray] | None:
        """How many bytes are left for a claim, int64[node], and where that is enough; None if its driver does not report it.

        Where several parts of the cluster have a node in common, what the first of them says.
        """
        storage_class = self._storage.storage_class(class_of_claim(claim))
        if storage_class is None or not self._publishes_capacity(storage_class.provisioner) or not _says_size(claim):
            return None
        left, room = np.zeros(len(self._nodes), dtype=np.int64), np.zeros(len(self._nodes), dtype=bool)
        capacities: Mapping[tuple[str, str], CSIStorageCapacity] = self._cluster.kind("CSIStorageCapacity")
        for key, capacity in capacities.items():
            if capacity.storage_class_name == storage_class.metadata.name and _is_enough(capacity, claim):
                reached = self._reach_of(key, capacity)
                left[reached & ~room] = _left(capacity)
                room |= reached
        return left, room

    def _publishes_capacity(self, driver: str) -> bool:
        found: CSIDriver | None = self._cluster.kind("CSIDriver").get(("", driver))
        return found is not None and bool(found.spec.storage_capacity)

    def _reach_of(self, key: tuple[str, str], capacity: CSIStorageCapacity) -> BoolArray:
        known = self._reach.get(key)
        if known is None:
            known = self._reach[key] = _selected(_topology(capacity), self._nodes)
        return known


def match_claims(claims: Sequence[PersistentVolumeClaim], offer: VolumeOffer, nodes: int) -> list[VolumeMatch]:
    """What each claim would get on each of the nodes, in order of the requests."""
    matches: list[VolumeMatch] = []
    for claim in sorted(claims, key=requested):
        matches.append(_match(claim, offer, matches, nodes))
    return matches


def requested(claim: PersistentVolumeClaim) -> int:
    """The size that a claim asks for, in nano-bytes; 0 where it does not say."""
    return _size((claim.spec.resources.requests if claim.spec.resources else None) or {})


def in_bytes(nano: int) -> int:
    """Nano-bytes, rounded up to bytes, and not more than thousands of sums of them fit into int64."""
    return min(-(-nano // _NANO), _MOST)


def _capacity(volume: PersistentVolume) -> int:
    return _size(volume.spec.capacity or {})


def _size(amounts: Mapping[str, WireQuantity]) -> int:
    """Of quantities that ``cluster.left_out`` has checked."""
    return parse_quantity(amounts[_STORAGE]).nano if _STORAGE in amounts else 0


def _match(claim: PersistentVolumeClaim, offer: VolumeOffer, earlier: Sequence[VolumeMatch], nodes: int) -> VolumeMatch:
    own, free = _candidates(claim, offer)
    candidates = [*own, *free]
    chosen = np.full(nodes, NO_VOLUME)
    undecided = np.ones(nodes, dtype=bool)
    for number, volume in enumerate(candidates):
        reachable = offer.reach(volume)
        eligible = undecided if number < len(own) else undecided & reachable
        for match in earlier:
            eligible = eligible & ~match.takes(volume.metadata.name)
        chosen[eligible & reachable] = number
        undecided &= ~eligible
        if not undecided.any():
            break
    numbers = {volume.metadata.name: number for number, volume in enumerate(candidates)}
    return VolumeMatch(claim, chosen, numbers, candidates)


def _candidates(
    claim: PersistentVolumeClaim, offer: VolumeOffer
) -> tuple[list[PersistentVolume], list[PersistentVolume]]:
    """The volumes reserved for a claim, and the free ones that will do, smallest first."""
    own, free = [], []
    for volume in offer.of_claim(claim):
        reference = _reference(volume, offer.reserved)
        if not _is_suitable(claim, volume):
            continue
        if reference is None:
            free.append(volume)
        elif _is_reserved_for(reference, claim):
            own.append(volume)
    admitted = [volume for volume in free if _is_free(claim, volume)]
    return own, sorted(admitted, key=_capacity)


def _reference(volume: PersistentVolume, reserved: Mapping[str, Key]) -> ObjectReference | None:
    taken = reserved.get(volume.metadata.name)
    return volume.spec.claim_ref if taken is None else ObjectReference(*taken)


def _is_reserved_for(reference: ObjectReference, claim: PersistentVolumeClaim) -> bool:
    meta = claim.metadata
    if (reference.namespace, reference.name) != (meta.namespace, meta.name):
        return False
    return not reference.uid or reference.uid == meta.uid


def _is_suitable(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether size, mode and attributes of a volume do, and it is there to stay."""
    return (
        _capacity(volume) >= requested(claim)
        and (volume.spec.volume_mode or _FILESYSTEM) == (claim.spec.volume_mode or _FILESYSTEM)
        and (volume.spec.volume_attributes_class_name or "") == (claim.spec.volume_attributes_class_name or "")
        and volume.metadata.deletion_timestamp is None
    )


def _is_free(claim: PersistentVolumeClaim, volume: PersistentVolume) -> bool:
    """Whether a suitable volume without a claim is on offer to this one."""
    if volume.status.phase != "Available":
        return False
    if claim.spec.selector is not None and not selector_from(claim.spec.selector).matches(volume.metadata.labels or {}):
        return False
    return set(claim.spec.access_modes or ()) <= set(volume.spec.access_modes or ())


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
    limit = size_limit(capacity)
    return limit is not None and limit >= -(-requested(claim) // 10**9)


def _left(capacity: CSIStorageCapacity) -> int:
    return 0 if capacity.capacity is None else min(parse_quantity(capacity.capacity).value(), _MOST)


def size_limit(capacity: CSIStorageCapacity) -> int | None:
    """The largest volume in bytes that this capacity has room for; None if it does not say."""
    limit = capacity.capacity if capacity.maximum_volume_size is None else capacity.maximum_volume_size
    return None if limit is None else parse_quantity(limit).value()
