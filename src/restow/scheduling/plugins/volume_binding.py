"""VolumeBinding: the volumes of a pod must be reachable from its node, or be found or made for it.

Bound claims tie the pod to the nodes that their volumes admit. Claims of a class with ``volumeBindingMode:
WaitForFirstConsumer`` take a volume that exists, or have one made where the class allows it; every other claim without
a volume keeps the pod waiting. Nothing of it depends on the pods of a node. Since 1.37 nodes are scored, too
(``storage_scores``). Source: Kubernetes 1.33 to 1.37.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.node_matching import matches
from restow.cluster.nodes import NodePart
from restow.cluster.pod_values import PodVolume
from restow.cluster.snapshot import Key
from restow.documents.findings import Issue
from restow.kube.node_selection import NodeSelection
from restow.kube.objects import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    Int64,
    NodeSelector,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
)
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.declaration import SchedulerPlugin, SchedulerPluginArgs, invalid
from restow.scheduling.framework.extension_points import (
    PASSES,
    PROCEED,
    SKIP,
    Categories,
    FilterResult,
    Outcome,
    PreFiltered,
    Scores,
)
from restow.scheduling.framework.minors import STORAGE_SCORES, holds
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, PodFacts, Resource
from restow.scheduling.plugins.resource_scoring import UtilizationShapePoint
from restow.scheduling.plugins.storage_scores import storage_scores
from restow.scheduling.volumes.attachable import Migration
from restow.scheduling.volumes.matching import (
    NO_VOLUME,
    Provisioning,
    VolumeMatch,
    VolumeOffer,
    match_claims,
    size_limit,
)
from restow.scheduling.volumes.storage import (
    WAIT_FOR_FIRST_CONSUMER,
    Reservation,
    Reservations,
    VolumePlugin,
    annotations_of,
    class_of_claim,
    has_claim,
    is_bound,
    not_found,
)

NAME = "VolumeBinding"

_UNBOUND = Outcome(("pod has unbound immediate PersistentVolumeClaims",), unresolvable=True)
#: Why bound claims and unbound claims fail, by the codes below.
_BOUND_REASONS = ("", "node(s) didn't match PersistentVolume's node affinity", "")
_UNBOUND_REASONS = (
    "",
    "node(s) didn't find available persistent volumes to bind",
    "node(s) did not have enough free storage",
)
_MISSING_REASON = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
_FINE, _ELSEWHERE, _MISSING = 0, 1, 2
_NOT_FOUND, _FULL = 1, 2

Codes = npt.NDArray[np.int64]
#: A claim, and the nodes where it needs a new volume, bool[node].
_ToMake = tuple[PersistentVolumeClaim, BoolArray]


class VolumeBindingArgs(SchedulerPluginArgs, frozen=True):
    """How long binding may take, which no decision depends on."""

    bind_timeout_seconds: Int64 = 600
    shape: tuple[UtilizationShapePoint, ...] | None = None


def check(args: VolumeBindingArgs) -> list[Issue]:
    """A timeout from 0, and no shape: that takes a feature gate that is off."""
    problems: list[Issue] = []
    if args.bind_timeout_seconds < 0:
        detail = "invalid BindTimeoutSeconds, should not be a negative value"
        problems.append(invalid(("bindTimeoutSeconds",), args.bind_timeout_seconds, detail))
    if args.shape is not None:
        detail = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        problems.append(Issue(("shape",), f"Invalid value: {detail}"))
    return problems


class _Claims(Struct, frozen=True):
    """The claims of a pod."""

    bound: tuple[PersistentVolumeClaim, ...]
    delayed: tuple[PersistentVolumeClaim, ...]


class VolumeBinding(VolumePlugin):
    """Filter."""

    name = NAME

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._nodes = context.state.cluster.nodes
        self._pods = context.state.cluster.pods
        self._provisioning = Provisioning(context.state.cluster, self._storage)
        self._reservations = Reservations(context.state, self._reserve)
        self._migration = Migration(context.state.cluster)
        self._reach: dict[NodeSelector, BoolArray] = {}
        #: The last answer: pod, rows written, version of the reservations, and the category of every node.
        self._last: tuple[tuple[int, int, int], Categories] | None = None
        self._nodes.follow(NodePart.POSITION | NodePart.ASKED_LABELS, self._forget)

    def _forget(self) -> None:
        self._reach, self._last = {}, None

    def prefilter(self, pod: int) -> PreFiltered:
        """Fail where a claim is missing, lost or not bound in time; skip pods without claims."""
        volumes = [volume for volume in self._storage.volumes_of(pod) if volume.disk is None]
        if not volumes:
            return SKIP
        for volume in volumes:
            problem = self._problem(pod, volume)
            if problem is not None:
                return PreFiltered(failure=problem)
        found = self._claims(pod)
        return PreFiltered(failure=found) if isinstance(found, Outcome) else PROCEED

    def filter(self, pod: int, nodes: IntArray) -> FilterResult:
        """Reject nodes that do not reach the bound volumes, or where none can be had for an unbound claim."""
        self._reservations.refresh()
        key = pod, len(self._pods.written), self._reservations.version
        if self._last is None or self._last[0] != key:
            self._last = key, self._categories(pod)
        return FilterResult(self._last[1][nodes], _OUTCOMES)

    def reservation(self, pod: int, node: int) -> Reservation | None:
        """What a pod that is feasible there would take if it were placed on a node now; None where it needs nothing."""
        self._reservations.refresh()
        return self._reserve(pod, node)

    def _problem(self, pod: int, volume: PodVolume) -> Outcome | None:
        """What is wrong with the claim of a volume."""
        claim = self._storage.claim(pod, volume)
        if claim is None and volume.ephemeral:
            text = f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{volume.claim}"'
            return Outcome((text,), unresolvable=True)
        if claim is None:
            return not_found("persistentvolumeclaim", volume.claim)
        quoted = f'persistentvolumeclaim "{volume.claim}"'
        if claim.status.phase == "Lost":
            lost = f'{quoted} bound to non-existent persistentvolume "{claim.spec.volume_name}"'
            return Outcome((lost,), unresolvable=True)
        if claim.metadata.deletion_timestamp is not None:
            return Outcome((f"{quoted} is being deleted",), unresolvable=True)
        if volume.ephemeral and not self._storage.is_for_pod(claim, pod):
            return Outcome((self._foreign(pod, volume),), unresolvable=True)
        return None

    def _foreign(self, pod: int, volume: PodVolume) -> str:
        claim, owner = "/".join(self._storage.claim_key(pod, volume)), self._storage.full_name(pod)
        return f"PVC {claim} was not created for pod {owner} (pod is not owner)"

    def _claims(self, pod: int) -> _Claims | Outcome:
        """The claims of a pod whose claims all exist, or why it has to wait."""
        bound, delayed, immediate = [], [], False
        for volume in self._storage.volumes_of(pod):
            claim = None if volume.disk is not None else self._storage.claim(pod, volume)
            if claim is None:
                continue
            if is_bound(claim):
                bound.append(claim)
                continue
            mode = self._binding_mode(claim)
            if mode is None:
                text = f'VolumeBindingMode not set for StorageClass "{class_of_claim(claim)}"'
                return Outcome((text,), unresolvable=True)
            if mode == WAIT_FOR_FIRST_CONSUMER and not claim.spec.volume_name:
                delayed.append(claim)
            else:
                immediate = True
        return _UNBOUND if immediate else _Claims(tuple(bound), tuple(delayed))

    def _binding_mode(self, claim: PersistentVolumeClaim) -> str | None:
        """``volumeBindingMode`` of the claim's class: empty without a class, None where the class does not say."""
        storage_class = self._storage.storage_class(class_of_claim(claim))
        return "" if storage_class is None else storage_class.volume_binding_mode

    def _categories(self, pod: int) -> Categories:
        claims = self._claims(pod)
        assert not isinstance(claims, Outcome), "PreFilter lets no pod through that has to wait"
        return self._bound(claims.bound) * len(_UNBOUND_REASONS) + self._delayed(claims.delayed) + PASSES

    def _bound(self, claims: tuple[PersistentVolumeClaim, ...]) -> Codes:
        """The verdict on each node by the first claim that objects."""
        codes = np.full(len(self._nodes), _FINE)
        for claim in claims:
            volume = self._storage.volume(claim.spec.volume_name)
            if volume is None:
                codes[codes == _FINE] = _MISSING
                break
            codes[(codes == _FINE) & ~self._reached_when_bound(volume)] = _ELSEWHERE
        return codes

    def _delayed(self, claims: tuple[PersistentVolumeClaim, ...]) -> Codes:
        """The verdict on each node by the first claim without a volume."""
        codes = np.full(len(self._nodes), _FINE)
        matches, to_make = self._by_node(claims)
        for _, here in to_make[: len(to_make) - len(matches)]:
            codes[~here] = _NOT_FOUND
        for claim, where in to_make:
            open_ = where & (codes == _FINE)
            codes[open_ & ~self._provisioning.allowed(claim)] = _NOT_FOUND
            codes[open_ & (codes == _FINE) & ~self._provisioning.has_room(claim)] = _FULL
        return codes

    def _by_node(self, claims: tuple[PersistentVolumeClaim, ...]) -> tuple[list[VolumeMatch], list[_ToMake]]:
        """What each claim gets of the volumes that exist, and where a claim needs a new one."""
        to_match = []
        to_make: list[_ToMake] = []
        for claim in claims:
            selected = self._selected_node(claim)
            if selected is None:
                to_match.append(claim)
            else:
                to_make.append((claim, np.arange(len(self._nodes)) == self._nodes.index.get(selected, -1)))
        matches = self._matches(to_match)
        return matches, [*to_make, *((match.claim, match.chosen == NO_VOLUME) for match in matches)]

    def _matches(self, claims: list[PersistentVolumeClaim]) -> list[VolumeMatch]:
        """What each claim gets on each node, of the volumes that exist."""
        offer = VolumeOffer(
            lambda claim: self._storage.volumes_of_class(class_of_claim(claim)),
            self._reached,
            self._reservations.all.taken,
        )
        return match_claims(claims, offer, len(self._nodes))

    def _reached_when_bound(self, volume: PersistentVolume) -> BoolArray:
        """The nodes that reach a bound volume, counting built-in drivers that a CSI driver replaced."""
        reached, migrated = self._reached(volume), self._migration.of(volume)
        return reached if migrated is None else np.where(migrated[0], self._admitted(migrated[1]), reached)

    def _reached(self, volume: PersistentVolume) -> BoolArray:
        """The nodes that a volume's node affinity admits."""
        return self._admitted(volume.spec.node_affinity.required if volume.spec.node_affinity is not None else None)

    def _admitted(self, required: NodeSelector | None) -> BoolArray:
        if required is None:
            return np.ones(len(self._nodes), dtype=bool)
        known = self._reach.get(required)
        if known is None:
            known = self._reach[required] = matches(NodeSelection.compile(None, required), self._nodes)
        return known

    def _selected_node(self, claim: PersistentVolumeClaim) -> str | None:
        reserved = self._reservations.all.selected.get(_key(claim))
        return annotations_of(claim).selected_node if reserved is None else reserved

    def _reserve(self, pod: int, node: int) -> Reservation | None:
        """What a pod takes when it is placed on a node."""
        if not self._storage.volumes_of(pod):
            return None
        claims = self._claims(pod)
        if isinstance(claims, Outcome) or not claims.delayed:
            return None
        matches = self._matches([claim for claim in claims.delayed if self._selected_node(claim) is None])
        taken = {volume: _key(match.claim) for match in matches if (volume := match.volume(node)) is not None}
        # A claim that the pod names twice may take a volume and have another one made.
        unmatched = [match.claim for match in matches if match.volume(node) is None]
        chosen = [claim for claim in claims.delayed if self._selected_node(claim) is not None]
        return Reservation(taken, {_key(claim): self._nodes.names[node] for claim in (*chosen, *unmatched)})


