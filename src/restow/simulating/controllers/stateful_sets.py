"""The controller of StatefulSets: pods that keep their names, in order, and rolling updates from the last ordinal down.

``workloads.controllers`` decides which pods come and go (``podManagementPolicy``); an update deletes one pod at a
time, down to the partition, and waits for each to be ready again. A pod below the partition is made of the old
template. Claims of ``volumeClaimTemplates`` are provisioned at once, of storage that every node reaches. Source: the
StatefulSet controller, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from msgspec import structs

from restow.kube.manifests import ControllerRevision, Metadata, Other, Pod, PodTemplate, StatefulSet
from restow.kube.manifests.workloads import RollingUpdate, StatefulSetStatus
from restow.kube.objects import ObjectMeta, Workload
from restow.kube.timestamps import SECOND
from restow.simulating.api_server.indexes import Key, key_of, selector_of
from restow.simulating.api_server.store import TerminatingError
from restow.simulating.controllers.owned_pods import available_in, claim, controlled, pod_from
from restow.simulating.controllers.revisions import (
    current_revision,
    delete_old,
    hash_of,
    is_of,
    revisions_of,
)
from restow.simulating.virtual_cluster import ObjectQueue, VirtualCluster
from restow.workloads.controllers import BURST, NOTHING, STATEFUL_SET, Actions, ControlledPod, ordinal_of, stateful_set
from restow.workloads.made_of import REVISION_HASH

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
#: How long until a taken name is tried again, in nanoseconds.
_TAKEN: Final = 60 * SECOND
POD_INDEX: Final = "apps.kubernetes.io/pod-index"


class StatefulSetController:
    """Syncs one StatefulSet at a time."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store, self._clock = simulation.store, simulation.clock
        self._queue = ObjectQueue(simulation.clock, self._sync, kind=STATEFUL_SET)
        self._store.subscribe(STATEFUL_SET, self._queue.on_event)
        self._store.subscribe("Pod", self._queue.on_owned_event)

    def _sync(self, key: Key) -> None:
        found: StatefulSet | None = self._store.get(STATEFUL_SET, *key)
        if found is None:
            return
        pods = [
            pod
            for pod in claim(self._store, STATEFUL_SET, found, selector_of(found))
            if _ordinal(found, pod) is not None
        ]
        update = current_revision(self._store, STATEFUL_SET, found, selector_of(found))
        current = self._revision(found, found.status.current_revision) or update
        if not found.metadata.is_terminating:
            # In a namespace that goes nothing is created, and what is left is reported.
            with suppress(TerminatingError):
                self._manage(found, pods, current, update)
        self._report(key, current, update)

    def _revision(self, found: StatefulSet, name: str) -> ControllerRevision | None:
        return next((each for each in revisions_of(self._store, found) if each.metadata.name == name), None)

    def _manage(
        self, found: StatefulSet, pods: Sequence[Pod], current: ControllerRevision, update: ControllerRevision
    ) -> None:
        seen = [self._seen(found, pod) for pod in pods]
        actions = stateful_set(Workload(ObjectMeta(name=found.metadata.name), found.spec), seen)
        for new in actions.create:
            revision = current if _keeps_old(found, new.index or 0) else update
            self._create(found, new.index or 0, revision)
        for pod in actions.delete:
            self._store.delete("Pod", found.metadata.namespace, pod.name)
        if max(len(actions.create), len(actions.delete)) == BURST:
            self._queue.add(key_of(found))
        if may_update(found, actions, seen):
            self._update_next(found, update)

    def _seen(self, found: StatefulSet, pod: Pod) -> ControlledPod:
        """A pod that counts as ready once it is available."""
        wait = available_in(pod, found.spec.min_ready_seconds, self._clock.now)
        return structs.replace(controlled(pod), ready=wait == 0)

    def _update_next(self, found: StatefulSet, update: ControllerRevision) -> None:
        """Delete the pod that an update has come to."""
        names = {ordinal: f"{found.metadata.name}-{ordinal}" for ordinal in _wanted(found)}
        there = {ordinal: self._store.get("Pod", found.metadata.namespace, name) for ordinal, name in names.items()}
        pods: dict[int, Pod] = {ordinal: pod for ordinal, pod in there.items() if pod is not None}
        old = {ordinal for ordinal, pod in pods.items() if not is_of(pod, update.metadata.name)}
        turn = next_in_update(found, {ordinal: self._seen(found, pod) for ordinal, pod in pods.items()}, old)
        if turn is not None:
            self._store.delete("Pod", *key_of(pods[turn]))

    def _create(self, found: StatefulSet, ordinal: int, revision: ControllerRevision) -> None:
        name = f"{found.metadata.name}-{ordinal}"
        if self._store.get("Pod", found.metadata.namespace, name) is not None:
            # Another owner's pod has the name; there is nothing to do until it goes.
            self._queue.retry_after(key_of(found), _TAKEN)
            return
        labels = {POD_NAME: name, POD_INDEX: str(ordinal), REVISION_HASH: revision.metadata.name}
        given = revision.data.spec.template
        spec = {**given.spec, "hostname": name}
        claims = [self._provisioned(found, each, ordinal) for each in found.spec.volume_claim_templates or ()]
        if claims:
            own = {each["name"] for each in claims}
            others = [each for each in given.spec.get("volumes") or () if each.get("name") not in own]
            spec["volumes"] = [*others, *claims]
        self._store.create(pod_from(PodTemplate(given.metadata, spec), STATEFUL_SET, found, name=name, labels=labels))

    def _provisioned(self, found: StatefulSet, template: dict[str, Any], ordinal: int) -> dict[str, Any]:
        """The volume of a pod from a claim template, whose claim is bound from now on."""
        given = template.get("metadata", {}).get("name", "")
        name, namespace = f"{given}-{found.metadata.name}-{ordinal}", found.metadata.namespace
        if self._store.get("PersistentVolumeClaim", namespace, name) is None:
            volume = f"pvc-{namespace}-{name}"
            spec = {**template.get("spec", {}), "volumeName": volume}
            bound = {"pv.kubernetes.io/bind-completed": "yes"}
            content = {"apiVersion": "v1", "spec": spec, "status": {"phase": "Bound"}}
            metadata = Metadata(name=name, namespace=namespace, annotations=bound)
            self._store.create(Other("PersistentVolumeClaim", metadata, content))
            claimed = {"claimRef": {"kind": "PersistentVolumeClaim", "namespace": namespace, "name": name}}
            content = {"apiVersion": "v1", "spec": claimed, "status": {"phase": "Bound"}}
            self._store.create(Other("PersistentVolume", Metadata(name=volume), content))
        return {"name": given, "persistentVolumeClaim": {"claimName": name}}

    def _report(self, key: Key, current: ControllerRevision, update: ControllerRevision) -> None:
        found: StatefulSet = self._store.get(STATEFUL_SET, *key)
        pods = [pod for pod in self._store.owned(found.metadata.uid, "Pod") if _ordinal(found, pod) is not None]
        waits = [available_in(pod, found.spec.min_ready_seconds, self._clock.now) for pod in pods]
        staying = [pod for pod in pods if not pod.metadata.is_terminating]
        status = StatefulSetStatus(
            replicas=len(pods),
            ready_replicas=sum(wait is not None for wait in waits),
            available_replicas=waits.count(0),
            current_replicas=sum(is_of(pod, current.metadata.name) for pod in staying),
            updated_replicas=sum(is_of(pod, update.metadata.name) for pod in staying),
            current_revision=current.metadata.name,
            update_revision=update.metadata.name,
            observed_generation=found.metadata.generation,
        )
        if found.spec.update_strategy.type != "OnDelete":
            status = _completed(status)
        self._store.update(structs.replace(found, status=status))
        used = {hash_of(current), hash_of(update)}
        delete_old(self._store, found, used, found.spec.revision_history_limit)
        self._queue.add_after_first(key, waits)


