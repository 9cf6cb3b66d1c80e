"""Which objects select something that has some labels: what is asked for every pod that comes, changes or is evicted.

Each selector is read once. Nearly all of them ask for some label to have some value, and are found by that, so an answer
costs what it is long and not what there are of a kind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from restow.kube.labels import NOTHING, Selector, selector_from, selector_of_labels
from restow.kube.manifests import ReplicationController
from restow.simulating.indexes import Key, key_of

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
