"""One simulated cluster, as every actor is given it, and the work queues through which actors see events.

An event reaches a controller a moment after it happened, as a watch brings it. That is also what keeps two controllers
that undo each other's work from doing so without end in the same instant. Source: client-go's work queues, and the
handlers of controller-runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

import msgspec

from restow.kube.manifests import document_of
from restow.kube.objects import API_VERSIONS, KINDS, written_kind
from restow.kube.timestamps import SECOND
from restow.simulating.api_server.indexes import Key, key_of
from restow.simulating.api_server.store import ObjectEvent, RefusedError, Store
from restow.simulating.simulated_cluster import SimulatedCluster
from restow.simulating.virtual_time import Chance, VirtualClock


@dataclass(slots=True, frozen=True)
class VirtualCluster:
    """Time, chance, the objects, and the objects as one state."""

    clock: VirtualClock
    chance: Chance
    store: Store
    view: SimulatedCluster

    @staticmethod
    def at(now: int, seed: int, minor: int | None = None) -> VirtualCluster:
        """An empty cluster at a time, with a minor version."""
        clock, chance = VirtualClock(now), Chance(seed)
        store = Store(clock, chance)
        return VirtualCluster(clock, chance, store, SimulatedCluster(store, minor))


K = TypeVar("K", bound=Hashable)

#: The delay before a controller sees an event, in nanoseconds.
DELIVERY: Final = SECOND // 100


@dataclass(slots=True)
class WorkQueue(Generic[K]):
    """The keys that one controller will look at, each once, no matter how many events it got."""

    clock: VirtualClock
    look: Callable[[K], None]
    #: Whether later entries recur without end, and so do not keep the cluster from being quiet.
    recurring: bool = False
    #: When each key is looked at.
    _due: dict[K, int] = field(default_factory=dict)

    def add(self, key: K) -> None:
        """Something has happened to a key."""
        self._enter(key, DELIVERY, recurring=False)

    def add_after(self, key: K, delay: int) -> None:
        """Sync a key after a delay in nanoseconds, if not before."""
        self._enter(key, delay, recurring=self.recurring)

    def retry_after(self, key: K, delay: int) -> None:
        """Retry a key after a delay in nanoseconds, if not before; a cluster is quiet meanwhile."""
        self._enter(key, delay, recurring=True)

    def _enter(self, key: K, delay: int, *, recurring: bool) -> None:
        time = self.clock.now + delay
        if self._due.get(key, time + 1) > time:
            self._due[key] = time
            self.clock.at(time, lambda: self._look(key, time), recurring=recurring)

    def _look(self, key: K, time: int) -> None:
        # An entry that was overtaken by an earlier one is not for now.
        if self._due.get(key) == time:
            del self._due[key]
            # What the API server refuses is tried again when something has changed.
            with suppress(RefusedError):
                self.look(key)


@dataclass(slots=True)
class ObjectQueue(WorkQueue[Key]):
    """The objects of one kind that their controller will sync."""

    kind: str = ""

    def on_event(self, event: ObjectEvent) -> None:
        """Sync the object that came, changed or went."""
        self.add(key_of(event.new or event.old))

    def on_wish(self, event: ObjectEvent) -> None:
        """As ``on_event``, but not where only the status has changed, which is its controller's own doing."""
        if event.old is None or event.new is None or not _is_only_status(event.old, event.new):
            self.on_event(event)

    def on_owned_event(self, event: ObjectEvent) -> None:
        """Sync the controllers that an object has and had."""
        for key in self.controllers_in(event):
            self.add(key)

    def controllers_in(self, event: ObjectEvent) -> Iterator[Key]:
        """The objects of the kind that controlled what has changed, and that control it now."""
        for each in (event.old, event.new):
            owner = each and each.metadata.controller
            if owner and owner.kind == self.kind:
                yield each.metadata.namespace, owner.name

    def add_after_first(self, key: Key, delays: Iterable[int | None]) -> None:
        """Sync a key after the shortest of some delays in nanoseconds that are not over (0) and not unknown (None)."""
        if coming := [each for each in delays if each]:
            self.add_after(key, min(coming))


def _is_only_status(old: Any, new: Any) -> bool:
    """Whether only the status of an object has changed."""
    metadata, before = new.metadata, old.metadata
    return old.spec is new.spec and (metadata.labels, metadata.owner_references, metadata.is_terminating) == (
        before.labels,
        before.owner_references,
        before.is_terminating,
    )


def dump(store: Store) -> Iterator[bytes]:
    """Yield a v1 List, an object a line; a kind that decisions read and that has no objects is an empty list of its own."""
    yield b'{"apiVersion":"v1","kind":"List","metadata":{},"items":['
    separator = b"\n"
    for document in _documents(store):
        yield separator + msgspec.json.encode(document)
        separator = b",\n"
    yield b"\n]}\n"


def _documents(store: Store) -> Iterator[dict[str, object]]:
    """All objects by kind, namespace and name: nodes and pods first, as people know it."""
    for kind in [*KINDS, *sorted(set(store.kinds()) - set(KINDS))]:
        objects = sorted(store.list(kind), key=key_of)
        if not objects:
            yield {"apiVersion": API_VERSIONS[kind], "kind": f"{written_kind(kind)}List", "items": []}
        yield from map(document_of, objects)
