"""Groups: pods that work, restart or are scheduled together, so that moving some of them alone would break the others.

``KINDS`` is the one table of what restow knows of them. A pod belongs to the first kind of which it carries a mark: a
label, an annotation, a field of its ``spec``, or an owner. Owners are followed as far up as the input holds the objects, so
that pods without their labels are recognised too. A policy may name a label of its own, which comes first, and other
packages may add kinds (entry points of the group ``restow.groups``), which come last. Those see labels and owners, because
of annotations only what ``kube.objects.pods`` lists is ever decoded.

The group of a pod is found once for each distinct combination of namespace, relevant labels, other marks and owners.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from msgspec import Struct

from restow.cluster.interning import BoolArray, IdArray, IntArray, Interner, combine
from restow.cluster.pod_columns import PodColumn
from restow.cluster.pod_values import POD_GROUP_LABEL, PodNow
from restow.cluster.pods import Pods
from restow.cluster.snapshot import ClusterSnapshot
from restow.installed_packages import Extensible, unusable
from restow.kube.objects import ObjectMeta, OwnerReference
from restow.kube.objects.pods import SCHEDULING_GROUP, WORKLOAD_REFERENCE

#: Other packages register a ``GroupKind`` under this entry point group, by its name.
ENTRY_POINTS: Final = "restow.groups"
#: ``group`` of a pod that belongs to none.
NO_GROUP: Final = -1
#: For a moment, that of a pod which is a group of its own by the first kind; less for the next ones.
_OF_ITS_OWN: Final = -2
#: How far up owners are followed: pod, StatefulSet, leader pod, StatefulSet, LeaderWorkerSet.
_HIGHEST: Final = 6
#: Kinds of owners that the input may hold, and that may have owners themselves.
_INTERMEDIATE: Final = ("StatefulSet", "Job", "ReplicaSet", "ReplicationController", "DaemonSet", "Deployment")


#: An owner, and its labels as far as the input holds it.
_Owner = tuple[OwnerReference, Mapping[str, str]]


@dataclass(slots=True, frozen=True)
class GroupKind:
    """One kind of group, and how its pods are recognised.

    A *mark* is the key of a label or an annotation, or a field such as ``spec.schedulingGroup``.
    """

    #: What messages call it.
    name: str
    #: Marks that name the group: a pod needs the first of a tuple, and groups differ in the values of any of them.
    marks: tuple[tuple[str, ...], ...] = ()
    #: Kinds of owners, at any height, whose pods are one group.
    owners: tuple[str, ...] = ()
    #: A label of an owner that makes the pods of that owner one group.
    owner_label: str = ""
    #: A label that makes a pod a group of its own, if its value is "true".
    own: str = ""
    #: The mark that says how many pods the group needs.
    size: str = ""
    #: The mark that names the node label of a domain which the pods must share, and which no other group may use.
    exclusive_topology: str = ""
    #: The label by which the pods of a group share domains; empty: all of the group share one.
    exclusive_by: str = ""
    #: Whether the controller deletes and creates all pods of the group when one is evicted.
    restarts: bool = False
    #: Whether replacements wait until a queue admits them, so that not even the only pod of a group moves like any other.
    admitted: bool = False


# Sources: LeaderWorkerSet 0.7 (labels and annotations, RecreateGroupOnPodRestart), JobSet 0.10 (failurePolicy), Kubeflow
# training operator 1.9 and mpi-operator 0.6, KubeRay 1.4, core/v1 of Kubernetes 1.35 and 1.36 (KEP-4671, KEP-5832), Kueue
# 0.14, Volcano 1.12, the coscheduling plugin of scheduler-plugins 0.32.
KINDS: Final = (
    GroupKind(
        "LeaderWorkerSet",
        marks=(("leaderworkerset.sigs.k8s.io/name", "leaderworkerset.sigs.k8s.io/group-index"),),
        owners=("LeaderWorkerSet",),
        size="leaderworkerset.sigs.k8s.io/size",
        exclusive_topology="leaderworkerset.sigs.k8s.io/exclusive-topology",
        restarts=True,
    ),
    GroupKind(
        "JobSet",
        marks=(("jobset.sigs.k8s.io/jobset-name",),),
        owners=("JobSet",),
        exclusive_topology="alpha.jobset.sigs.k8s.io/exclusive-topology",
        exclusive_by="jobset.sigs.k8s.io/job-key",
    ),
    GroupKind(
        "training job",
        marks=(("training.kubeflow.org/job-name",),),
        owners=("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob", "MXJob"),
    ),
    GroupKind("RayCluster", marks=(("ray.io/cluster",),), owners=("RayCluster",)),
    GroupKind("scheduling group", marks=((SCHEDULING_GROUP,), (WORKLOAD_REFERENCE,))),
    GroupKind(
        "Kueue workload",
        marks=(("kueue.x-k8s.io/pod-group-name",), ("kueue.x-k8s.io/workload",)),
        owner_label="kueue.x-k8s.io/queue-name",
        own="kueue.x-k8s.io/managed",
        size="kueue.x-k8s.io/pod-group-total-count",
        admitted=True,
    ),
    GroupKind("Volcano PodGroup", marks=(("scheduling.k8s.io/group-name",), ("scheduling.volcano.sh/group-name",))),
    GroupKind(
        "coscheduling PodGroup",
        marks=((POD_GROUP_LABEL,), ("pod-group.scheduling.sigs.k8s.io/name",)),
        size="pod-group.scheduling.sigs.k8s.io/min-available",
    ),
)


def group_kinds(label: str = "") -> tuple[GroupKind, ...]:
    """The kinds in the order in which they are tried; ``label`` is one that the policy names.

    UnusablePackageError if an installed package is at fault: without its kind, pods that it protects would move.
    """
    named = (GroupKind(f"group by {label}", marks=((label,),)),) if label else ()
    known = Extensible(ENTRY_POINTS, {each.name: each for each in KINDS}, "a kind of restow itself", _kind_of_a_package)
    return (*named, *known.values())


def _kind_of_a_package(name: str, offered: object) -> GroupKind:
    if not isinstance(offered, GroupKind):
        raise unusable(ENTRY_POINTS, name, "is no restow.workloads.groups.GroupKind")
    if offered.name != name:
        raise unusable(ENTRY_POINTS, name, f'declares the kind "{offered.name}"; name the entry point like the kind')
    if not (offered.marks or offered.owners or offered.owner_label or offered.own):
        raise unusable(ENTRY_POINTS, name, "has neither marks nor owners, so no pod would belong to it")
    return offered


class Group(Struct, frozen=True):
    """A group of pods of one namespace."""

    kind: GroupKind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.name} {self.namespace}/{self.name}"


def group_now(kinds: Iterable[GroupKind], pod: PodNow) -> Group | None:
    """The group of a pod as it is at this moment, by itself and its direct owners; None if that is none."""
    marks = {**pod.labels, **dict(pod.group_marks)}
    owners: list[_Owner] = [(owner, {}) for owner in pod.owners]
    named = ((kind, _name_of(kind, marks, owners)) for kind in kinds)
    return next((Group(kind, pod.namespace, name or pod.name) for kind, name in named if name is not None), None)


@dataclass(slots=True)
class Groups:
    """The groups of a cluster's pods, also of those that come later."""

    cluster: ClusterSnapshot
    kinds: tuple[GroupKind, ...] = field(default_factory=group_kinds)
    #: The groups by number.
    known: Interner[Group] = field(default_factory=Interner, init=False)
    #: The number of the group of each pod, or NO_GROUP; int64[pod].
    of_pod: PodColumn[np.int64] = field(init=False)
    _labels: _RelevantLabels = field(init=False)
    #: Kinds of owners that make a group, or that may be in one.
    _kinds_that_matter: frozenset[str] = field(init=False)
    _labels_of_owners: frozenset[str] = field(init=False)
    #: By namespace, relevant labels, other marks and owners.
    _numbers: dict[tuple[int, int, int, int], int] = field(default_factory=dict, init=False)
    #: Rows by namespace and name; made when a pod is owned by another.
    _rows: dict[tuple[int, str], int] | None = field(default=None, init=False)
    #: What is above pods and may have to do with groups; None until somebody asks.
    _notable: frozenset[tuple[str, str]] | None = field(default=None, init=False)
    #: Of each list of owners that was looked at, whether it plainly has nothing to do with groups.
    _plain: list[bool] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        self._labels = _RelevantLabels(self.cluster.pods, _label_keys(self.kinds))
        self._kinds_that_matter = frozenset(("Pod", *(owner for kind in self.kinds for owner in kind.owners)))
        self._labels_of_owners = frozenset(kind.owner_label for kind in self.kinds) - {""}
        self.of_pod = PodColumn(self.cluster.pods, self._find)

    def of(self, pod: int) -> Group | None:
        """The group of a pod; None if it belongs to none."""
        (number,) = self._find(np.array([pod])).tolist()
        return None if number == NO_GROUP else self.known.keys()[number]

    def members(self, group: int, exists: BoolArray) -> IntArray:
        """The pods of a group that exist and have not ended, in canonical order."""
        pods = self.cluster.pods
        return pods.where((self.of_pod.values == group) & exists & ~pods.terminal)

    def mark(self, pod: int, key: str) -> str:
        """The value of a label or another mark of a pod; empty if it has none, or no mark is named."""
        return self._marks(int(self.cluster.pods.labels[pod]), int(self.cluster.pods.group_marks[pod])).get(key, "")

    def _find(self, rows: IntArray) -> IntArray:
        pods, found = self.cluster.pods, np.full(len(rows), NO_GROUP, dtype=np.int64)
        labels = self._labels.of(rows)
        # To find those that are plain, all owners are looked at.
        plain = len(rows) > 1 and self._are_plain(labels, pods.group_marks[rows], pods.owners[rows])
        others = np.flatnonzero(~np.broadcast_to(plain, len(rows)))
        if len(others):
            some = rows[others]
            which, distinct = combine(pods.namespace[some], labels[others], pods.group_marks[some], pods.owners[some])
            numbers = [self._number(*each) for each in map(tuple, distinct.tolist())]
            found[others] = np.array(numbers, dtype=np.int64)[which]
        for at in np.flatnonzero(found < NO_GROUP).tolist():
            kind, pod = self.kinds[_OF_ITS_OWN - int(found[at])], int(rows[at])
            found[at] = self.known.id(Group(kind, pods.tables.namespaces[pods.namespace[pod]], pods.names[pod]))
        return found

    def _number(self, namespace: int, labels: int, marks: int, owners: int) -> int:
        """The number of a group, or NO_GROUP; of a pod that is one itself, what stands for the kind."""
        key = namespace, labels, marks, owners
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = self._recognised(*key)
        return known

    def _recognised(self, namespace: int, labels: int, marks: int, owners: int) -> int:
        tables = self.cluster.pods.tables
        given = self._labels.values[labels] | dict(tables.group_marks[marks])
        above = list(self._owners(namespace, owners))
        for position, kind in enumerate(self.kinds):
            name = _name_of(kind, given, above)
            if name:
                return self.known.id(Group(kind, tables.namespaces[namespace], name))
            if name is not None:
                return _OF_ITS_OWN - position
        return NO_GROUP

    def _are_plain(self, labels: IntArray, marks: IdArray, owners: IdArray) -> BoolArray:
        """Which pods plainly have nothing to do with groups: so are most. The others are looked at one kind at a time."""
        tables = self.cluster.pods.tables
        self._plain += map(self._has_nothing_to_do, tables.owners[len(self._plain) :])
        unlabelled = np.array([not each for each in self._labels.values], dtype=bool)
        unmarked = np.array([not each for each in tables.group_marks], dtype=bool)
        plain: BoolArray = unlabelled[labels] & unmarked[marks] & np.array(self._plain, dtype=bool)[owners]
        return plain

    def _has_nothing_to_do(self, owners: tuple[OwnerReference, ...]) -> bool:
        if self._notable is None:
            self._notable = frozenset(self._found_notable())
        notable = self._notable
        return all(
            each.kind not in self._kinds_that_matter and (each.kind, each.name) not in notable for each in owners
        )

    def _found_notable(self) -> set[tuple[str, str]]:
        """Kind and name of the objects above pods that may have to do with groups, themselves or by what is above them."""
        between = [(kind, self.cluster.kind(kind)) for kind in _INTERMEDIATE]
        found = {
            (kind, name) for kind, those in between for (_, name), each in those.items() if self._matters(each.metadata)
        }
        if not found:
            return found
        below: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for kind, those in between:
            for (_, name), each in those.items():
                for owner in each.metadata.owner_references or ():
                    below[owner.kind, owner.name].append((kind, name))
        reached = list(found)
        while reached:
            new = set(below.pop(reached.pop(), ())) - found
            found |= new
            reached += new
        return found

    def _matters(self, found: ObjectMeta) -> bool:
        if found.labels and not self._labels_of_owners.isdisjoint(found.labels):
            return True
        return any(each.kind in self._kinds_that_matter for each in found.owner_references or ())

    def _metadata_of(self, namespace: int, owner: OwnerReference) -> ObjectMeta | None:
        found = self.cluster.kind(owner.kind).get((self.cluster.pods.tables.namespaces[namespace], owner.name))
        return None if found is None else found.metadata

    def _marks(self, labels: int, marks: int) -> Mapping[str, str]:
        tables = self.cluster.pods.tables
        return {**tables.labels[labels], **dict(tables.group_marks[marks])}

    def _owners(self, namespace: int, owners: int) -> Iterator[_Owner]:
        """The owners of pods and those above them, as far as the input holds them, each once and with its labels."""
        tables, seen = self.cluster.pods.tables, set[tuple[str, str]]()
        level: Iterable[OwnerReference] = tables.owners[owners]
        for _ in range(_HIGHEST):
            above: list[OwnerReference] = []
            for owner in level:
                if (owner.kind, owner.name) in seen:
                    continue
                seen.add((owner.kind, owner.name))
                found = self._metadata_of(namespace, owner) if owner.kind in _INTERMEDIATE else None
                yield owner, (found.labels or {}) if found is not None else {}
                if found is not None:
                    above += found.owner_references or ()
                elif owner.kind == "Pod":
                    above += self._owners_of_pod(namespace, owner.name)
            if not above:
                return
            level = above

    def _owners_of_pod(self, namespace: int, name: str) -> tuple[OwnerReference, ...]:
        pods = self.cluster.pods
        if self._rows is None:
            read = np.flatnonzero(pods.read()).tolist()
            self._rows = {(int(pods.namespace[pod]), pods.names[pod]): pod for pod in read}
        pod = self._rows.get((namespace, name))
        found: tuple[OwnerReference, ...] = () if pod is None else pods.tables.owners[pods.owners[pod]]
        return found


