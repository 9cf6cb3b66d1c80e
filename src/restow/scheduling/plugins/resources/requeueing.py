"""What helps a pod that NodeResourcesFit rejected: room that is freed, and nodes that have enough of it. Source: Kubernetes 1.36."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from restow.scheduling.framework.cluster_events import Action, ClusterEvent, Resource
from restow.scheduling.framework.facts import NodeFacts, PodFacts
from restow.scheduling.framework.requeueing import Interest
from restow.scheduling.plugins.resources.accounted import accounted


def _frees_room(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: a pod is gone that took room, or takes less of what the pod requests; or the pod itself requests less."""
    old: PodFacts = event.old
    new: PodFacts | None = event.new
    if new is None:
        return old.counts_somewhere
    if new.uid == pod.uid:
        return True
    return bool(new.node) and _is_less(new.requests, old.requests, accounted(pod.requests))


def _has_room(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    """Hint: the pod fits on the empty node, and the node is new or has more of what the pod requests than before.

    As upstream does, this includes resources that the plugin is configured to ignore.
    """
    old: NodeFacts | None = event.old
    new: NodeFacts = event.new
    needs = {"pods": 1} | accounted(pod.requests)
    if any(new.allocatable.get(name, 0) < amount for name, amount in needs.items()):
        return False
    return old is None or _is_less(old.allocatable, new.allocatable, needs)


def _is_less(less: Mapping[str, int], more: Mapping[str, int], of: Mapping[str, int]) -> bool:
    """Whether there is less of any of some resources."""
    return any(less.get(name, 0) < more.get(name, 0) for name in of)


INTERESTS: Final = (
    Interest(
        Resource.POD,
        Action.DELETE | Action.UPDATE_POD_SCALE_DOWN,
        _frees_room,
        "a pod goes, or requests less, and leaves room on its node",
    ),
    Interest(
        Resource.NODE,
        Action.ADD | Action.UPDATE_NODE_ALLOCATABLE,
        _has_room,
        "a node is added, or grows, that has enough of what it requests",
    ),
)
