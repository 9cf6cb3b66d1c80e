"""What plans are made on: a state, and what is kept of it from one plan to the next.

The caches of the scheduler's rules and of strategies follow the pods of their state. Making them takes longer than a
repaired plan, so who makes one plan after the other keeps the *cache*, and tells its state what has happened in between.
A plan that is made on it leaves it as it found it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from restow.cluster.budgets import CoveringBudgets
from restow.cluster.pod_classes import LabelGroups
from restow.cluster.pod_columns import PodUids
from restow.cluster.state import ClusterState
from restow.kube.objects import KINDS
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.missing_data import MissingData
from restow.scheduling.loop.schedulers import Schedulers
from restow.workloads.groups import Groups, group_kinds
from restow.workloads.next_pod import NextPods

_BUDGET: Final = "PodDisruptionBudget"
#: All kinds but those that change with each move.
_ABOVE: Final = tuple(kind for kind in KINDS if kind not in ("Node", "Pod", _BUDGET))


@dataclass(slots=True)
class PlanningCache:
    """One state with what is kept of it; of use as long as only its nodes, its pods and their budgets change."""

    state: ClusterState
    #: Of the cluster's schedulers.
    profiles: tuple[SchedulerProfile, ...]
    labels: LabelGroups
    #: What strategies keep (``View.once``).
    kept: dict[Any, Any] = field(default_factory=dict)
    _uids: PodUids | None = None
    _schedulers: Schedulers | None = None
    _missing_data: MissingData | None = None
    #: What follows from the objects above pods, by those objects.
    _groups: tuple[Hashable, Groups] | None = None
    _next_pods: tuple[Hashable, NextPods] | None = None
    #: The budgets by the pods that they cover, and what they ask for.
    _covering: tuple[Sequence[tuple[str, object]], CoveringBudgets] | None = None

    @staticmethod
    def of(state: ClusterState, profiles: Iterable[SchedulerProfile]) -> PlanningCache:
        """The cache for plans on a state, with nothing kept yet."""
        return PlanningCache(state, tuple(profiles), LabelGroups(state.cluster.pods))

    def uids(self) -> PodUids:
        """The pods by their uids."""
        if self._uids is None:
            self._uids = PodUids(self.state.cluster.pods)
        return self._uids

    def schedulers(self) -> Schedulers:
        """The scheduler's rules on the state, for a plan that begins now."""
        if self._schedulers is None:
            self._schedulers = Schedulers(Context.of(self.state), self.profiles)
        else:
            self._schedulers.nominations.read_again()
        return self._schedulers

    def missing_data(self) -> MissingData:
        """What the input leaves open, for a plan that has missed nothing yet."""
        if self._missing_data is None:
            self._missing_data = MissingData(self.state.cluster)
        self._missing_data.missed.clear()
        return self._missing_data

    def groups(self, label: str) -> Groups:
        """The groups of pods, also by a label that a policy names; UnusablePackageError as ``group_kinds``."""
        found_in = label, self._version()
        if self._groups is None or self._groups[0] != found_in:
            self._groups = found_in, Groups(self.state.cluster, group_kinds(label))
        return self._groups[1]

    def next_pods(self) -> NextPods:
        """What the controllers of pods make next."""
        found_in = self._version()
        if self._next_pods is None or self._next_pods[0] != found_in:
            self._next_pods = found_in, NextPods(self.state.cluster)
        return self._next_pods[1]

    def covering(self) -> CoveringBudgets:
        """The budgets by the pods that they cover: those of an earlier plan, if only their status has changed."""
        asked = [(each.metadata.namespace, each.spec) for each in self.state.cluster.kind(_BUDGET).values()]
        if self._covering is None or not _are_same(self._covering[0], asked):
            self._covering = asked, CoveringBudgets(self.state.cluster, self.labels)
        return self._covering[1]

    def _version(self) -> Hashable:
        return tuple(map(self.state.version, _ABOVE))

    def take_back_plan(self) -> None:
        """Have the state be what was observed again."""
        self.state.undo(0)
        if self.state.forget_replacements():
            # What is known of claims follows no change of them.
            self.state.dismiss_followers()
            self._schedulers = self._missing_data = None
            self.kept.clear()


def _are_same(known: Sequence[tuple[str, object]], asked: Sequence[tuple[str, object]]) -> bool:
    """Whether budgets ask for the same; objects are never changed, so the same one says the same."""
    return len(known) == len(asked) and all(
        one[0] == other[0] and one[1] is other[1] for one, other in zip(known, asked, strict=True)
    )
