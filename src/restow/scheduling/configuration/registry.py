"""The plugins that a scheduler configuration may name.

To add a plugin: one file in ``scheduling/plugins`` and one line here, or an entry point of the group
``restow.scheduler_plugins`` in another package (``docs/how-to/write-a-scheduler-plugin.md``). The order is the one in
which kube-scheduler runs its default plugins. Source: the default plugins, Kubernetes 1.36 with its feature gates as
they come; the last plugin is of kubernetes-sigs/scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from restow.installed_packages import installed, taken
from restow.scheduling.configuration.installed_plugins import ENTRY_POINTS, plugin_of_a_package
from restow.scheduling.framework.declaration import SchedulerPlugin
from restow.scheduling.plugins import (
    balanced_allocation,
    default_preemption,
    dynamic_resources,
    image_locality,
    inter_pod_affinity,
    load_variation,
    node_affinity,
    node_ports,
    node_resources_fit,
    node_unschedulable,
    node_volume_limits,
    pod_topology_spread,
    taint_toleration,
    volume_binding,
    volume_restrictions,
    volume_zone,
    without_decisions,
)

_IN_TREE: Final[tuple[SchedulerPlugin, ...]] = (
    without_decisions.SCHEDULING_GATES,
    without_decisions.PRIORITY_SORT,
    node_unschedulable.PLUGIN,
    without_decisions.NODE_NAME,
    taint_toleration.PLUGIN,
    node_affinity.PLUGIN,
    node_ports.PLUGIN,
    node_resources_fit.PLUGIN,
    volume_restrictions.PLUGIN,
    node_volume_limits.PLUGIN,
    volume_binding.PLUGIN,
    volume_zone.PLUGIN,
    pod_topology_spread.PLUGIN,
    inter_pod_affinity.PLUGIN,
    dynamic_resources.PLUGIN,
    default_preemption.PLUGIN,
    balanced_allocation.PLUGIN,
    image_locality.PLUGIN,
    without_decisions.DEFAULT_BINDER,
    without_decisions.NODE_DECLARED_FEATURES,
    without_decisions.GANG_SCHEDULING,
    without_decisions.TOPOLOGY_PLACEMENT_GENERATOR,
    without_decisions.POD_GROUP_PODS_COUNT,
    load_variation.PLUGIN,
)

#: restow's own plugins by name.
IN_TREE: Final[Mapping[str, SchedulerPlugin]] = {each.name: each for each in _IN_TREE}

#: Whose plugins these are, for messages about others.
OWNER: Final = "kube-scheduler's"

#: Once part of kube-scheduler; a configuration that names one is refused.
REMOVED: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})


def check_installed() -> None:
    """UnusablePackageError where a package offers a plugin by a name that is taken: plugins of kube-scheduler stay what they are."""
    for name in installed(ENTRY_POINTS):
        if name in IN_TREE or name in REMOVED:
            raise taken(ENTRY_POINTS, name, "a plugin of kube-scheduler")


def names() -> tuple[str, ...]:
    """Every name that a configuration may use."""
    return (*IN_TREE, *installed(ENTRY_POINTS))


def find(name: str) -> SchedulerPlugin | None:
    """The plugin with a name; None if there is none, UnusablePackageError if its package is broken."""
    known = IN_TREE.get(name)
    if known is None and name in installed(ENTRY_POINTS):
        return plugin_of_a_package(name)
    return known


def plugin(name: str) -> SchedulerPlugin:
    """The plugin of a name that a configuration was accepted with."""
    found = find(name)
    assert found is not None, "configurations with unknown plugins are refused"
    return found
