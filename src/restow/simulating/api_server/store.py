"""The objects of a simulated cluster, kept as the API server keeps them.

Objects are frozen; a change replaces one. The store stamps what the API server stamps (uid, times, versions,
generations), notifies subscribers, and removes an object only when nothing holds it: a pod that runs somewhere stays
until its kubelet has stopped it, and what has finalizers until the last of them is taken away. Every writer has read
the object as it is now, so there are no conflicts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import structs

from restow.kube.labels import Selector
from restow.kube.manifests import Metadata, Pod, kind_of
from restow.kube.timestamps import SECOND, format_time
from restow.simulating.api_server.admission import PodAdmission, admitted, default_namespace, merged, restored
from restow.simulating.api_server.changes import with_metadata
from restow.simulating.api_server.indexes import Key, Labelled, Owned, Placed, Selecting, key_of
from restow.simulating.virtual_time import Chance, VirtualClock

#: The kinds of which is asked which objects select something.
_SELECTING: Final = ("ReplicaSet", "ReplicationController", "Deployment", "PodDisruptionBudget")
#: What happens to the dependents of a deleted object. With the last two the object is held by a finalizer of that name,
#: until its dependents are released, or gone.
BACKGROUND: Final = "background"
ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"


#: Holds a namespace until everything in it is gone.
NAMESPACE_CONTENT: Final = "kubernetes"


class RefusedError(Exception):
    """The API server does not create an object."""


class ExistsError(RefusedError):
    """There is an object of that name already."""


class TerminatingError(RefusedError):
    """The namespace of an object is being deleted."""


@dataclass(slots=True, frozen=True)
class ObjectEvent:
    """One change of an object: without ``old`` it is new, without ``new`` it is gone."""

    kind: str
    old: Any
    new: Any


Subscriber = Callable[[ObjectEvent], None]


class Store:
    """All objects; ``kind`` is always a kind's name, such as ``ReplicaSet``."""

    def __init__(self, clock: VirtualClock, chance: Chance) -> None:
        self.clock = clock
        self._chance = chance
        self._objects: defaultdict[str, defaultdict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
        self._subscribers: defaultdict[str, list[Subscriber]] = defaultdict(list)
        self._of_all_kinds: list[Subscriber] = []
        self._owned = Owned()
        self._labelled = Labelled()
        self._placed = Placed()
        self._selecting = {kind: Selecting() for kind in _SELECTING}
        self._pod_admission = PodAdmission(self.get, self.list)
        self._version = 0
        #: When something went last, and what went then.
        self._gone: tuple[int, Counter[tuple[str, Key]]] = (0, Counter())

    def subscribe(self, kind: str, subscriber: Subscriber) -> None:
        """Subscribe to every change of a kind, at once and in order of subscription."""
        self._subscribers[kind].append(subscriber)

    def subscribe_all(self, subscriber: Subscriber) -> None:
        """Subscribe to every change; called before the subscribers of one kind."""
        self._of_all_kinds.append(subscriber)

    def get(self, kind: str, namespace: str, name: str) -> Any:
        """An object; None if there is none. ``namespace`` is empty for cluster-wide kinds."""
        return self._objects[kind][namespace].get(name)

    def list(self, kind: str, namespace: str | None = None, selector: Selector | None = None) -> Sequence[Any]:
        """The objects of a kind, of one namespace or (None) of all, that a selector matches; in the order they came."""
        if selector is not None and namespace is not None and kind == "Pod":
            keys = self._labelled.candidates(namespace, selector)
            if keys is not None:
                return self._matching([self._objects[kind][namespace][name] for _, name in keys], selector)
        spaces = self._objects[kind].values() if namespace is None else [self._objects[kind][namespace]]
        found = [each for space in spaces for each in space.values()]
        return found if selector is None else self._matching(found, selector)

    def kinds(self) -> Sequence[str]:
        """The kinds of which there are objects."""
        return [kind for kind, spaces in self._objects.items() if any(spaces.values())]

    def owned(self, uid: str, kind: str) -> Sequence[Any]:
        """The objects of a kind that name an owner (a uid)."""
        objects = self._objects[kind]
        return [objects[namespace][name] for namespace, name in self._owned.of(uid, kind)]

    def dependents(self, uid: str) -> Sequence[tuple[str, Key]]:
        """Kind and key of all objects that name an owner (a uid)."""
        return [(kind, key) for kind, keys in self._owned.all_of(uid).items() for key in keys]

    def uncontrolled(self, kind: str, namespace: str, selector: Selector) -> Sequence[Any]:
        """The objects of a kind and a namespace that no controller owns and that a selector matches."""
        objects, keys = self._objects[kind][namespace], self._owned.uncontrolled(kind, namespace)
        labelled = self._labelled.candidates(namespace, selector) if kind == "Pod" else None
        found = keys if labelled is None else [key for key in labelled if key in keys]
        return self._matching([objects[name] for _, name in found], selector)

    def selecting(self, kind: str, manifest: Any) -> Sequence[Any]:
        """The ReplicaSets, ReplicationControllers, Deployments or budgets that select an object of their namespace."""
        namespace, labels = manifest.metadata.namespace, manifest.metadata.labels or {}
        objects = self._objects[kind][namespace]
        return [objects[name] for _, name in self._selecting[kind].matching(namespace, labels)]

    def on_node(self, name: str) -> Sequence[Pod]:
        """The pods on a node, in any phase."""
        return [self._objects["Pod"][namespace][pod] for namespace, pod in self._placed.on(name)]

    def create(self, manifest: Any) -> Any:
        """A new object comes; returns it as it is kept. RefusedError if there is one of its name, or its namespace goes."""
        kind = kind_of(manifest)
        metadata = self._born(kind, default_namespace(manifest, kind))
        namespace = self.get("Namespace", "", metadata.namespace) if metadata.namespace else None
        if namespace is not None and namespace.metadata.is_terminating:
            raise TerminatingError(
                f"{kind} {metadata.name} cannot be created: namespace {metadata.namespace} is deleted"
            )
        if metadata.name in self._objects[kind][metadata.namespace]:
            raise ExistsError(f"{kind} {metadata.namespace}/{metadata.name} exists already")
        new = structs.replace(manifest, metadata=metadata)
        new = admitted(self._pod_admission.of(new) if isinstance(new, Pod) else new, self.list("PriorityClass"))
        return self._write(kind, None, new)

    def load(self, manifest: Any) -> Any:
        """An object is there from the beginning, with the status, the uid and the times that it has; others are made."""
        kind = kind_of(manifest)
        metadata = default_namespace(manifest, kind)
        old = self.get(kind, metadata.namespace, metadata.name)
        stamps = self._born(kind, metadata)
        kept = structs.replace(
            metadata,
            uid=metadata.uid or stamps.uid,
            creation_timestamp=metadata.creation_timestamp or stamps.creation_timestamp,
            generation=metadata.generation or stamps.generation,
        )
        loaded = restored(structs.replace(manifest, metadata=kept))
        if isinstance(loaded, Pod):
            self._pod_admission.learn(loaded)
        return self._write(kind, old, loaded)

    def apply(self, manifest: Any) -> Any:
        """Apply an object as written: create it, or change its spec, labels and annotations."""
        kind = kind_of(manifest)
        metadata = default_namespace(manifest, kind)
        old = self.get(kind, metadata.namespace, metadata.name)
        return self.create(manifest) if old is None else self.update(merged(manifest, old))

    def update(self, manifest: Any) -> Any:
        """Replace an object; subscribers are called only if it differs. Returns the object as kept."""
        kind = kind_of(manifest)
        old = self.get(kind, *key_of(manifest))
        if old is None or old == manifest:
            return old
        if kind != "Pod" and getattr(old, "spec", None) != getattr(manifest, "spec", None):
            manifest = with_metadata(manifest, generation=old.metadata.generation + 1)
        if _may_go(manifest):
            self._remove(kind, old)
            return None
        return self._write(kind, old, manifest)

    def delete(
        self, kind: str, namespace: str, name: str, grace_period: int | None = None, *, propagation: str = BACKGROUND
    ) -> bool:
        """Delete an object; whether there was one.

        ``grace_period`` are the seconds that a pod has to end (None: what its spec says; 0: it is gone at once).
        ``propagation`` says what happens to its dependents: they go afterwards, or before, or stay without an owner.
        """
        old = self.get(kind, namespace, name)
        if old is None:
            return False
        if kind == "Namespace":
            propagation = NAMESPACE_CONTENT
        if propagation != BACKGROUND and propagation not in (old.metadata.finalizers or ()):
            old = self._hold(kind, old, propagation)
        grace = _grace_period(old, grace_period) if isinstance(old, Pod) else 0
        left = old.metadata.deletion_grace_period_seconds
        if old.metadata.is_terminating and (left is None or left <= grace):
            return True
        if grace == 0 and not old.metadata.finalizers:
            self._remove(kind, old)
            return True
        end = format_time(self.clock.now + grace * SECOND)
        terminating = with_metadata(
            old,
            deletion_timestamp=end,
            deletion_grace_period_seconds=grace,
            generation=old.metadata.generation + (not old.metadata.is_terminating),
        )
        self._write(kind, old, terminating)
        return True

    def forget(self, kind: str, namespace: str, name: str) -> None:
        """An object is gone, whatever held it."""
        old = self.get(kind, namespace, name)
        if old is not None:
            self._remove(kind, old)

    def _born(self, kind: str, metadata: Metadata) -> Metadata:
        """The metadata of an object that comes now."""
        name = metadata.name or self._generated(kind, metadata)
        what = f"{kind}/{metadata.namespace}/{name}/{self.clock.now}/{self.get(kind, metadata.namespace, name) is None}"
        return structs.replace(
            metadata,
            name=name,
            uid=self._chance.uid(what),
            creation_timestamp=self.clock.text,
            generation=1,
            deletion_timestamp=None,
            deletion_grace_period_seconds=None,
        )

    def _generated(self, kind: str, metadata: Metadata) -> str:
        """A name that is free."""
        prefix = f"{kind}/{metadata.namespace}/{metadata.generate_name}"
        while True:
            name = metadata.generate_name + self._chance.suffix(prefix)
            if self.get(kind, metadata.namespace, name) is None:
                return name

    def _hold(self, kind: str, old: Any, finalizer: str) -> Any:
        finalizers = (*(old.metadata.finalizers or ()), finalizer)
        return self._write(kind, old, with_metadata(old, finalizers=finalizers))

    def _write(self, kind: str, old: Any, new: Any) -> Any:
        self._version += 1
        new = with_metadata(new, resource_version=str(self._version))
        self._objects[kind][new.metadata.namespace][new.metadata.name] = new
        self._index(kind, old, new)
        self._notify(ObjectEvent(kind, old, new))
        return new

    def _remove(self, kind: str, old: Any) -> None:
        del self._objects[kind][old.metadata.namespace][old.metadata.name]
        if self._gone[0] != self.clock.now:
            self._gone = self.clock.now, Counter()
        self._gone[1][kind, key_of(old)] += 1
        self._version += 1
        self._index(kind, old, None)
        self._notify(ObjectEvent(kind, old, None))

    def _index(self, kind: str, old: Any, new: Any) -> None:
        if kind == "Pod":
            self._placed.move(old, new)
        elif kind in self._selecting:
            self._selecting[kind].move(old, new)
        before, after = old and old.metadata, new and new.metadata
        if before and after and before.labels == after.labels and before.owner_references == after.owner_references:
            return
        if before:
            self._owned.discard(kind, before)
        if after:
            self._owned.add(kind, after)
        if kind == "Pod":
            if before:
                self._labelled.discard(before)
            if after:
                self._labelled.add(after)

    def _notify(self, event: ObjectEvent) -> None:
        for subscriber in (*self._of_all_kinds, *self._subscribers.get(event.kind, ())):
            subscriber(event)

    @staticmethod
    def _matching(objects: Iterable[Any], selector: Selector) -> Sequence[Any]:
        return [each for each in objects if selector.matches(each.metadata.labels or {})]


def _may_go(manifest: Any) -> bool:
    """Whether nothing holds an object any more whose deletion has begun."""
    metadata = manifest.metadata
    return bool(metadata.is_terminating and not metadata.finalizers and not metadata.deletion_grace_period_seconds)


def _grace_period(pod: Pod, asked: int | None) -> int:
    """The seconds that a pod has to end. Source: the pod strategy, Kubernetes 1.36."""
    if not pod.node or pod.is_over:
        return 0
    wanted = pod.spec.get("terminationGracePeriodSeconds", 30) if asked is None else asked
    return max(0, int(wanted))
