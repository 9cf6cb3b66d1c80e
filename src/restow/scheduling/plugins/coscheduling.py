"""Coscheduling: pods of a group are bound once so many of them have nodes as their PodGroup asks for.

PreFilter refuses a pod whose group has too few pods, or wants more than the cluster has free. What the plugin does at
Permit, to bind a group or none of it, is ``scheduling.loop.coscheduling``. PostFilter only says what becomes of the group.
The plugin lets pods with nodes wait for the others, for ``permitWaitingTimeSeconds``; restow decides about all of a group at
once, so none waits, and no group has to be left alone for ``podGroupBackoffSeconds``.
Source: Coscheduling of kubernetes-sigs/scheduler-plugins v0.33.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, Final

import numpy as np

from restow.cluster.interning import IntArray
from restow.cluster.pod_values import coscheduling_group
from restow.documents.findings import Issue
from restow.kube.objects import CoscheduledGroup, Int64
from restow.scheduling.framework.context import Context
from restow.scheduling.framework.coscheduled_groups import KIND, CoscheduledGroups, CoscheduledKey
from restow.scheduling.framework.declaration import Availability, SchedulerPlugin, SchedulerPluginArgs, invalid
from restow.scheduling.framework.extension_points import (
    NO_PODS,
    PASSES,
    SKIP,
    FilterResult,
    Outcome,
    PreFiltered,
    UnknownError,
)
from restow.scheduling.framework.post_filtering import Handle, Preemption
from restow.scheduling.framework.requeueing import Action, ClusterEvent, Interest, PodFacts, Resource
from restow.scheduling.framework.verdicts import Verdicts

NAME: Final = "Coscheduling"
_UNKNOWN: Final = f"its scheduler looks at its PodGroup, and objects of kind {KIND} are not known here"
#: A group that lacks no more than this share of its pods is not given up because of one that fits nowhere.
_SMALL_GAP: Final = 0.1


class CoschedulingArgs(SchedulerPluginArgs, frozen=True):
    """How long pods wait for one another, and a group that failed: here no pod and no group does."""

    permit_waiting_time_seconds: Int64 = 60
    pod_group_backoff_seconds: Int64 = 0


def check(args: CoschedulingArgs) -> Iterator[Issue]:
    """No time is negative."""
    for name, value in (
        ("permitWaitingTimeSeconds", args.permit_waiting_time_seconds),
        ("podGroupBackoffSeconds", args.pod_group_backoff_seconds),
    ):
        if value < 0:
            yield invalid((name,), value, "must be greater than 0")


class Coscheduling:
    """The plugin at preFilter, on one state."""

    name = NAME

    def __init__(self, context: Context, _args: CoschedulingArgs) -> None:
        self._state = context.state
        self._groups = CoscheduledGroups(context.state)

    def applies_to(self, _pod: int) -> bool:
        """Any pod may name a group, whatever else it has in common with others."""
        return True

    def prefilter(self, pod: int) -> PreFiltered:
        """Whether the group of a pod may have nodes at all; UnknownError if it is not known what it asks for."""
        key = self._groups.of(pod)
        if key is None:
            return SKIP
        if not self._state.cluster.has_list(KIND):
            raise UnknownError(_UNKNOWN).of(NAME)
        found = self._groups.found(key)
        problem = "" if found is None else self._problem(pod, key, found)
        return PreFiltered(skip=True, failure=Outcome((problem,), unresolvable=True) if problem else None)

    def _problem(self, pod: int, key: CoscheduledKey, group: CoscheduledGroup) -> str:
        there, least = len(self._groups.members(key)), group.spec.min_member
        if there < least:
            return (
                f"pre-filter pod {self._state.cluster.pods.names[pod]} cannot find enough sibling pods, "
                f"current pods number: {there}, minMember of group: {least}"
            )
        if not group.spec.min_resources:
            return ""
        lacking = self._groups.lacking(key, {**group.spec.min_resources, "pods": least})
        return f"resource gap: {', '.join(f'{name} {lacking[name]}' for name in sorted(lacking))}" if lacking else ""

    def affecting_pods(self, _pod: int) -> IntArray:
        """Pods do not matter: no node is looked at."""
        return NO_PODS

    def filter(self, _pod: int, nodes: IntArray) -> FilterResult:
        """Every node is as good as any other."""
        return FilterResult(np.full(len(nodes), PASSES), ())

    def signature(self, pod: int) -> Hashable:
        """The group that a pod names."""
        return self._groups.of(pod)


class Rejecting:
    """The plugin at postFilter, which helps no pod."""

    def __init__(self, handle: Handle, _args: CoschedulingArgs) -> None:
        self._pods = handle.context.state.cluster.pods
        self._groups = CoscheduledGroups(handle.context.state)

    def post_filter(self, pod: int, _verdicts: Verdicts) -> Preemption:
        """What becomes of the group of a pod that no node takes."""
        return Preemption(message=self._message(pod), keeps_nomination=True)

    def _message(self, pod: int) -> str:
        key = self._groups.of(pod)
        found = None if key is None else self._groups.found(key)
        if key is None or found is None:
            return "can not find pod group"
        least = found.spec.min_member
        lacking = least - len(self._groups.placed(key))
        if lacking <= _SMALL_GAP * least:
            return ""
        name = self._pods.names[pod]
        return f"PodGroup {key} gets rejected due to Pod {name} is unschedulable even after PostFilter"


def _is_of_its_group(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    other: PodFacts = event.new
    return _group(pod) != "" and (other.namespace, _group(other)) == (pod.namespace, _group(pod))


def _is_its_group(pod: PodFacts, event: ClusterEvent, _args: Any) -> bool:
    found = event.new.metadata
    return _group(pod) != "" and (found.namespace, found.name) == (pod.namespace, _group(pod))


def _group(pod: PodFacts) -> str:
    return coscheduling_group(pod.labels)


PLUGIN = SchedulerPlugin(
    NAME,
    ("queueSort", "preFilter", "postFilter", "permit", "reserve"),
    Coscheduling,
    make_post_filter=Rejecting,
    args=CoschedulingArgs,
    check=check,
    availability=Availability.OPTIONAL,
    kinds=(KIND,),
    interests=(
        Interest(Resource.POD, Action.ADD, _is_of_its_group, "a pod of its group is added"),
        Interest(
            Resource.COSCHEDULED_GROUP, Action.ADD | Action.UPDATE, _is_its_group, "its PodGroup is added or changes"
        ),
    ),
)
