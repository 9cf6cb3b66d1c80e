"""Scheduler profiles: which plugins schedule the pods that name a scheduler, in which order, and how they are set.

A profile is what is left of a KubeSchedulerConfiguration once its plugin sets are merged with the defaults
(``scheduling.configuration``). ``scheduling.configuration.profile_plugins`` makes plugins of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from restow.cluster.pod_reading import DEFAULT_SCHEDULER
from restow.scheduling.configuration.registry import IN_TREE
from restow.scheduling.framework.declaration import POINTS, Availability, Point, SchedulerPlugin

#: What runs by default at every point that it has, in this order.
DEFAULT_PLUGINS: Final[tuple[SchedulerPlugin, ...]] = tuple(
    plugin for plugin in IN_TREE.values() if plugin.availability is Availability.DEFAULT
)


def default_points() -> dict[Point, tuple[str, ...]]:
    """The default plugins of each point, in order."""
    return {point: tuple(each.name for each in DEFAULT_PLUGINS if point in each.points) for point in POINTS}


def default_weights() -> dict[str, int]:
    """The weights of the default score plugins."""
    return {each.name: each.weight for each in DEFAULT_PLUGINS if "score" in each.points}


@dataclass(slots=True, frozen=True)
class SchedulerProfile:
    """How the pods of one scheduler name are scheduled."""

    #: What ``spec.schedulerName`` of its pods says.
    name: str = DEFAULT_SCHEDULER
    #: The plugins of each point, in their order, those that restow does not model included.
    plugins: Mapping[Point, tuple[str, ...]] = field(default_factory=default_points)
    #: Of every plugin at score.
    weights: Mapping[str, int] = field(default_factory=default_weights)
    #: By plugin, where they are not the defaults.
    arguments: Mapping[str, Any] = field(default_factory=dict)
    #: The percentage of nodes that must be feasible before the search ends; 0 depends on the number of nodes.
    percentage_of_nodes_to_score: int = 0

    def runs(self, plugin: str, point: Point) -> bool:
        """Whether a plugin runs at a point."""
        return plugin in self.plugins[point]

    @property
    def ignores_gates(self) -> bool:
        """Whether pods with scheduling gates are scheduled like all others."""
        return not any(IN_TREE[name].holds_gated_pods for name in self.plugins["preEnqueue"] if name in IN_TREE)


#: The default profile of kube-scheduler.
DEFAULT_PROFILE = SchedulerProfile()
