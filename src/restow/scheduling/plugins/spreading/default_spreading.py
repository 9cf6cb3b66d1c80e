"""What pods without spread constraints of their own are spread by: the selectors of what stands behind them.

That is every Service that selects the pod, and the ReplicationController, ReplicaSet or StatefulSet that controls it.
Pods of Jobs, DaemonSets and other owners get nothing from their owner. Source: DefaultSelector, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter

from restow.cluster.snapshot import Cluster
from restow.kube.labels import EVERYTHING, Requirement, Selector, selector_from, selector_of_labels
from restow.kube.objects import ReplicationController, Workload
from restow.scheduling.framework.recent import Recent
from restow.scheduling.framework.selector_index import LabelledAs, ScopedSelector, SelectorIndex

_WORKLOADS = ("ReplicationController", "ReplicaSet", "StatefulSet")


class DefaultSelectors:
    """The default selectors of one cluster's pods; EVERYTHING for a pod with nothing behind it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._pods = cluster.pods
        self._services = list(_service_selectors(cluster))
        self._index = SelectorIndex(self._services)
        #: By namespace, labels and owners: several of them may be labelled alike.
        self._of_kind: Recent[tuple[int, int, int], Selector] = Recent()
        self._known: dict[tuple[LabelledAs, int], Selector] = {}

    def selector(self, pod: int) -> Selector:
        """What the default constraints of a pod count."""
        kind = int(self._pods.namespace[pod]), int(self._pods.labels[pod]), int(self._pods.owners[pod])
        selector = self._of_kind.get(kind)
        if selector is None:
            selector = self._selector(pod)
            self._of_kind.put(kind, selector)
        return selector

    def _selector(self, pod: int) -> Selector:
        tables = self._pods.tables
        namespace = tables.namespaces[self._pods.namespace[pod]]
        labelled_as = self._index.labelled_as(namespace, tables.labels[self._pods.labels[pod]])
        key = labelled_as, int(self._pods.owners[pod])
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._merge(*key)
        return known

    def _merge(self, pod: LabelledAs, owners: int) -> Selector:
        services = (self._services[each].selector for each in self._index.matching(pod))
        workload = self._workload(pod.namespace, owners)
        mapped = [requirement for selector in services for requirement in selector.requirements]
        if isinstance(workload, ReplicationController):
            mapped += selector_of_labels(workload.spec.selector).requirements
        # Maps are merged key by key, the last one wins; what a LabelSelector asks for comes on top.
        equal = {each.key: each for each in mapped}.values()
        return _selector([*equal, *(_requirements(workload) if isinstance(workload, Workload) else ())])

    def _workload(self, namespace: str, owners: int) -> Workload | ReplicationController | None:
        """The controller of a pod, where it is of a kind that counts and the input holds it."""
        controller = next((each for each in self._pods.tables.owners[owners] if each.controller), None)
        if controller is None or controller.kind not in _WORKLOADS:
            return None
        found: Workload | ReplicationController | None
        found = self._cluster.kind(controller.kind).get((namespace, controller.name))
        return found


def _service_selectors(cluster: Cluster) -> Iterator[ScopedSelector]:
    for (namespace, _), service in cluster.kind("Service").items():
        if service.spec.selector is not None:
            yield ScopedSelector(selector_of_labels(service.spec.selector), (namespace,))


def _requirements(workload: Workload) -> tuple[Requirement, ...]:
    """What the selector of a workload asks for; one that cannot be read counts as none."""
    try:
        return selector_from(workload.spec.selector).requirements
    except ValueError:
        return ()


def _selector(requirements: Iterable[Requirement]) -> Selector:
    """All of them; a Service and a workload often ask for the same."""
    distinct = dict.fromkeys(requirements)
    return Selector(tuple(sorted(distinct, key=attrgetter("key")))) if distinct else EVERYTHING