class _RelevantLabels:
    """Of the labels of each pod those that kinds look at, as identifiers."""

    def __init__(self, pods: Pods, keys: frozenset[str]) -> None:
        self._pods = pods
        self._keys = keys
        self._interner: Interner[tuple[tuple[str, str], ...]] = Interner()
        #: By identifier.
        self.values: list[dict[str, str]] = []
        #: The identifier of each distinct set of labels.
        self._known: IntArray = np.zeros(0, dtype=np.int64)

    def of(self, rows: IntArray) -> IntArray:
        """The identifiers of some pods."""
        table = self._pods.tables.labels
        if len(self._known) < len(table):
            new = self._interner.ids(map(self._relevant, table[len(self._known) :]))
            self._known = np.append(self._known, np.array(new, dtype=np.int64))
            self.values = list(map(dict, self._interner.keys()))
        return self._known[self._pods.labels[rows]]

    def _relevant(self, labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        if self._keys.isdisjoint(labels):
            return ()
        return tuple(sorted((key, value) for key, value in labels.items() if key in self._keys))


def _label_keys(kinds: Iterable[GroupKind]) -> frozenset[str]:
    keys = {mark for kind in kinds for marks in kind.marks for mark in marks}
    return frozenset(keys | {kind.own for kind in kinds} - {""})


def _name_of(kind: GroupKind, marks: Mapping[str, str], owners: Iterable[_Owner]) -> str | None:
    """The name of the group of a kind that a pod belongs to; None if it belongs to none, empty if it is one itself."""
    for keys in kind.marks:
        if marks.get(keys[0]):
            return "-".join(marks[key] for key in keys if key in marks)
    if kind.owners or kind.owner_label:
        for owner, labels in owners:
            if owner.kind in kind.owners or (kind.owner_label and owner.kind == "Job" and kind.owner_label in labels):
                return owner.name
    return "" if kind.own and marks.get(kind.own) == "true" else None
