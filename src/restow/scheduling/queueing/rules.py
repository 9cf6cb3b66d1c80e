"""Queueing rules of the plugins in the profiles: which pods may be tried at all, and which events help which.

The queue knows no plugin by name. Source: isPodWorthRequeuing and runPreEnqueuePlugins, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from restow.scheduling.framework.cluster_events import ClusterEvent, Resource
from restow.scheduling.framework.facts import PodFacts
from restow.scheduling.framework.requeueing import ANYTHING, Interest, PreEnqueue
from restow.scheduling.queueing.queued_pod import QueuedPod


@dataclass(slots=True, frozen=True)
class ProfileRules:
    """Those of one profile."""

    #: Of each plugin, by name.
    interests: Mapping[str, tuple[Interest, ...]] = field(default_factory=dict)
    #: What each plugin is set to, where it has arguments.
    arguments: Mapping[str, Any] = field(default_factory=dict)
    #: Who may keep a pod from being tried, in order.
    pre_enqueue: Mapping[str, PreEnqueue] = field(default_factory=dict)

    def interests_of(self, plugin: str) -> tuple[Interest, ...]:
        """What helps pods that a plugin rejected; anything, where the profile does not have the plugin."""
        return self.interests.get(plugin, ANYTHING)


class QueueingRules:
    """Those of all profiles, by the name of the scheduler that pods give."""

    def __init__(self, profiles: Mapping[str, ProfileRules], preempting: Container[str] = ()) -> None:
        self._profiles = profiles
        #: The uids of the pods whose victims are still being deleted.
        self._preempting = preempting

    def is_registered(self, plugin: str, event: ClusterEvent) -> bool:
        """Whether a plugin waits for such events in some profile."""
        return any(interest.covers(event) for each in self._profiles.values() for interest in each.interests_of(plugin))

    def helps(self, event: ClusterEvent, queued: QueuedPod) -> bool:
        """Whether an event can help a pod, as one of the plugins that rejected it says."""
        if event.resource is Resource.ANY:
            return event.new is None or event.new.uid == queued.key
        rules = self._of(queued.pod)
        return any(
            _helps(interest, queued.pod, event, rules.arguments.get(plugin))
            for plugin in queued.rejected_by
            for interest in rules.interests_of(plugin)
        )

    def gate(self, queued: QueuedPod) -> str:
        """The plugin that does not let a pod be tried now; empty where none does."""
        gates = self._of(queued.pod).pre_enqueue
        first = [queued.gated_by] if queued.gated_by in gates else []
        names = dict.fromkeys([*first, *gates])
        return next((name for name in names if gates[name](queued.pod, self._preempting) is not None), "")

    def why_gated(self, queued: QueuedPod) -> str | None:
        """What the plugin says that does not let a pod be tried; None where it has nothing against it any more."""
        gate = self._of(queued.pod).pre_enqueue.get(queued.gated_by)
        return gate(queued.pod, self._preempting) if gate is not None else None

    def waits_for(self, queued: QueuedPod) -> Iterator[str]:
        """What can help a pod, in words."""
        rules = self._of(queued.pod)
        for plugin in sorted(queued.rejected_by):
            yield from (each.words for each in rules.interests_of(plugin) if each.words)

    def _of(self, pod: PodFacts) -> ProfileRules:
        return self._profiles.get(pod.scheduler, _NO_RULES)


#: Rules of pods that name no profile: any event may help them.
_NO_RULES = ProfileRules()


def _helps(interest: Interest, pod: PodFacts, event: ClusterEvent, arguments: Any) -> bool:
    if not interest.covers(event):
        return False
    if interest.hint is None:
        return True
    try:
        return bool(interest.hint(pod, event, arguments))
    except Exception:  # noqa: BLE001  a pod must not be left waiting because a hint has a fault
        return True
