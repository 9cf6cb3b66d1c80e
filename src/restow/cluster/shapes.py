"""Pod shapes: everything that scheduling looks at in a pod, as one small integer.

Placement is worked out once for each shape, so shapes should be few. Labels decide placement only through selectors:
a label whose key no selector mentions (a pod's own name, a template hash where no ReplicaSet is at hand) makes no
shape. The state of a pod, its owner and its node make none either.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from restow.cluster.interning import IdArray, IntArray, Interner, combine
from restow.cluster.pods import Pods
from restow.cluster.snapshot import Cluster
from restow.kube.objects import LabelSelector, PodAffinity, PodAffinityTerm

#: Kinds whose selector is a LabelSelector, and kinds whose selector is a plain map.
_SELECTING = ("PodDisruptionBudget", "ReplicaSet", "StatefulSet")
_MAPPING = ("Service", "ReplicationController")


@dataclass(slots=True, frozen=True)
class PodShapes:
    """The shapes of a cluster's pods."""

    #: The shape of each pod, int32[pod].
    of_pod: IdArray
    #: Some pod of each shape: all others of the shape are like it to scheduling. int64[shape].
    example: IntArray
    #: The labels of each shape that some selector mentions.
    labels: tuple[Mapping[str, str], ...]

    def __len__(self) -> int:
        return len(self.example)


def mentioned_keys(cluster: Cluster, extra: Iterable[str] = ()) -> frozenset[str]:
    """Label keys of pods that some selector in the cluster mentions, and ``extra`` ones (say, the policy's)."""
    keys = set(extra)
    for rules in cluster.pods.tables.rules:
        for affinity in (rules.pod_affinity, rules.pod_anti_affinity):
            for term in _terms(affinity):
                keys.update(_selector_keys(term.label_selector))
                keys.update(term.match_label_keys or (), term.mismatch_label_keys or ())
    for constraints in cluster.pods.tables.spread:
        for constraint in constraints:
            keys.update(_selector_keys(constraint.label_selector), constraint.match_label_keys or ())
    for kind in _SELECTING:
        for each in cluster.kind(kind).values():
            keys.update(_selector_keys(each.spec.selector))
    for kind in _MAPPING:
        for each in cluster.kind(kind).values():
            keys.update(each.spec.selector or ())
    return frozenset(keys)


def pod_shapes(cluster: Cluster, keys: frozenset[str]) -> PodShapes:
    """The shapes of all pods; of their labels, ``keys`` count. They are numbered in no particular but fixed order."""
    pods = cluster.pods
    label_sets, labels = _mentioned_labels(pods, keys)
    priority = np.where(pods.has_priority, pods.priority, np.iinfo(np.int32).min)
    rules = (pods.resources, pods.tolerations, pods.rules, pods.spread, pods.ports, pods.volumes, pods.gates)
    others = (pods.images, pods.init_images, pods.volume_images, pods.schedulers, priority)
    of_pod, table = combine(pods.namespace, labels, *rules, *others)
    _, example = np.unique(of_pod, return_index=True)
    return PodShapes(of_pod, example, tuple(label_sets[row] for row in table[:, 1].tolist()))


def _mentioned_labels(pods: Pods, keys: frozenset[str]) -> tuple[list[Mapping[str, str]], IdArray]:
    """The distinct sets of labels with these keys, and which one each pod has."""
    interner: Interner[frozenset[tuple[str, str]]] = Interner()
    ids = interner.ids(frozenset(each for each in labels.items() if each[0] in keys) for labels in pods.tables.labels)
    known = interner.keys()
    return [dict(sorted(each)) for each in known], np.array(ids, dtype=np.int32)[pods.labels]


def _terms(affinity: PodAffinity | None) -> Iterator[PodAffinityTerm]:
    if affinity is not None:
        yield from affinity.required or ()
        yield from (weighted.pod_affinity_term for weighted in affinity.preferred or ())


def _selector_keys(selector: LabelSelector | None) -> Iterator[str]:
    if selector is not None:
        yield from selector.match_labels or ()
        yield from (requirement.key for requirement in selector.match_expressions or ())
