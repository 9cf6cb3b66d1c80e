"""What the controllers of workloads share: which pods are theirs, what they see of them, and how they make new ones.

A controller adopts orphans that its selector matches, and releases what it no longer matches. Source:
controller_ref_manager, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from restow.cluster.pod_values import PHASES, Phase
from restow.cluster.pods import PENDING
from restow.kube.labels import Selector
from restow.kube.manifests import Manifest, Metadata, Pod, PodTemplate
from restow.kube.numbers import parse_integer
from restow.kube.objects import OwnerReference
from restow.kube.timestamps import SECOND, parse_time
from restow.simulating.api_server.changes import with_metadata
from restow.simulating.api_server.store import Store
from restow.simulating.simulated_cluster import time_of
from restow.workloads.controllers import DELETION_COST, ControlledPod

#: The kinds that have ``replicas``.
WITH_REPLICAS: Final = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet")


def reference_to(kind: str, controller: Any) -> OwnerReference:
    """The owner reference of what a controller makes or adopts."""
    return OwnerReference(kind, controller.metadata.name, controller.metadata.uid, controller=True)


def claim(store: Store, kind: str, controller: Any, selector: Selector, of: str = "Pod") -> list[Any]:
    """The objects of a kind (``of``) that a controller has from now on, those that terminate too."""
    uid = controller.metadata.uid
    owned = [each for each in store.owned(uid, of) if (by := each.metadata.controller) is not None and by.uid == uid]
    if controller.metadata.is_terminating:
        return [each for each in owned if selector.matches(each.metadata.labels or {})]
    kept = [each for each in owned if selector.matches(each.metadata.labels or {}) or _release(store, controller, each)]
    return [*kept, *_adopted(store, kind, controller, store.uncontrolled(of, controller.metadata.namespace, selector))]


def _release(store: Store, controller: Any, each: Any) -> bool:
    """Release an object that the selector no longer matches; False: it is not kept."""
    if not each.metadata.is_terminating:
        others = (owner for owner in each.metadata.owner_references if owner.uid != controller.metadata.uid)
        store.update(with_metadata(each, owner_references=tuple(others) or None))
    return False


def _adopted(store: Store, kind: str, controller: Any, found: Iterable[Any]) -> Iterable[Any]:
    for each in found:
        if not each.metadata.is_terminating:
            owners = (*(each.metadata.owner_references or ()), reference_to(kind, controller))
            yield store.update(with_metadata(each, owner_references=owners))


def controlled(pod: Pod, node: int = 0) -> ControlledPod:
    """A pod as its controller sees it; ``node`` is a number of its node, which counts only if it has one."""
    ready = pod.ready_since
    return ControlledPod(
        pod.metadata.name,
        uid=pod.metadata.uid,
        phase=PHASES.get(pod.status.phase, Phase.UNKNOWN),
        terminating=pod.metadata.is_terminating,
        ready=ready is not None,
        node=node if pod.node else PENDING,
        deletion_cost=parse_integer(pod.metadata.annotation(DELETION_COST)) or 0,
        restarts=max((each.restart_count for each in pod.status.container_statuses or ()), default=0),
        created=time_of(pod.metadata.creation_timestamp),
        ready_since=time_of(ready),
    )


def pod_from(
    template: PodTemplate,
    kind: str,
    controller: Any,
    *,
    name: str = "",
    labels: Mapping[str, str] = MappingProxyType({}),
    annotations: Mapping[str, str] = MappingProxyType({}),
) -> Pod:
    """A new pod of a controller, with a generated name unless one is given; labels are added to the template's."""
    metadata = Metadata(
        name=name,
        generate_name="" if name else f"{controller.metadata.name}-",
        namespace=controller.metadata.namespace,
        labels={**(template.metadata.labels or {}), **labels} or None,
        annotations={**(template.metadata.annotations or {}), **annotations} or None,
        owner_references=(reference_to(kind, controller),),
        finalizers=template.metadata.finalizers,
    )
    return Pod(metadata, template.spec)


def by_age(manifest: Manifest) -> tuple[str, str]:
    """What sorts objects by their age, the oldest first."""
    return manifest.metadata.creation_timestamp or "", manifest.metadata.name


def available_in(pod: Pod, min_ready_seconds: int, now: int) -> int | None:
    """In how many nanoseconds a pod is available if it stays ready, 0 if it is; None while it is not ready."""
    since = pod.ready_since
    if since is None or not min_ready_seconds:
        return None if since is None else 0
    return max(0, parse_time(since) + min_ready_seconds * SECOND - now)
