"""Which events can help a pod that a plugin rejected, as the plugin's declaration says it.

An ``Interest`` is an event with an optional hint, which looks at the objects and says whether this one can help this pod.
A hint may err only towards yes: a pod that is not woken waits for minutes. Of pods that differ in name and uid alone, one is
asked for all; one that the event itself is about is asked on its own. Source: EnqueueExtensions and QueueingHintFn,
Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from dataclasses import dataclass
from typing import Any, Final

from restow.scheduling.framework.cluster_events import Action, ClusterEvent, Resource
from restow.scheduling.framework.facts import PodFacts

#: Whether an event can help a pod that the plugin rejected; it gets the plugin's arguments last. An error counts as yes.
QueueingHint = Callable[[PodFacts, ClusterEvent, Any], bool]
#: Why a pod may not be tried at all now, or None. It also gets the uids of the pods whose victims are still being deleted.
PreEnqueue = Callable[[PodFacts, Container[str]], str | None]

_PODS: Final = frozenset({Resource.ASSIGNED_POD, Resource.UNSCHEDULABLE_POD})


@dataclass(slots=True, frozen=True)
class Interest:
    """Events that can help."""

    resource: Resource
    actions: Action
    #: None where every such event can.
    hint: QueueingHint | None = None
    #: What the pod waits for, as in "a node is added".
    words: str = ""

    def covers(self, event: ClusterEvent) -> bool:
        """Whether an event is one of these. One that is only known as an update is none of the precise ones."""
        if self.resource is Resource.ANY:
            return True
        is_kind = event.resource is self.resource or (self.resource is Resource.POD and event.resource in _PODS)
        return is_kind and event.action in self.actions


#: What a plugin waits for that does not say: anything.
ANYTHING: Final = (Interest(Resource.ANY, Action.ALL, words="anything changes in the cluster"),)
_ANY_TAINT: Final = Interest(Resource.NODE, Action.UPDATE_NODE_TAINT)


def registered(interests: tuple[Interest, ...] | None) -> tuple[Interest, ...]:
    """The interests of a plugin as they count.

    A plugin that waits for new nodes and not for taints is woken by any change of taints too. Upstream once lost the
    events of new nodes that were tainted, and still makes up for it.
    """
    if interests is None:
        return ANYTHING
    of_nodes = [each.actions for each in interests if each.resource is Resource.NODE]
    waits_for_nodes = any(Action.ADD in actions for actions in of_nodes)
    if waits_for_nodes and not any(Action.UPDATE_NODE_TAINT in actions for actions in of_nodes):
        return (*interests, _ANY_TAINT)
    return interests


def about_itself(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the pod itself has changed."""
    changed: str = event.new.uid
    return changed == pod.uid
