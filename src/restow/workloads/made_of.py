"""Which template a controller makes its next pod of, and which one a running pod was made of.

A ReplicaSet, a ReplicationController and a Job have one template; while a Deployment rolls out, its old ReplicaSets lose
their pods to the new one. A DaemonSet makes every new pod of its newest template. A StatefulSet keeps an ordinal below its
partition at the current revision; with ``OnDelete``, and above, the next pod is of the update revision. Older templates are
those of ControllerRevisions. Source: the controllers of apps and batch, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from restow.cluster.owners import controller_of
from restow.cluster.snapshot import TEMPLATED, ClusterSnapshot
from restow.kube.objects import ControllerRevision, OwnerReference, PodTemplate, Workload
from restow.workloads.controllers import ordinal_of

#: The label of pods, and of the revisions of a DaemonSet or a StatefulSet.
REVISION_HASH: Final = "controller-revision-hash"
TEMPLATE_HASH: Final = "pod-template-hash"
#: Labels that the API server copies from a node to the pod that is bound to it. Source: PodTopologyLabels, Kubernetes 1.36.
OF_THE_NODE: Final = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")
_TEMPLATE_GENERATION: Final = "pod-template-generation"
_REVISION: Final = "ControllerRevision"
_NOTHING: Final[Mapping[str, str]] = {}


class MadeOf(NamedTuple):
    """The templates of a running pod and of the next one; None where that is not known."""

    own: PodTemplate | None = None
    new: PodTemplate | None = None
    #: Labels that the controller adds to those of the template.
    labels: Mapping[str, str] = _NOTHING
    #: Why the next pod may be another one; empty where it may not.
    caveat: str = ""
    #: The kinds that the input lacks to know better.
    lacks: tuple[str, ...] = ()
    #: The kinds that the input lacks and that might explain why a pod differs from its template.
    revisions: tuple[str, ...] = ()


class Templates:
    """The templates of one cluster's controllers."""

    def __init__(self, cluster: ClusterSnapshot) -> None:
        self._cluster = cluster

    def of(self, owner: OwnerReference, namespace: str, name: str, labels: Mapping[str, str]) -> MadeOf:
        """What a pod of this name and these labels was made of, and what the next one will be made of."""
        found = self.controller(owner, namespace)
        if found is None:
            return self._unknown(owner, namespace, labels)
        match owner.kind:
            case "StatefulSet":
                return self._of_stateful_set(found, name, labels)
            case "DaemonSet":
                return self._of_daemon_set(found, labels)
            case "ReplicaSet":
                caveat, lacks = self._rollout(found)
                return MadeOf(found.spec.template, found.spec.template, caveat=caveat, lacks=lacks)
        return MadeOf(found.spec.template, found.spec.template)

    def distinguishing_key(
        self, owner: OwnerReference, namespace: str, name: str, labels: Mapping[str, str]
    ) -> Hashable:
        """In what the pods of one controller differ for ``of``."""
        own_hash = labels.get(REVISION_HASH), TEMPLATE_HASH in labels
        if owner.kind != "StatefulSet":
            return own_hash
        found = self.controller(owner, namespace)
        return own_hash, found is not None and _keeps_revision(found, name)

    def controller(self, owner: OwnerReference, namespace: str) -> Any | None:
        """The controller of that name and uid; None if the input does not hold it."""
        found = self._cluster.kind(owner.kind).get((namespace, owner.name)) if owner.kind in TEMPLATED else None
        return None if found is None or (owner.uid and found.metadata.uid not in ("", owner.uid)) else found

    def lacks(self, kind: str) -> bool:
        """Whether objects of a kind are unknown."""
        return not self._cluster.has_list(kind)

    def _unknown(self, owner: OwnerReference, namespace: str, labels: Mapping[str, str]) -> MadeOf:
        if (owner.kind, namespace, owner.name) in self._cluster.left_out:
            return MadeOf(caveat=f"its {owner.kind} {owner.name} cannot be read")
        if owner.kind == "ReplicaSet" and TEMPLATE_HASH in labels and not self.lacks(owner.kind):
            return MadeOf(caveat=f"ReplicaSet {owner.name}, of whose template it was made, is not there any more")
        return MadeOf()

    def _rollout(self, replica_set: Workload) -> tuple[str, tuple[str, ...]]:
        """Why a ReplicaSet may not be the one that makes the next pod, and the kinds that would say so."""
        owner = controller_of(replica_set.metadata.owner_references or ())
        if owner is None or owner.kind != "Deployment":
            return "", ()
        deployment = self.controller(owner, replica_set.metadata.namespace)
        if deployment is not None and deployment.spec.paused:
            return "", ()
        newer = self._newer(replica_set, owner.uid)
        if newer:
            lacks = ("Deployment",) if deployment is None and self.lacks("Deployment") else ()
            return (f"Deployment {owner.name} replaces the pods of this ReplicaSet with those of {newer}", lacks)
        template, own = None if deployment is None else deployment.spec.template, replica_set.spec.template
        if template is not None and own is not None and _differ(template, own):
            return f"the template of Deployment {owner.name} has changed, and a rollout will replace its pods", ()
        return "", ()

    def _newer(self, replica_set: Workload, deployment: str) -> str:
        """A newer ReplicaSet of the same Deployment; empty if there is none, or if nothing says which is newer."""
        own = _revision(replica_set)
        siblings = self._replica_sets.get(deployment, ())
        newest = max(siblings, key=_revision, default=replica_set)
        return newest.metadata.name if 0 < own < _revision(newest) else ""

    @cached_property
    def _replica_sets(self) -> Mapping[str, list[Workload]]:
        """The ReplicaSets of each Deployment, by its uid."""
        found: defaultdict[str, list[Workload]] = defaultdict(list)
        for each in self._cluster.kind("ReplicaSet").values():
            owner = controller_of(each.metadata.owner_references or ())
            if owner is not None and owner.uid:
                found[owner.uid].append(each)
        return found

    @cached_property
    def _revisions(self) -> Mapping[str, list[ControllerRevision]]:
        """The revisions of each controller, by its uid, the oldest first."""
        found: defaultdict[str, list[ControllerRevision]] = defaultdict(list)
        for each in self._cluster.kind(_REVISION).values():
            owner = controller_of(each.metadata.owner_references or ())
            if owner is not None and owner.uid:
                found[owner.uid].append(each)
        return {uid: sorted(some, key=lambda each: each.revision) for uid, some in found.items()}

    def _of_daemon_set(self, found: Workload, labels: Mapping[str, str]) -> MadeOf:
        new, own_hash = found.spec.template, labels.get(REVISION_HASH)
        revisions = self._revisions.get(found.metadata.uid, ())
        if new is None or not revisions or own_hash is None:
            return MadeOf(new, new, revisions=(_REVISION,) if self.lacks(_REVISION) else ())
        by_hash = {(each.metadata.labels or {}).get(REVISION_HASH, ""): each for each in revisions}
        newest = next(reversed(by_hash))
        if own_hash == newest:
            # The controller may not have made a revision of the template as it is now.
            return MadeOf(by_hash[newest].data.spec.template or new, new)
        given = {REVISION_HASH: newest, **_generation(found)}
        if own_hash not in by_hash:
            return MadeOf(new, new, given, f"no ControllerRevision has its revision {own_hash}")
        return MadeOf(by_hash[own_hash].data.spec.template or new, new, given)

    def _of_stateful_set(self, found: Workload, name: str, labels: Mapping[str, str]) -> MadeOf:
        status, own_name = found.status, labels.get(REVISION_HASH)
        update, needed = status.update_revision, next_revision(found, name)
        known = {
            each.metadata.name: each.data.spec.template
            for each in self._revisions.get(found.metadata.uid, ())
            if each.data.spec.template is not None
        }
        if found.spec.template is not None:
            known[update] = found.spec.template
        new = known.get(needed)
        if own_name is None or own_name == needed:
            caveat = "" if new is not None or needed == update else _unknown_revision(needed)
            return MadeOf(new, new, caveat=caveat, lacks=self._lacking(caveat))
        if new is None:
            caveat = _unknown_revision(needed)
            return MadeOf(caveat=caveat, lacks=self._lacking(caveat))
        if not needed:
            return MadeOf(new, new)
        caveat = "" if own_name in known else _unknown_revision(own_name)
        return MadeOf(known.get(own_name, new), new, {REVISION_HASH: needed}, caveat, self._lacking(caveat))

    def _lacking(self, caveat: str) -> tuple[str, ...]:
        return (_REVISION,) if caveat and self.lacks(_REVISION) else ()


