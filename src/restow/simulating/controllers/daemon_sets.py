"""The controller of DaemonSets: one pod on each node that the template is for, and updates of a few nodes at a time.

``workloads.controllers`` decides which nodes get a pod. A pod goes to its node by node affinity, through the scheduler.
An update takes pods away before it makes new ones (``maxUnavailable``), or makes them first (``maxSurge``); with
OnDelete others delete them. A pod that fails again and again is deleted later each time. Source: the DaemonSet
controller, Kubernetes 1.36.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from msgspec import structs

from restow.cluster.interning import BoolArray
from restow.cluster.pod_values import Phase
from restow.cluster.pods import PENDING
from restow.kube.manifests import ControllerRevision, DaemonSet, Pod, PodTemplate
from restow.kube.manifests.workloads import DaemonSetStatus, RollingUpdate
from restow.kube.node_selection import NodeSelection
from restow.kube.numbers import share
from restow.kube.objects import Affinity, NodeAffinity, Toleration
from restow.kube.timestamps import SECOND
from restow.simulating.api_server.indexes import Key, key_of, selector_of
from restow.simulating.api_server.store import ObjectEvent
from restow.simulating.controllers.owned_pods import available_in, by_age, claim, controlled, pod_from
from restow.simulating.controllers.revisions import current_revision, delete_old, hash_of, is_of
from restow.simulating.virtual_cluster import ObjectQueue, VirtualCluster
from restow.workloads.controllers import (
    ADDED_ON_HOST_NETWORK,
    ADDED_TOLERATIONS,
    ControlledPod,
    daemon_set,
    runs_on,
    stays_on,
)
from restow.workloads.made_of import REVISION_HASH

KIND: Final = "DaemonSet"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_FIRST_WAIT: Final = SECOND
_LONGEST_WAIT: Final = 900 * SECOND


@dataclass(slots=True, frozen=True)
class _OnNode:
    """The pods of one DaemonSet on one node: of the template as it is, and of others; none that terminates."""

    new: Sequence[Pod]
    old: Sequence[Pod]


class DaemonSetController:
    """Syncs one DaemonSet at a time."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._simulation = simulation
        self._store, self._clock = simulation.store, simulation.clock
        self._queue = ObjectQueue(simulation.clock, self._sync, kind=KIND)
        #: How often pods have failed on a node, and when the next one of them may be deleted.
        self._failures: dict[tuple[str, str], tuple[int, int]] = {}
        self._store.subscribe(KIND, self._queue.on_event)
        self._store.subscribe("Pod", self._queue.on_owned_event)
        self._store.subscribe("Node", self._on_node_event)

    def _on_node_event(self, event: ObjectEvent) -> None:
        old, new = event.old, event.new
        if new is None or (old is not None and old.metadata.labels == new.metadata.labels and old.spec == new.spec):
            return
        for each in self._store.list(KIND):
            if old is None or self._has_to_look(each, new.metadata.name):
                self._queue.add(key_of(each))

    def _has_to_look(self, found: DaemonSet, node: str) -> bool:
        """Whether a node that has changed lacks a pod, has one that has to go, or had one that was not to be there.

        A pod that may stay where no new one would be created is not noticed until something else happens.
        """
        number = self._simulation.view.state.node_called(node)
        wanted, allowed = self._nodes_for(found)
        has_pod = any(node_for(pod) == node for pod in self._store.owned(found.metadata.uid, "Pod"))
        if not has_pod:
            return bool(wanted[number])
        return not allowed[number] or found.status.number_misscheduled > 0

    def _sync(self, key: Key) -> None:
        found: DaemonSet | None = self._store.get(KIND, *key)
        if found is None:
            return
        pods = claim(self._store, KIND, found, selector_of(found))
        if found.metadata.is_terminating:
            return
        revision = current_revision(self._store, KIND, found, selector_of(found))
        wanted, allowed = self._nodes_for(found)
        self._manage(found, pods, revision, wanted, allowed)
        # Updates go by what there is after that.
        pods = list(self._store.owned(found.metadata.uid, "Pod"))
        if found.spec.update_strategy.type == "RollingUpdate":
            self._roll(found, pods, revision, wanted)
        self._report(key, revision, wanted)

    def _nodes_for(self, found: DaemonSet) -> tuple[BoolArray, BoolArray]:
        """The nodes that get a pod, and those where one may stay, bool[node]."""
        nodes = self._simulation.view.state.cluster.nodes
        selection, tolerations = selection_of(found)
        return runs_on(nodes, selection, tolerations), stays_on(nodes, selection, tolerations)

    def _manage(
        self,
        found: DaemonSet,
        pods: Sequence[Pod],
        revision: ControllerRevision,
        wanted: BoolArray,
        allowed: BoolArray,
    ) -> None:
        actions = daemon_set(wanted, allowed, self._seen(found, pods, revision))
        names = self._simulation.view.state.cluster.nodes.names
        for new in actions.create:
            self._create(found, revision, names[new.node or 0])
        for pod in actions.delete:
            if pod.phase is not Phase.FAILED or self._may_delete(found, names[pod.node]):
                self._store.delete("Pod", found.metadata.namespace, pod.name)

    def _seen(self, found: DaemonSet, pods: Sequence[Pod], revision: ControllerRevision) -> list[ControlledPod]:
        """The pods as the rule takes them, each on the node that it was made for.

        A surge pod next to an old one is left out as long as the old one stays.
        """
        index = self._simulation.view.state.cluster.nodes.index
        surged = {
            pod.metadata.uid
            for there in self._by_node(pods, revision).values()
            if there.old and there.new and found.spec.update_strategy.type == "RollingUpdate" and _surge(found, 1)
            for pod in there.new
        }
        kept = [pod for pod in pods if pod.metadata.uid not in surged]
        seen = [structs.replace(controlled(pod), node=index.get(node_for(pod), PENDING)) for pod in kept]
        return [pod for pod in seen if pod.node != PENDING]

    def _may_delete(self, found: DaemonSet, node: str) -> bool:
        """Whether a pod that has failed may be deleted now; it is looked at again when it may."""
        failures, until = self._failures.get((found.metadata.uid, node), (0, 0))
        if self._clock.now < until:
            self._queue.add_after(key_of(found), until - self._clock.now)
            return False
        wait = min(_FIRST_WAIT << min(failures, 20), _LONGEST_WAIT)
        self._failures[found.metadata.uid, node] = failures + 1, self._clock.now + wait
        return True

    def _create(self, found: DaemonSet, revision: ControllerRevision, node: str) -> None:
        given = found.spec.template
        spec = {**given.spec, "affinity": _pinned(given.spec.get("affinity") or {}, node)}
        spec["tolerations"] = [*(given.spec.get("tolerations") or ()), *_added(given.spec)]
        template = PodTemplate(given.metadata, spec)
        self._store.create(pod_from(template, KIND, found, labels={REVISION_HASH: hash_of(revision)}))

    def _by_node(self, pods: Sequence[Pod], revision: ControllerRevision) -> Mapping[str, _OnNode]:
        """The pods of each node that has any."""
        there: defaultdict[str, tuple[list[Pod], list[Pod]]] = defaultdict(lambda: ([], []))
        for pod in pods:
            new, old = there[node_for(pod)]
            if not pod.metadata.is_terminating:
                is_new = is_of(pod, hash_of(revision))
                (new if is_new else old).append(pod)
        return {node: _OnNode(*there[node]) for node in sorted(there)}

    def _roll(self, found: DaemonSet, pods: Sequence[Pod], revision: ControllerRevision, wanted: BoolArray) -> None:
        """One step of a rolling update."""
        count = int(np.count_nonzero(wanted))
        by_node = {
            node: there
            for node, there in self._by_node(pods, revision).items()
            if len(there.new) <= 1 and len(there.old) <= 1
        }
        surge = _surge(found, count)
        if surge:
            self._surge_ahead(found, by_node, revision, surge)
            return
        old = [there.old[0] for there in by_node.values() if there.old and not there.new]
        broken = [pod for pod in old if not self._is_available(found, pod)]
        missing = sum(not there.old and not self._has_available(found, there.new) for there in by_node.values())
        missing += sum(bool(there.old and there.new) for there in by_node.values())
        well = [pod for pod in old if self._is_available(found, pod)]
        for pod in (*broken, *well[: max(0, most_unavailable(found, count) - missing)]):
            self._store.delete("Pod", *key_of(pod))

    def _surge_ahead(
        self, found: DaemonSet, by_node: Mapping[str, _OnNode], revision: ControllerRevision, surge: int
    ) -> None:
        """Surge: create new pods next to old ones, and delete an old one when its new one is available."""
        both = [there for there in by_node.values() if there.old and there.new]
        waiting = [there for there in both if not self._is_available(found, there.new[0])]
        alone = {node: there.old[0] for node, there in by_node.items() if there.old and not there.new}
        broken = [node for node, pod in alone.items() if not self._is_available(found, pod)]
        well = [node for node, pod in alone.items() if self._is_available(found, pod)]
        for node in (*broken, *well[: max(0, surge - len(waiting))]):
            self._create(found, revision, node)
        for there in both:
            if self._is_available(found, there.new[0]):
                self._store.delete("Pod", *key_of(there.old[0]))

    def _has_available(self, found: DaemonSet, pods: Sequence[Pod]) -> bool:
        return any(self._is_available(found, pod) for pod in pods)

    def _is_available(self, found: DaemonSet, pod: Pod) -> bool:
        return available_in(pod, found.spec.min_ready_seconds, self._clock.now) == 0

    def _report(self, key: Key, revision: ControllerRevision, wanted: BoolArray) -> None:
        found: DaemonSet = self._store.get(KIND, *key)
        names = self._simulation.view.state.cluster.nodes.names
        by_node: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in self._store.owned(found.metadata.uid, "Pod"):
            by_node[node_for(pod)].append(pod)
        on = [by_node.get(names[node], []) for node in np.flatnonzero(wanted).tolist()]
        firsts = [min(pods, key=by_age) for pods in on if pods]
        waits = [available_in(pod, found.spec.min_ready_seconds, self._clock.now) for pod in firsts]
        meant = {names[node] for node in np.flatnonzero(wanted).tolist()}
        status = DaemonSetStatus(
            current_number_scheduled=len(firsts),
            desired_number_scheduled=len(on),
            number_misscheduled=sum(bool(pods) and node not in meant for node, pods in by_node.items()),
            number_ready=sum(wait is not None for wait in waits),
            number_available=waits.count(0),
            number_unavailable=len(on) - waits.count(0),
            updated_number_scheduled=sum(is_of(pod, hash_of(revision)) for pod in firsts),
            observed_generation=found.metadata.generation,
        )
        self._store.update(structs.replace(found, status=status))
        used = {(pod.metadata.labels or {}).get(REVISION_HASH, "") for pods in by_node.values() for pod in pods}
        delete_old(self._store, found, {*used, hash_of(revision)}, found.spec.revision_history_limit)
        self._queue.add_after_first(key, waits)