class ScoringVolumeBinding(VolumeBinding):
    """Filter and score."""

    def score(self, pod: int, nodes: IntArray) -> Scores | None:
        """How much of the storage is left, 0 to 100; None for pods that need no new volume."""
        claims = self._claims(pod)
        if isinstance(claims, Outcome) or not claims.delayed:
            return None
        self._reservations.refresh()
        return storage_scores(len(self._nodes), *self._by_node(claims.delayed), self._provisioning)[nodes]


def _key(claim: PersistentVolumeClaim) -> Key:
    return claim.metadata.namespace, claim.metadata.name


def _outcome(bound: int, unbound: int) -> Outcome:
    reasons = (_BOUND_REASONS[bound], _UNBOUND_REASONS[unbound], _MISSING_REASON if bound == _MISSING else "")
    return Outcome(tuple(filter(None, reasons)), unresolvable=True)


#: By the number of the combination; the one where nothing is wrong is left out.
_OUTCOMES = tuple(_outcome(bound, unbound) for bound in range(3) for unbound in range(3))[1:]


def _reaches_further(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the class is new, or its volumes can be elsewhere than before."""
    old: StorageClass | None = event.old
    new: StorageClass = event.new
    return old is None or (old.allowed_topologies or ()) != (new.allowed_topologies or ())


def _is_migrated(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the CSINode is new, or other built-in drivers than before have been replaced on its node."""
    old: CSINode | None = event.old
    new: CSINode = event.new
    return old is None or annotations_of(old).migrated_plugins != annotations_of(new).migrated_plugins


def _stops_telling_capacity(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: what is left of the driver's storage is no longer looked at.

    Upstream asks that the pod has a volume of the driver inline, which restow does not read.
    """
    old: CSIDriver = event.old
    new: CSIDriver = event.new
    return bool(old.spec.storage_capacity) and not new.spec.storage_capacity


def _grows(_pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: larger volumes than before can be made."""
    old: CSIStorageCapacity | None = event.old
    new: CSIStorageCapacity = event.new
    if old is None:
        return True
    before, now = size_limit(old), size_limit(new)
    return now is not None and (before is None or now > before)


_INTERESTS: Final = (
    Interest(
        Resource.STORAGE_CLASS,
        Action.ADD | Action.UPDATE,
        _reaches_further,
        "a storage class is added, or allows other topologies",
    ),
    Interest(
        Resource.PERSISTENT_VOLUME_CLAIM, Action.ADD | Action.UPDATE, has_claim, "one of its claims is added or changes"
    ),
    Interest(Resource.PERSISTENT_VOLUME, Action.ADD | Action.UPDATE, words="a persistent volume is added or changes"),
    Interest(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL, words="a node is added or gets other labels"),
    Interest(
        Resource.CSI_NODE,
        Action.ADD | Action.UPDATE,
        _is_migrated,
        "a CSINode is added, or tells that other drivers are replaced",
    ),
    Interest(
        Resource.CSI_DRIVER,
        Action.UPDATE,
        _stops_telling_capacity,
        "a CSI driver no longer tells how much storage is left",
    ),
    Interest(
        Resource.CSI_STORAGE_CAPACITY, Action.ADD | Action.UPDATE, _grows, "more storage is left for a storage class"
    ),
)


def _made(context: Context, _args: VolumeBindingArgs) -> VolumeBinding:
    return ScoringVolumeBinding(context) if holds(STORAGE_SCORES, context.state.cluster) else VolumeBinding(context)


PLUGIN = SchedulerPlugin(
    NAME,
    ("preFilter", "filter", "reserve", "preScore", "score", "preBind"),
    _made,
    args=VolumeBindingArgs,
    check=check,
    dependent=("filter", "reserve", "preBind"),
    interests=_INTERESTS,
)
