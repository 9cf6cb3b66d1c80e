"""Pods that fit nowhere, found by the plugins that rejected them and by how long they have waited.

An event concerns the plugins that wait for such events, so only pods that one of these rejected are looked at; and of the
replicas of a workload, which differ in nothing but their names, one is looked at for all. A pod that a plugin does not let be
tried is woken only by what that plugin waits for, and by no passing of time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from restow.scheduling.framework.facts import PodFacts
from restow.scheduling.queueing.ordered import OrderedKeys
from restow.scheduling.queueing.queued_pod import QueuedPod

#: What pods have in common that no event helps one of and not the other.
_Kind = tuple[Any, ...]


@dataclass(slots=True)
class UnschedulablePods:
    """The pods that wait for an event; it changes with every pod that comes or leaves."""

    _kinds: dict[str, _Kind] = field(default_factory=dict)
    _alike: dict[_Kind, dict[str, QueuedPod]] = field(default_factory=dict)
    _by_plugin: defaultdict[str, dict[_Kind, None]] = field(default_factory=lambda: defaultdict(dict))
    #: Those that are not gated, who has waited longest first.
    _oldest: OrderedKeys = field(default_factory=OrderedKeys)

    def __len__(self) -> int:
        return len(self._kinds)

    def __contains__(self, key: str) -> bool:
        return key in self._kinds

    @property
    def gated(self) -> int:
        """How many of them may not be tried at all."""
        return len(self._kinds) - len(self._oldest)

    def put(self, queued: QueuedPod) -> None:
        """A pod comes, or something of it changes."""
        self.discard(queued.key)
        kind = self._kinds[queued.key] = (queued.gated_by, queued.rejected_by, *queued.pod.kept(_parts))
        self._alike.setdefault(kind, {})[queued.key] = queued
        for plugin in _listening(queued):
            self._by_plugin[plugin][kind] = None
        if not queued.gated_by:
            self._oldest.put(queued.key, (queued.since, queued.number))

    def discard(self, key: str) -> None:
        """A pod leaves, if it is there."""
        kind = self._kinds.pop(key, None)
        if kind is None:
            return
        self._oldest.discard(key)
        queued = self._alike[kind].pop(key)
        if not self._alike[kind]:
            del self._alike[kind]
            for plugin in _listening(queued):
                del self._by_plugin[plugin][kind]

    def helped(
        self, is_registered: Callable[[str], bool], helps: Callable[[QueuedPod], bool], about: str
    ) -> list[QueuedPod]:
        """The pods that an event helps, in the order in which they came.

        ``is_registered`` says whether a plugin waits for such events, ``helps`` whether it helps a pod. ``about`` is
        the key of the pod that the event is about: that one is asked on its own.
        """
        kinds = dict.fromkeys(
            kind for plugin, kinds in self._by_plugin.items() if is_registered(plugin) for kind in kinds
        )
        found: list[QueuedPod] = []
        for kind in kinds:
            alike = self._alike[kind]
            itself = alike.get(about)
            one = next((each for each in alike.values() if each is not itself), None)
            if one is not None and helps(one):
                found += (each for each in alike.values() if each is not itself)
            if itself is not None and helps(itself):
                found.append(itself)
        return sorted(found, key=lambda queued: queued.number)

    def oldest(self) -> float | None:
        """Since when the pod waits that has waited longest; None where none is waiting for more than its gate."""
        first = self._oldest.first()
        return None if first is None else first[1][0]

    def older_than(self, since: float) -> Iterator[QueuedPod]:
        """The pods that have waited since before a time, who has waited longest first; they are taken out."""
        while (oldest := self._oldest.first()) is not None and oldest[1][0] < since:
            key = oldest[0]
            queued = self._alike[self._kinds[key]][key]
            self.discard(key)
            yield queued


def _listening(queued: QueuedPod) -> frozenset[str]:
    """The plugins whose events a pod gets."""
    return frozenset((queued.gated_by,)) if queued.gated_by else queued.rejected_by


def _parts(pod: PodFacts) -> tuple[Any, ...]:
    """Everything that hints look at but name and uid. Parts that pods share are the same objects, as long as a pod has them."""
    shared = (pod.labels, pod.requests, pod.tolerations, pod.rules, pod.spread, pod.ports, pod.volumes)
    return (pod.namespace, pod.scheduler, pod.priority, pod.node, pod.nominated_node, pod.gates, *map(id, shared))
