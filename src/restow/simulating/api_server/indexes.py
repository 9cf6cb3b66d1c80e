"""What controllers ask all the time: what belongs to an owner, has a label, is on a node, or selects some labels.

Every answer costs what it is long, not what the cluster is large. Sets are dictionaries, so that their order is that in
which things came, and the same in every run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from restow.kube.labels import NOTHING, Selector, selector_from, selector_of_labels
from restow.kube.manifests import Manifest, Metadata, Pod, ReplicationController

#: (namespace, name); the namespace of cluster-wide kinds is empty.
Key = tuple[str, str]
_Keys = dict[Key, None]


def key_of(manifest: Manifest) -> Key:
    """Namespace and name of an object."""
    return manifest.metadata.namespace, manifest.metadata.name


@dataclass(slots=True)
class Owned:
    """The objects of each owner by kind, and orphans by kind and namespace."""

    _by_uid: dict[str, dict[str, _Keys]] = field(default_factory=dict)
    _uncontrolled: defaultdict[tuple[str, str], _Keys] = field(default_factory=lambda: defaultdict(dict))

    def of(self, uid: str, kind: str) -> Iterable[Key]:
        """The objects of a kind that name an owner (a uid)."""
        return self._by_uid.get(uid, {}).get(kind, ())

    def all_of(self, uid: str) -> Mapping[str, Iterable[Key]]:
        """The objects that name an owner, by kind."""
        return self._by_uid.get(uid, {})

    def uncontrolled(self, kind: str, namespace: str) -> Collection[Key]:
        """The objects of a kind and a namespace that no controller owns; each is found at once."""
        return self._uncontrolled.get((kind, namespace), {})

    def add(self, kind: str, metadata: Metadata) -> None:
        """Enter an object with its owners."""
        for owner in metadata.owner_references or ():
            kinds = self._by_uid.setdefault(owner.uid, {})
            kinds.setdefault(kind, {})[metadata.namespace, metadata.name] = None
        if metadata.controller is None:
            self._uncontrolled[kind, metadata.namespace][metadata.namespace, metadata.name] = None

    def discard(self, kind: str, metadata: Metadata) -> None:
        """Strike an object off."""
        for owner in metadata.owner_references or ():
            kinds = self._by_uid[owner.uid]
            kinds[kind].pop((metadata.namespace, metadata.name), None)
            if not kinds[kind]:
                del kinds[kind]
            if not kinds:
                del self._by_uid[owner.uid]
        self._uncontrolled[kind, metadata.namespace].pop((metadata.namespace, metadata.name), None)


@dataclass(slots=True)
class Labelled:
    """The pods of each namespace by their labels."""

    _by_label: defaultdict[tuple[str, str, str], _Keys] = field(default_factory=lambda: defaultdict(dict))

    def candidates(self, namespace: str, selector: Selector) -> Iterable[Key] | None:
        """A superset of the pods that a selector matches; None where that could be any of the namespace."""
        wanted = [each for each in selector.requirements if each.operator == "In"]
        if not wanted:
            return None
        found = (self._with_label(namespace, each.key, each.values) for each in wanted)
        return min(found, key=len)

    def add(self, metadata: Metadata) -> None:
        """Index a pod."""
        key = metadata.namespace, metadata.name
        for label in (metadata.labels or {}).items():
            self._by_label[metadata.namespace, *label][key] = None

    def discard(self, metadata: Metadata) -> None:
        """Strike a pod off."""
        key = metadata.namespace, metadata.name
        for name, value in (metadata.labels or {}).items():
            keys = self._by_label[metadata.namespace, name, value]
            keys.pop(key, None)
            if not keys:
                del self._by_label[metadata.namespace, name, value]

    def _with_label(self, namespace: str, name: str, values: tuple[str, ...]) -> _Keys:
        if len(values) == 1:
            return self._by_label.get((namespace, name, values[0]), {})
        return {key: None for value in values for key in self._by_label.get((namespace, name, value), ())}


@dataclass(slots=True)
class Placed:
    """The pods of each node."""

    _by_node: defaultdict[str, _Keys] = field(default_factory=lambda: defaultdict(dict))

    def on(self, node: str) -> Iterable[Key]:
        """The pods on a node, in any phase."""
        return self._by_node.get(node, ())

    def move(self, old: Pod | None, new: Pod | None) -> None:
        """A pod came, went, or was bound."""
        before, after = old.node if old else "", new.node if new else ""
        if before == after:
            return
        if old is not None and before:
            self._by_node[before].pop(key_of(old), None)
        if new is not None and after:
            self._by_node[after][key_of(new)] = None


_Selectors = dict[Key, Selector]


def selector_of(manifest: Any) -> Selector:
    """What a controller or a budget selects; nothing if its selector cannot be read."""
    if isinstance(manifest, ReplicationController):
        labels = manifest.spec.selector or manifest.spec.template.metadata.labels
        return selector_of_labels(labels) if labels else NOTHING
    try:
        return selector_from(manifest.spec.selector)
    except ValueError:
        return NOTHING


@dataclass(slots=True)
class Selecting:
    """The selectors of the objects of one kind, by namespace and by a label that they ask for."""

    _by_label: defaultdict[tuple[str, str, str], _Selectors] = field(default_factory=lambda: defaultdict(dict))
    #: Of each namespace those that ask for no value of a label.
    _others: defaultdict[str, _Selectors] = field(default_factory=lambda: defaultdict(dict))

    def matching(self, namespace: str, labels: Mapping[str, str]) -> Iterator[Key]:
        """The objects of a namespace that select what has these labels."""
        asked = (self._by_label.get((namespace, *label), {}) for label in labels.items())
        for selectors in chain(asked, (self._others.get(namespace, {}),)):
            for key, selector in selectors.items():
                if selector.matches(labels):
                    yield key

    def move(self, old: Any, new: Any) -> None:
        """An object came, changed or went."""
        if old is not None and new is not None and old.spec == new.spec:
            return
        if old is not None:
            for selectors in self._places(old, selector_of(old)):
                selectors.pop(key_of(old), None)
        if new is not None:
            selector = selector_of(new)
            for selectors in self._places(new, selector):
                selectors[key_of(new)] = selector

    def _places(self, manifest: Any, selector: Selector) -> Iterable[_Selectors]:
        """Where an object is entered: at each value of one label, so that a set of labels finds it once."""
        namespace = manifest.metadata.namespace
        asked = next((each for each in selector.requirements if each.operator == "In"), None)
        if asked is None:
            return (self._others[namespace],)
        return [self._by_label[namespace, asked.key, value] for value in asked.values]