def may_update(found: StatefulSet, actions: Actions, seen: Sequence[ControlledPod]) -> bool:
    """Whether an update may go on, given all pods and what is done about their number: at any time, or once all are well."""
    well = [pod for pod in seen if pod.is_active and pod.ready]
    is_settled = actions == NOTHING and len(well) == len(seen) == len(_wanted(found))
    return is_settled or found.spec.pod_management_policy == "Parallel"


def next_in_update(found: StatefulSet, pods: Mapping[int, ControlledPod], old: Container[int]) -> int | None:
    """The ordinal that an update deletes now, by the pods of ordinals and those that are ``old``, of another template.

    It is the last old one, unless one after it is not well again.
    """
    if found.spec.update_strategy.type == "OnDelete":
        return None
    for ordinal in reversed(_wanted(found)):
        pod = pods.get(ordinal)
        if pod is None or _keeps_old(found, ordinal):
            return None
        if ordinal in old and not pod.terminating:
            return ordinal
        if not (pod.is_active and pod.ready):
            return None
    return None


def _completed(status: StatefulSetStatus) -> StatefulSetStatus:
    """The status of an update that has reached all pods: the new revision is the current one."""
    if status.updated_replicas != status.replicas or status.ready_replicas != status.replicas:
        return status
    return structs.replace(status, current_replicas=status.updated_replicas, current_revision=status.update_revision)


def _ordinal(found: StatefulSet, pod: Pod) -> int | None:
    return ordinal_of(found.metadata.name, pod.metadata.name)


def _wanted(found: StatefulSet) -> range:
    """The ordinals that should exist."""
    first = found.spec.ordinals.start if found.spec.ordinals is not None else 0
    return range(first, first + (1 if found.spec.replicas is None else found.spec.replicas))


def _keeps_old(found: StatefulSet, ordinal: int) -> bool:
    """Whether an update does not reach an ordinal."""
    strategy = found.spec.update_strategy
    first = _wanted(found).start
    partition = (strategy.rolling_update or RollingUpdate()).partition
    return strategy.type == "RollingUpdate" and ordinal < first + partition
