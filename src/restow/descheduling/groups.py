"""What a plan does about groups (``workloads.groups``): their pods stay by default; or each group moves as a whole.

The arbiter completes a group that moves, as one proposal: to suggest one of its pods is to suggest all of them. The
others may land anywhere that the group's own rules allow. All of them pass the evictor and count in limits and budgets,
and if one may not go, none does. If the controller restarts the whole group, all of its pods leave before the first
replacement is scheduled.

A group with an exclusive topology has a domain to itself. Its controller pins all replacements to the domain that the
first one lands in, which cannot be proven beforehand; so such a group moves within its domain only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
from msgspec import Struct, structs

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_columns import PodColumn
from restow.cluster.pod_values import OVER
from restow.cluster.state import ClusterState
from restow.descheduling.framework import NodeTest, PendingFilters, Suggestion
from restow.policies.codes import RefusalCode, Stage
from restow.workloads.groups import NO_GROUP, Group, Groups

#: What to write into a policy so that groups move.
_HOW: Final = "groups: together in the policy's restow section moves"


@dataclass(slots=True)
class HeldGroups:
    """The pods that stay because they belong to a group."""

    _groups: Groups
    #: How many pods each group had when the plan began.
    _sizes: IntArray
    _stay: BoolArray = field(init=False)
    #: Whether each pod stays.
    holds: PodColumn[np.bool_] = field(init=False)

    @staticmethod
    def of(state: ClusterState, groups: Groups) -> HeldGroups:
        """The groups of the pods that exist now."""
        found = groups.of_pod.values[state.exists & ~state.cluster.pods.terminal]
        return HeldGroups(groups, np.bincount(found[found != NO_GROUP], minlength=len(groups.known)))

    def __post_init__(self) -> None:
        known = self._groups.known.keys()
        #: Which groups stay; no group comes while a plan is made, and the last stands for none.
        self._stay = np.array(
            [*(size > 1 or each.kind.admitted for each, size in zip(known, self._sizes.tolist(), strict=True)), False]
        )
        self.holds = PodColumn(self._groups.cluster.pods, self._find)

    def sentence(self, pod: int) -> str:
        """Why a pod stays, and what in the policy would let it go."""
        group, number = self._groups.of(pod), self._size(pod)
        if number == 1:
            return f"pod is {group}, and its replacement would have to be admitted first; {_HOW} it all the same"
        acts = "restarts" if group is not None and group.kind.restarts else "works"
        return f"pod is one of {number} pods of {group}, which {acts} as a whole; {_HOW} all of them at once"

    def group_of(self, pod: int) -> Group | None:
        """The group of a pod; None if it belongs to none."""
        return self._groups.of(pod)

    def _size(self, pod: int) -> int:
        number = int(self._groups.of_pod.values[pod])
        return int(self._sizes[number]) if NO_GROUP < number < len(self._sizes) else 1

    def _find(self, rows: IntArray) -> BoolArray:
        numbers, pods = self._groups.of_pod.values[rows], self._groups.cluster.pods
        numbers[numbers >= len(self._sizes)] = NO_GROUP
        held: BoolArray = self._stay[numbers] & ~np.isin(pods.phase[rows], list(OVER))
        return held


class MovingGroups(Struct, frozen=True):
    """Groups whose pods move together or not at all."""

    state: ClusterState
    groups: Groups
    #: The nodes that strategies see.
    nodes: IntArray

    def completed(self, suggestions: tuple[Suggestion, ...]) -> tuple[Suggestion, ...]:
        """The suggestions, and one for each other pod of their groups; landings as the groups' own rules allow.

        The replacements of a group that restarts come in canonical order: the leader first.
        """
        numbers = self.numbers([each.pod for each in suggestions])
        if not numbers:
            return suggestions
        given = {each.pod: each for each in suggestions}
        for number in numbers:
            group = self.groups.known.keys()[number]
            members = self.groups.members(number, self.state.exists).tolist()
            others = [pod for pod in members if pod not in given]
            given |= {pod: Suggestion(pod, f"{group} moves as a whole", pending=PendingFilters.ALL) for pod in others}
            given = {pod: self._confined(each, group) if pod in members else each for pod, each in given.items()}
        if all(self.groups.known.keys()[number].kind.restarts for number in numbers) and len(suggestions) == 1:
            rank = self.state.cluster.pods.rank
            return tuple(given[pod] for pod in sorted(given, key=lambda pod: int(rank[pod])))
        return tuple(given.values())

    def numbers(self, pods: Sequence[int]) -> list[int]:
        """The numbers of the groups that some pods belong to, each once; pods that have ended belong to none."""
        of_pod, is_over = self.groups.of_pod.values, self.state.cluster.pods.is_over
        found = dict.fromkeys(int(of_pod[pod]) for pod in pods if not is_over(pod))
        return [number for number in found if number != NO_GROUP]

    def left_behind(self, pods: Sequence[int]) -> int | None:
        """A pod of the groups of some pods that is not one of them; None if the groups are complete."""
        members = (pod for each in self.numbers(pods) for pod in self.groups.members(each, self.state.exists).tolist())
        return next((pod for pod in members if pod not in pods), None)

    def title(self, pod: int) -> str:
        """The group of a pod, for a sentence."""
        return str(self.groups.of(pod))

    def restarting(self, pods: Sequence[int]) -> list[int]:
        """Those of some pods that the controller deletes when it restarts their group."""
        numbers = {each: self.groups.known.keys()[each].kind.restarts for each in self.numbers(pods)}
        return [pod for pod in pods if numbers.get(int(self.groups.of_pod.values[pod]))]

    def is_admitted(self, pod: int) -> bool:
        """Whether the replacement of a pod waits until a queue admits it, which is not predicted."""
        group = self.groups.of(pod)
        return group is not None and group.kind.admitted and not self.state.cluster.pods.is_over(pod)

    def obstacle(self, pods: Sequence[int]) -> tuple[int, tuple[Stage, RefusalCode, str]] | None:
        """Why the groups of some pods cannot move: the position of the pod that stays, and the reason; None if they can."""
        units: set[tuple[Group, str]] = set()
        for position, pod in enumerate(pods):
            group = self.groups.of(pod)
            if group is None or self.state.cluster.pods.is_over(pod):
                continue
            why = self._on_no_node(pod, group)
            unit = group, self.groups.mark(pod, group.kind.exclusive_by)
            if why is None and unit not in units:
                units.add(unit)
                members = self.groups.members(int(self.groups.of_pod.values[pod]), self.state.exists)
                why = self._incomplete(pod, group, members) or self._not_exclusive(pod, group, members)
            if why is not None:
                return position, (Stage.EVICTOR, RefusalCode.GROUP_MEMBER, why)
        return None

    def _on_no_node(self, pod: int, group: Group) -> str | None:
        """Why a pod of a group cannot be evicted where it is."""
        node = int(self.state.node[pod])
        if node < 0:
            return f"pod of {group} is on no node that is known, so not all of its pods can move"
        if node in self.nodes:
            return None
        return f"pod of {group} is on {self.state.cluster.nodes.names[node]}, which is not ready or not selected by the policy"

    def _incomplete(self, pod: int, group: Group, members: IntArray) -> str | None:
        """Why replacements would not be scheduled, or not be started: some of the group are missing already."""
        wanted = self.groups.mark(pod, group.kind.size)
        if not wanted.isdecimal() or len(members) >= int(wanted[:9]):
            return None
        return (
            f"{group} has {len(members)} of the {wanted[:9]} pods that it needs, so its replacements would have to wait"
        )

    def _not_exclusive(self, pod: int, group: Group, members: IntArray) -> str | None:
        """Why a group that must have a domain to itself has none."""
        key = self._topology(pod, group)
        if not key:
            return None
        unit, domains = self._unit(pod, group, members), self._domains(key)
        its = {domains[int(self.state.node[each])] for each in unit if self.state.node[each] >= 0}
        if len(its) > 1 or None in its:
            return f"pods of {group} must share one {key}, and are not in one now"
        used = self._others_in(key, unit, its)
        if used is None:
            return None
        return f"{group} must have its {key} to itself, and {self.state.cluster.pods.full_name(used)} of another group is in it"

    def _others_in(self, key: str, unit: Sequence[int], domains: set[str | None]) -> int | None:
        """A pod of another group that has the same exclusive topology, in one of some domains."""
        by_node, known = self._domains(key), self.groups.known.keys()
        numbers = [number for number, each in enumerate(known) if each.kind.exclusive_topology]
        grouped = np.isin(self.groups.of_pod.values, numbers) & self.state.holds_resources() & (self.state.node >= 0)
        candidates: list[int] = self.state.cluster.pods.where(grouped).tolist()
        for pod in candidates:
            group = self.groups.of(pod)
            if pod in unit or group is None or by_node[int(self.state.node[pod])] not in domains:
                continue
            if self._topology(pod, group) == key:
                return pod
        return None

    def _confined(self, suggestion: Suggestion, group: Group) -> Suggestion:
        """The suggestion with landings limited to the domain that the group has to itself."""
        key, node = self._topology(suggestion.pod, group), int(self.state.node[suggestion.pod])
        if not key or node < 0:
            return suggestion
        domains = self._domains(key)
        inside = np.array([each is not None and each == domains[node] for each in domains], dtype=bool)
        return structs.replace(suggestion, accepts=partial(_within, inside, suggestion.accepts))

    def _topology(self, pod: int, group: Group) -> str:
        return self.groups.mark(pod, group.kind.exclusive_topology)

    def _unit(self, pod: int, group: Group, members: IntArray) -> list[int]:
        """The pods of the group that share a domain with a pod."""
        by = group.kind.exclusive_by
        mine = self.groups.mark(pod, by)
        return [each for each in members.tolist() if self.groups.mark(each, by) == mine]

    def _domains(self, key: str) -> list[str | None]:
        return [labels.get(key) for labels in self.state.cluster.nodes.labels]


def _within(inside: BoolArray, accepts: NodeTest | None, nodes: IntArray) -> BoolArray:
    return inside[nodes] if accepts is None else inside[nodes] & accepts(nodes)
