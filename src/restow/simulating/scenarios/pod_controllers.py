"""The controllers of a pod, from the one that made it upwards."""

from __future__ import annotations

from collections.abc import Iterator

from restow.kube.manifests import Pod
from restow.simulating.scenarios.references import Reference
from restow.simulating.store import Store


def controllers_of(pod: Pod, store: Store) -> Iterator[Reference]:
    """Yield the controller of a pod, the controller of that one, and so on, as far as they are there."""
    namespace, owner = pod.metadata.namespace, pod.metadata.controller
    while owner is not None:
        yield Reference(owner.kind, namespace, owner.name)
        found = store.get(owner.kind, namespace, owner.name)
        owner = found.metadata.controller if found is not None and found.metadata.uid == owner.uid else None
