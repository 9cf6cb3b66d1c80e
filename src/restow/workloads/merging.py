"""What of a running pod the next one has too: three sets of named values become one.

Each part of a pod is a mapping: labels by key, containers by name, tolerations by themselves. ``merge`` compares that of the
running pod with that of the template it was made of, and applies the difference to the template that the next pod is made
of: what the pod has beyond its own template was added when it was created, and will be added again. Where pod and template
disagree the template counts, and the caller learns about what.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Merged(NamedTuple, Generic[K, V]):
    """The values of the next pod, and the keys about which the running pod and its own template disagree."""

    values: dict[K, V]
    disputed: tuple[K, ...]


def merge(pod: Mapping[K, V], own: Mapping[K, V], new: Mapping[K, V]) -> Merged[K, V]:
    """The values of the next pod, in the order of the running one and then of the template.

    ``own`` is what the template says that the pod was made of, ``new`` what the one says that the next pod is made of.
    """
    disputed = tuple(key for key, value in own.items() if key not in pod or pod[key] != value)
    kept = {key: new.get(key, value) for key, value in pod.items() if key in new or key not in own}
    return Merged({**kept, **new}, disputed)


def itself(values: Iterable[K]) -> dict[K, K]:
    """Values that have no names, each by itself."""
    return {each: each for each in values}
