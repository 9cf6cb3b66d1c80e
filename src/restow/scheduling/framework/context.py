"""What the plugins of one scheduler share: the state, the label index, the counts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from restow.cluster.label_groups import LabelGroups
from restow.cluster.pod_columns import PodGroups
from restow.cluster.state import ClusterState
from restow.scheduling.framework.pod_counts import PodCounts

T = TypeVar("T")


@dataclass(slots=True, frozen=True)
class Context:
    """One state and the indices over it; every plugin of a scheduler gets the same."""

    state: ClusterState
    labels: LabelGroups
    #: Pods with the same rules in the same namespace carry the same inter-pod terms.
    carriers: PodGroups
    counts: PodCounts
    #: Labels by name of the namespaces that the input holds.
    namespaces: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: What plugins have made for one another.
    _shared: dict[Hashable, Any] = field(default_factory=dict)

    @staticmethod
    def of(state: ClusterState) -> Context:
        """The context of a state."""
        return Context(
            state,
            LabelGroups(state.cluster.pods),
            PodGroups(state.cluster.pods, "rules", "namespace"),
            PodCounts(state),
            state.cluster.namespace_labels(),
        )

    def shared(self, make: Callable[[Context], T]) -> T:
        """The value of ``make``, computed once and shared by all plugins that ask for it."""
        if make not in self._shared:
            self._shared[make] = make(self)
        made: T = self._shared[make]
        return made
