"""What an input lacks, and for which pods that leaves the answer open.

``kubectl get nodes,pods`` is not the whole cluster: a claim that is not in the dump may exist. An input covers a kind
if it holds an object of it, or an empty list of it. If a pod's placement depends on a kind that is missing, nothing is
proven: *decisive* kinds can rule nodes out, others only shift scores.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from functools import cached_property

from restow.cluster.owners import owner_of
from restow.cluster.pod_classes import Aspect, ClassKeys
from restow.cluster.pod_columns import PodGroups
from restow.cluster.pod_values import PodClaim, scheduling_group, workload_reference
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.excerpts import plural
from restow.kube.objects import DEVICE_KINDS, PersistentVolumeClaim, written_kind
from restow.scheduling.framework.minors import minds_workloads
from restow.scheduling.plugins.affinity_terms import AffinityTerm, PodTerms, compile_terms
from restow.scheduling.plugins.spread_terms import SELECTING_WORKLOADS

#: The kinds that placements and evictions depend on, in addition to nodes and pods.
KINDS = (
    "PodDisruptionBudget",
    "PersistentVolumeClaim",
    "PersistentVolume",
    "StorageClass",
    "CSINode",
    "CSIDriver",
    "CSIStorageCapacity",
    *DEVICE_KINDS,
    "PodGroup",
    "Workload.scheduling.k8s.io",
    "Namespace",
    "Service",
    "ReplicaSet",
    "StatefulSet",
    "ReplicationController",
    "Job",
)
_BUDGET = "PodDisruptionBudget"
_GROUPS, _WORKLOADS = "PodGroup", "Workload.scheduling.k8s.io"

#: Kinds in the order of ``KINDS``.
Kinds = tuple[str, ...]


class MissingData:
    """What one cluster's input leaves open."""

    def __init__(self, cluster: ClusterSnapshot) -> None:
        self._cluster = cluster
        self._pods = cluster.pods
        self._keys = ClassKeys(cluster.pods, Aspect.VOLUMES | Aspect.DEVICES | Aspect.POD_AFFINITY | Aspect.SPREADING)
        self._missing = frozenset(kind for kind in KINDS if not cluster.has_list(kind))
        #: The kinds that were missed in answers so far.
        self.missed: set[str] = set()
        self._evicting: dict[bool, Kinds] = {}
        #: By what they depend on of a pod.
        self._known: dict[tuple[object, ...], tuple[Kinds, Kinds]] = {}
        #: How many groups of pods with the same rules and namespace the terms below are known of.
        self._indexed = 0
        #: What keeps others away from pods that are there, by the labels of namespaces.
        self._repelling: list[AffinityTerm] = []
        #: What draws others to pods that are there or pushes them off, by the labels of namespaces.
        self._pulling: list[AffinityTerm] = []

    def lacks(self, kind: str) -> bool:
        """Whether objects of a kind are unknown."""
        lacks = kind in self._missing
        if lacks:
            self.missed.add(kind)
        return lacks

    def evicting(self, pod: int) -> Kinds:
        """The missing kinds that could forbid the eviction of a pod."""
        if not self._missing:
            return ()
        owner = owner_of(self._pods, pod)
        of_job = owner is not None and owner.kind == "Job" and not self._pods.terminal[pod]
        known = self._evicting.get(of_job)
        if known is None:
            known = self._evicting[of_job] = self._only_missing((_BUDGET, "Job") if of_job else (_BUDGET,))
        self.missed.update(known)
        return known

    def decisive(self, pod: int) -> Kinds:
        """The missing kinds that could rule out nodes for a pod."""
        known = *self._left_open(pod)[0], *self._of_group(pod)
        self.missed.update(known)
        return known

    def scoring(self, pod: int) -> Kinds:
        """The missing kinds that could shift the scores of nodes for a pod."""
        known = self._left_open(pod)[1]
        self.missed.update(known)
        return known

    def signature(self, pod: int) -> Hashable:
        """What distinguishes pods for ``decisive`` and ``scoring``; records nothing as missed."""
        return *self._left_open(pod), self._of_group(pod)

    def _of_group(self, pod: int) -> Kinds:
        """The kind of a pod's group, if it has one and the input lacks the kind."""
        marks = self._pods.tables.group_marks[self._pods.group_marks[pod]]
        workload = workload_reference(marks) if minds_workloads(self._cluster) else ""
        named = ((_GROUPS, scheduling_group(marks)), (_WORKLOADS, workload))
        return tuple(kind for kind, name in named if kind in self._missing and name)

    def _left_open(self, pod: int) -> tuple[Kinds, Kinds]:
        """The kinds that could rule out nodes for a pod, and those that could shift their scores."""
        if not self._missing:
            return (), ()
        self._index_new_groups()
        key = self._keys.of(pod)
        known = self._known.get(key)
        if known is None:
            known = self._only_missing(self._ruling_out(pod)), self._only_missing(self._shifting(pod))
            self._known[key] = known
        return known

    def _only_missing(self, kinds: Iterable[str]) -> Kinds:
        found = self._missing.intersection(kinds)
        return tuple(kind for kind in KINDS if kind in found) if found else ()

    def _ruling_out(self, pod: int) -> Iterator[str]:
        yield from self._of_volumes(pod)
        yield from self._of_claims(pod)
        own = self._terms(int(self._pods.rules[pod]), int(self._pods.namespace[pod]))
        if any(map(_asks_namespaces, (*own.affinity, *own.anti_affinity))) or self._is_meant(pod, self._repelling):
            yield "Namespace"

    def _of_volumes(self, pod: int) -> Iterator[str]:
        volumes = [each for each in self._pods.tables.volumes[self._pods.volumes[pod]] if each.disk is None]
        if not volumes:
            return
        yield from ("PersistentVolumeClaim", "CSINode")
        claims = self._cluster.kind("PersistentVolumeClaim")
        namespace = self._pods.tables.namespaces[self._pods.namespace[pod]]
        for volume in volumes:
            claim: PersistentVolumeClaim | None = claims.get((namespace, volume.claim))
            if claim is not None and claim.spec.volume_name:
                yield "PersistentVolume"
            elif claim is not None:
                yield from ("StorageClass", "PersistentVolume", "CSIDriver", "CSIStorageCapacity")

    def _of_claims(self, pod: int) -> Iterator[str]:
        claims: tuple[PodClaim, ...] = self._pods.tables.claims[self._pods.claims[pod]]
        if claims:
            yield from ("ResourceClaim", "DeviceClass", "ResourceSlice")
        if any(each.to_make for each in claims):
            yield "ResourceClaimTemplate"

    def _shifting(self, pod: int) -> Iterator[str]:
        if not self._pods.tables.spread[self._pods.spread[pod]]:
            yield "Service"
            owner = owner_of(self._pods, pod)
            if owner is not None and owner.kind in SELECTING_WORKLOADS:
                yield owner.kind
        own = self._terms(int(self._pods.rules[pod]), int(self._pods.namespace[pod]))
        if any(_asks_namespaces(each.term) for each in own.preferred) or self._is_meant(pod, self._pulling):
            yield "Namespace"

    def _terms(self, rules: int, namespace: int) -> PodTerms:
        return compile_terms(self._pods.tables.rules[rules], self._pods.tables.namespaces[namespace])

    def _is_meant(self, pod: int, terms: Iterable[AffinityTerm]) -> bool:
        labels = self._pods.tables.labels[self._pods.labels[pod]]
        return any(term.selector.matches(labels) for term in terms)

    @cached_property
    def _carriers(self) -> PodGroups:
        return PodGroups(self._pods, "rules", "namespace")

    def _index_new_groups(self) -> None:
        """Index the terms of new pods, each pair of rules and namespace once."""
        groups = self._carriers
        if self._indexed == len(groups):
            return
        tables, new = self._pods.tables, groups.table[self._indexed :]
        self._indexed = len(groups)
        for rules, namespace in new:
            own = tables.rules[rules]
            if own.pod_affinity is not None or own.pod_anti_affinity is not None:
                self._carry(self._terms(rules, namespace))

    def _carry(self, terms: PodTerms) -> None:
        repelling = list(filter(_asks_namespaces, terms.anti_affinity))
        preferred = (each.term for each in terms.preferred)
        pulling = list(filter(_asks_namespaces, (*preferred, *terms.affinity)))
        self._repelling += repelling
        self._pulling += pulling
        if repelling or pulling:
            self._known.clear()


def _asks_namespaces(term: AffinityTerm) -> bool:
    return bool(term.namespace_selector.requirements)


def plural_kinds(kinds: Iterable[str]) -> str:
    """Kinds in a sentence."""
    return " and ".join(plural(written_kind(kind)) for kind in kinds)