def _unknown_revision(name: str) -> str:
    return f"the template of revision {name} is not known, as the input lacks its ControllerRevision"


def next_revision(stateful_set: Workload, pod: str) -> str:
    """The ControllerRevision (its name) of the next pod with this name; empty where the status does not say."""
    status = stateful_set.status
    keeps = _keeps_revision(stateful_set, pod) and status.current_revision
    return status.current_revision if keeps else status.update_revision


def _keeps_revision(found: Workload, pod: str) -> bool:
    """Whether an update does not reach the ordinal of a pod. Source: newVersionedStatefulSetPod, Kubernetes 1.36."""
    strategy, ordinal = found.spec.update_strategy, ordinal_of(found.metadata.name, pod)
    if strategy is None or strategy.type not in ("", "RollingUpdate") or ordinal is None:
        return False
    partition = strategy.rolling_update.partition if strategy.rolling_update is not None else None
    first = found.spec.ordinals.start if found.spec.ordinals is not None else 0
    return ordinal < first + (partition or 0)


def _revision(replica_set: Workload) -> int:
    """The revision of a Deployment that a ReplicaSet is; 0 where it does not say so."""
    annotations = replica_set.metadata.annotations
    text = (annotations.revision or "") if annotations is not None else ""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _differ(template: PodTemplate, own: PodTemplate) -> bool:
    """Whether a Deployment's template is another than a ReplicaSet's, which has a hash of it as one more label."""
    labels = {key: value for key, value in (own.metadata.labels or {}).items() if key != TEMPLATE_HASH}
    return own.spec != template.spec or labels != (template.metadata.labels or {})


def _generation(daemon_set: Workload) -> Mapping[str, str]:
    """The label that holds the generation of the template that a pod of a DaemonSet was made from."""
    told = daemon_set.metadata.annotations
    return {_TEMPLATE_GENERATION: told.template_generation} if told and told.template_generation else _NOTHING
