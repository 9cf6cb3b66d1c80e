"""The garbage collector: what belonged to an object that is gone goes too, or is released where it was to be kept.

With propagation Foreground what belongs to an object goes first, from the inside out, and then the object. Source: the
garbage collector, Kubernetes 1.36.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import structs

from restow.simulating.indexes import Key, key_of
from restow.simulating.simulation import VirtualCluster
from restow.simulating.store import BACKGROUND, FOREGROUND, ORPHAN, ObjectEvent
from restow.simulating.work_queue import DELIVERY, WorkQueue

#: How long the collector takes to find what an owner owns: longer than its controller takes to see the deletion.
_GRAPH: Final = 2 * DELIVERY


def start(simulation: VirtualCluster) -> None:
    """Start the controller."""
    GarbageCollector(simulation)


class GarbageCollector:
    """Looks at objects that have lost an owner, and at owners whose dependents are to be released."""

    def __init__(self, simulation: VirtualCluster) -> None:
        self._store = simulation.store
        self._queue: WorkQueue[tuple[str, Key]] = WorkQueue(simulation.clock, self._look)
        #: The uids of what is gone and can have been an owner. An owner that was never there says nothing: a dump may
        #: hold pods without their ReplicaSets.
        self._gone: set[str] = set()
        self._store.subscribe_all(self._on_event)

    def _on_event(self, event: ObjectEvent) -> None:
        old, new = event.old, event.new
        if new is None:
            if event.kind != "Pod":
                self._gone.add(old.metadata.uid)
            for each in self._store.dependents(old.metadata.uid):
                self._queue.add(each)
            for owner in old.metadata.owner_references or ():
                self._queue.add((owner.kind, (old.metadata.namespace, owner.name)))
        elif _waits(new, FOREGROUND):
            self._queue.add_after((event.kind, key_of(new)), _GRAPH)
        elif _waits(new, ORPHAN) or (old is None and new.metadata.owner_references):
            self._queue.add((event.kind, key_of(new)))

    def _look(self, item: tuple[str, Key]) -> None:
        kind, key = item
        found = self._store.get(kind, *key)
        if found is None:
            return
        if _waits(found, ORPHAN):
            self._release_dependents(found)
        elif _waits(found, FOREGROUND):
            self._delete_dependents(kind, found)
        owners = found.metadata.owner_references or ()
        if not owners or found.metadata.is_terminating:
            return
        kept = tuple(owner for owner in owners if owner.uid not in self._gone)
        if not kept:
            self._store.delete(kind, *key)
        elif kept != owners:
            self._store.update(_owned_by(found, kept))

    def _release_dependents(self, owner: Any) -> None:
        for kind, key in self._store.dependents(owner.metadata.uid):
            each = self._store.get(kind, *key)
            others = tuple(one for one in each.metadata.owner_references if one.uid != owner.metadata.uid)
            self._store.update(_owned_by(each, others))
        self._release(owner, ORPHAN)

    def _delete_dependents(self, kind: str, owner: Any) -> None:
        """Foreground deletion: delete dependents without another owner; release the owner when none is left."""
        dependents = self._store.dependents(owner.metadata.uid)
        if not dependents:
            self._release(owner, FOREGROUND)
        for of_kind, key in dependents:
            each = self._store.get(of_kind, *key)
            others = tuple(one for one in each.metadata.owner_references if one.uid != owner.metadata.uid)
            if others:
                self._store.update(_owned_by(each, others))
                self._queue.add((kind, key_of(owner)))
            elif not each.metadata.is_terminating:
                inner = FOREGROUND if self._store.dependents(each.metadata.uid) else BACKGROUND
                self._store.delete(of_kind, *key, propagation=inner)

    def _release(self, owner: Any, finalizer: str) -> None:
        finalizers = tuple(each for each in owner.metadata.finalizers if each != finalizer)
        metadata = structs.replace(owner.metadata, finalizers=finalizers or None)
        self._store.update(structs.replace(owner, metadata=metadata))


def _waits(owner: Any, finalizer: str) -> bool:
    """Whether a deleted object waits for its dependents to go or to be released."""
    return owner.metadata.is_terminating and finalizer in (owner.metadata.finalizers or ())


def _owned_by(found: Any, owners: tuple[Any, ...]) -> Any:
    return structs.replace(found, metadata=structs.replace(found.metadata, owner_references=owners or None))
