"""Which volume each unbound claim of a pod would get on each node, out of those that exist.

Claims are served from the smallest request up; each gets the smallest volume that will do and that no other claim of
the pod has on that node. A volume that was reserved for the claim goes before all others, and decides alone.
Source: FindMatchingVolume, component-helpers, Kubernetes 1.36; upstream takes volumes of the same size at random, here
the first by name is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.snapshot import Key
from restow.kube.labels import selector_from
from restow.kube.objects import ObjectReference, PersistentVolume, PersistentVolumeClaim, WireQuantity
from restow.kube.quantity import parse_quantity

NO_VOLUME = -1

_STORAGE = "storage"
_FILESYSTEM = "Filesystem"


@dataclass(slots=True, frozen=True)
class Match:
    """What one claim would get: the volume with the number ``chosen[node]``, or NO_VOLUME."""

    claim: PersistentVolumeClaim
    chosen: IntArray
    #: Numbers of the volumes by name.
    numbers: Mapping[str, int]

    def takes(self, volume: str) -> BoolArray:
        """The nodes where the claim gets this volume."""
        number = self.numbers.get(volume)
        return np.zeros(len(self.chosen), dtype=bool) if number is None else np.equal(self.chosen, number)

    def volume(self, node: int) -> str | None:
        """The volume that the claim gets on a node."""
        number = int(self.chosen[node])
        return None if number == NO_VOLUME else next(name for name, each in self.numbers.items() if each == number)


@dataclass(slots=True, frozen=True)
class Offer:
    """The volumes that exist, and what is known of them."""

    #: The volumes of the class of a claim.
    of_claim: Callable[[PersistentVolumeClaim], Sequence[PersistentVolume]]
    #: The nodes that reach a volume.
    reach: Callable[[PersistentVolume], BoolArray]
    #: Claims by the name of the volume that a scheduled pod took for them.
    reserved: Mapping[str, Key]


def match_claims(claims: Sequence[PersistentVolumeClaim], offer: Offer, nodes: int) -> list[Match]:
    """What each claim would get on each of the nodes, in order of the requests."""
    matches: list[Match] = []
    for claim in sorted(claims, key=requested):
        matches.append(_match(claim, offer, matches, nodes))
    return matches


def requested(claim: PersistentVolumeClaim) -> int:
    """The size that a claim asks for, in nano-bytes; 0 where it does not say."""
    return _size((claim.spec.resources.requests if claim.spec.resources else None) or {})


def _capacity(volume: PersistentVolume) -> int:
    return _size(volume.spec.capacity or {})


def _size(amounts: Mapping[str, WireQuantity]) -> int:
    """Of quantities that ``cluster.left_out`` has checked."""
    return parse_quantity(amounts[_STORAGE]).nano if _STORAGE in amounts else 0


def _match(claim: PersistentVolumeClaim, offer: Offer, earlier: Sequence[Match], nodes: int) -> Match:
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
    return Match(claim, chosen, {volume.metadata.name: number for number, volume in enumerate(candidates)})


def _candidates(claim: PersistentVolumeClaim, offer: Offer) -> tuple[list[PersistentVolume], list[PersistentVolume]]:
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