def selection_of(found: DaemonSet) -> tuple[NodeSelection, list[Toleration]]:
    """Which nodes a DaemonSet is for, and what its pods tolerate."""
    spec = found.spec.template.spec
    affinity = msgspec.convert(spec.get("affinity") or {}, Affinity).node_affinity or NodeAffinity()
    return NodeSelection.compile(spec.get("nodeSelector") or {}, affinity.required), _tolerations(spec)


def most_unavailable(found: DaemonSet, count: int) -> int:
    """How many of so many nodes may be without an available pod during an update."""
    rule = found.spec.update_strategy.rolling_update or RollingUpdate()
    return share(1 if rule.max_unavailable is None else rule.max_unavailable, count, up=True)


def node_for(pod: Pod) -> str:
    """The node that a pod of a DaemonSet is on, or was made for; empty if it says neither."""
    if pod.node:
        return pod.node
    required = ((pod.spec.get("affinity") or {}).get("nodeAffinity") or {}).get(_REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for each in term.get("matchFields") or ():
            if each.get("key") == "metadata.name" and len(each.get("values") or ()) == 1:
                return str(each["values"][0])
    return ""


def _surge(found: DaemonSet, count: int) -> int:
    rule = found.spec.update_strategy.rolling_update or RollingUpdate()
    return share(rule.max_surge, count, up=True)


def _pinned(affinity: dict[str, Any], node: str) -> dict[str, Any]:
    """The affinity of a template for one node: what it requires of nodes has been asked already."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    of_nodes = {**(affinity.get("nodeAffinity") or {}), _REQUIRED: {"nodeSelectorTerms": [term]}}
    return {**affinity, "nodeAffinity": of_nodes}


def _added(spec: dict[str, Any]) -> list[dict[str, Any]]:
    added = (*ADDED_TOLERATIONS, ADDED_ON_HOST_NETWORK) if spec.get("hostNetwork") else ADDED_TOLERATIONS
    return [{"key": each.key, "operator": each.operator, "effect": each.effect} for each in added]


def _tolerations(spec: dict[str, Any]) -> list[Toleration]:
    return msgspec.convert([*(spec.get("tolerations") or ()), *_added(spec)], list[Toleration])
