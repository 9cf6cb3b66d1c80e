"""Pod classes: pods that are alike in everything that a rule looks at get the same answer, which is found once.

This is the one list of which rule reads which column. ``LOOKED_AT_BY`` declares it for every column of ``Pods``; code
that keeps an answer for pods alike names the aspects of a pod that the answer depends on, and gets the classes from
``pod_classes`` or ``ClassKeys``. A column that is added has to be declared here too.

In classes, labels count only where a selector mentions their key: the names of pods and template hashes make none. For
selectors themselves ``LabelGroups`` has the pods by namespace and labels, so that each is matched once a group.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Final

from restow.cluster.interning import IntArray
from restow.cluster.pod_columns import MentionedLabels, PodGroups
from restow.cluster.pods import Pods
from restow.cluster.snapshot import ClusterSnapshot
from restow.kube.labels import NOTHING, Selector

#: Equal for pods that are alike.
ClassKey = tuple[int, ...]


class Aspect(enum.Flag):
    """What rules look at in a pod; the combined ones are what has been asked for together."""

    #: Which pod it is.
    IDENTITY = enum.auto()
    #: Where it is or wants to be.
    PLACE = enum.auto()
    #: Its history.
    HISTORY = enum.auto()
    #: What it takes of the node where it was observed.
    HOLDINGS = enum.auto()
    #: Whether its controller creates it again, and when.
    REPLACEMENT = enum.auto()
    #: How readily it is evicted.
    RELUCTANCE = enum.auto()
    #: What keeps it in the scheduler's queue.
    QUEUE = enum.auto()
    REQUESTS = enum.auto()
    TOLERATIONS = enum.auto()
    NODE_AFFINITY = enum.auto()
    PORTS = enum.auto()
    VOLUMES = enum.auto()
    DEVICES = enum.auto()
    #: Its own terms about other pods, and whether it is meant by theirs.
    POD_AFFINITY = enum.auto()
    #: Its constraints, or the default selector of a pod without any.
    SPREADING = enum.auto()
    IMAGES = enum.auto()
    #: Which pods it may preempt.
    PREEMPTION = enum.auto()
    #: Which scheduler places it.
    SCHEDULER = enum.auto()

    #: Upstream's nodeFit.
    NODE_FIT = REQUESTS | TOLERATIONS | NODE_AFFINITY
    #: The filters of a scheduler.
    FILTERS = NODE_FIT | PORTS | VOLUMES | DEVICES | POD_AFFINITY | SPREADING
    #: All that a scheduler looks at to place a pod.
    SCHEDULING = FILTERS | IMAGES | PREEMPTION | SCHEDULER
    #: All that decides where the replacement of a pod lands.
    LANDING = SCHEDULING | REPLACEMENT | HOLDINGS


#: The aspects of a pod that each column is part of.
LOOKED_AT_BY: Final[Mapping[str, Aspect]] = {
    "names": Aspect.IDENTITY,
    "uids": Aspect.IDENTITY,
    "namespace": Aspect.VOLUMES | Aspect.DEVICES | Aspect.POD_AFFINITY | Aspect.SPREADING | Aspect.REPLACEMENT,
    "node": Aspect.PLACE,
    "nominated": Aspect.PLACE,
    "labels": Aspect.POD_AFFINITY | Aspect.SPREADING,
    "owners": Aspect.SPREADING | Aspect.REPLACEMENT,
    "resources": Aspect.REQUESTS,
    "held": Aspect.HOLDINGS,
    "tolerations": Aspect.TOLERATIONS,
    "rules": Aspect.NODE_AFFINITY | Aspect.POD_AFFINITY,
    "spread": Aspect.SPREADING,
    "images": Aspect.IMAGES,
    "init_images": Aspect.IMAGES,
    "volume_images": Aspect.IMAGES,
    "ports": Aspect.PORTS,
    "schedulers": Aspect.SCHEDULER,
    "vetoes": Aspect.RELUCTANCE,
    "gates": Aspect.QUEUE,
    "group_marks": Aspect.RELUCTANCE,
    "volumes": Aspect.VOLUMES,
    "claims": Aspect.DEVICES,
    "origins": Aspect.REPLACEMENT,
    "states": Aspect.HISTORY,
    "conditions": Aspect.HISTORY,
    "phase": Aspect.HISTORY | Aspect.REPLACEMENT,
    "qos": Aspect.RELUCTANCE,
    "priority": Aspect.PREEMPTION | Aspect.QUEUE | Aspect.RELUCTANCE,
    "has_priority": Aspect.RELUCTANCE,
    "created": Aspect.HISTORY,
    "started": Aspect.HISTORY,
    "flags": Aspect.PREEMPTION | Aspect.RELUCTANCE | Aspect.REPLACEMENT,
    "replaces": Aspect.IDENTITY,
    "replaced_by": Aspect.IDENTITY,
    "rank": Aspect.IDENTITY,
}


def columns_of(aspects: Aspect) -> tuple[str, ...]:
    """The columns that these aspects of a pod consist of."""
    return tuple(column for column, looked_at_by in LOOKED_AT_BY.items() if looked_at_by & aspects)


def values_of(pods: Pods, pod: int, aspects: Aspect) -> dict[str, Any]:
    """The values of a pod in the columns of some aspects, where ``Pods`` has identifiers."""
    tables = pods.tables
    named = (column for column in columns_of(aspects) if hasattr(tables, column))
    return {column: getattr(tables, column)[getattr(pods, column)[pod]] for column in named}


def pod_classes(cluster: ClusterSnapshot, aspects: Aspect) -> PodGroups:
    """The classes of pods that are alike in these aspects, for code that asks about all pods again and again."""
    columns = columns_of(aspects)
    return PodGroups(cluster.pods, *columns, labels=MentionedLabels(cluster) if "labels" in columns else None)


class ClassKeys:
    """Pods that are alike in some aspects, for code that asks about a few of them: nothing is kept for the others.

    All labels count, because plugins of other packages may look at any.
    """

    def __init__(self, pods: Pods, aspects: Aspect) -> None:
        self._pods = pods
        self._columns = columns_of(aspects)

    def of(self, pod: int) -> ClassKey:
        """Equal for pods that are alike."""
        return tuple([int(getattr(self._pods, name)[pod]) for name in self._columns])


class LabelGroups:
    """The index of one cluster's pods, built at the first question; callers mask out pods that are gone."""

    def __init__(self, pods: Pods) -> None:
        self._pods = pods
        #: How many groups the index below knows.
        self._indexed = 0
        self._by_namespace: defaultdict[int, list[int]] = defaultdict(list)
        self._by_label: dict[str, defaultdict[str, set[int]]] = {}

    @cached_property
    def groups(self) -> PodGroups:
        """The groups."""
        return PodGroups(self._pods, "namespace", "labels")

    def namespace(self, group: int) -> int:
        """The namespace of a group's pods."""
        return self.groups.table[group][0]

    def labels(self, group: int) -> Mapping[str, str]:
        """The labels of a group's pods."""
        return self._pods.tables.labels[self.groups.table[group][1]]

    def matching(self, selector: Selector, namespaces: Iterable[int] | None) -> IntArray:
        """The pods whose labels match, in the namespaces given by identifier (None: in all), in the order of rows."""
        return self.groups.of_groups(self.matching_groups(selector, namespaces))

    def matching_groups(self, selector: Selector, namespaces: Iterable[int] | None) -> list[int]:
        """The groups of the same pods."""
        if self.groups.values and self._indexed != len(self.groups.table):
            self._index_new_groups()
        if selector == NOTHING:
            return []
        wanted = None if namespaces is None else set(namespaces)
        labels, table = self._pods.tables.labels, self.groups.table
        return [group for group in self._candidates(selector, wanted) if selector.matches(labels[table[group][1]])]

    def _candidates(self, selector: Selector, namespaces: set[int] | None) -> Iterable[int]:
        """A superset of the matching groups, all in the namespaces."""
        equalities = [each for each in selector.requirements if each.operator == "In"]
        if not equalities:
            return self._in_namespaces(namespaces)
        found = [self._with_label(each.key, each.values) for each in equalities]
        smallest = min(found, key=len)
        others = [groups for groups in found if groups is not smallest]
        candidates, table = smallest.intersection(*others), self.groups.table
        return [group for group in candidates if namespaces is None or table[group][0] in namespaces]

    def _in_namespaces(self, namespaces: set[int] | None) -> Iterable[int]:
        if namespaces is None:
            return range(self._indexed)
        return [group for namespace in namespaces for group in self._by_namespace.get(namespace, ())]

    def _with_label(self, key: str, values: Iterable[str]) -> set[int]:
        postings = self._by_label.get(key)
        if postings is None:
            postings = self._by_label[key] = defaultdict(set)
            self._post(key, postings, 0)
        present = [postings[value] for value in values if value in postings]
        return present[0] if len(present) == 1 else set().union(*present)

    def _index_new_groups(self) -> None:
        first, self._indexed = self._indexed, len(self.groups.table)
        for group, (namespace, _) in enumerate(self.groups.table[first:], first):
            self._by_namespace[namespace].append(group)
        for key, postings in self._by_label.items():
            self._post(key, postings, first)

    def _post(self, key: str, postings: defaultdict[str, set[int]], first: int) -> None:
        """Enter the groups from the first on by the value of a label, as far as they have it."""
        labels = self._pods.tables.labels
        for group, (_, identifier) in enumerate(self.groups.table[first : self._indexed], first):
            value = labels[identifier].get(key)
            if value is not None:
                postings[value].add(group)
