"""The plugins that a scheduler configuration may name: kube-scheduler's, and those of installed packages.

To add a plugin: one file in ``scheduling/plugins`` and one line here, or an entry point of the group
``restow.scheduler_plugins`` in another package (``docs/how-to/write-a-scheduler-plugin.md``). A package is loaded only
when a configuration names its plugin, so a broken one does no harm until then, and its declaration is checked before the
first call. The order is the one in which kube-scheduler runs its default plugins. Source: the default plugins, Kubernetes
1.36 with its feature gates as they come; the last three plugins are of kubernetes-sigs/scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any, Final

from restow.documents.findings import Issue
from restow.installed_packages import FAULTS, UnusablePackageError, installed, load, taken, unusable
from restow.kube.excerpts import described
from restow.scheduling.framework.declaration import Availability, Point, SchedulerPlugin, SchedulerPluginArgs
from restow.scheduling.framework.requeueing import Action, Interest, Resource, about_itself
from restow.scheduling.framework.waiting_pods import held_by_gates
from restow.scheduling.plugins import (
    balanced_allocation,
    coscheduling,
    default_preemption,
    dynamic_resources,
    gang_scheduling,
    image_locality,
    inter_pod_affinity,
    load_variation,
    node_affinity,
    node_ports,
    node_resource_topology_match,
    node_resources_fit,
    node_unschedulable,
    node_volume_limits,
    pod_topology_spread,
    taint_toleration,
    volume_binding,
    volume_restrictions,
    volume_zone,
)

#: Other packages register a ``SchedulerPlugin`` under this entry point group, by the plugin's name.
ENTRY_POINTS: Final = "restow.scheduler_plugins"
#: Where a plugin of another package can run.
_POINTS: Final[tuple[Point, ...]] = ("preFilter", "filter", "postFilter", "preScore", "score", "reserve")

# These judge no node here. restow does their work elsewhere: ``schedulingGates`` hold a pod back in the queue, before any
# plugin is asked, and so does the order by priority. Groups that have to share a domain get theirs in the loop
# (``loop.group_domains``). Binding is left to others; declared features of nodes are not modelled.
_SCHEDULING_GATES = SchedulerPlugin(
    "SchedulingGates",
    ("preEnqueue",),
    holds_gated_pods=True,
    pre_enqueue=lambda pod, _surroundings: held_by_gates(pod.gates),
    interests=(
        Interest(
            Resource.POD,
            Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            about_itself,
            "the last of its scheduling gates is removed",
        ),
    ),
)
#: The only order of the queue that there is, also where a profile has Coscheduling there.
_PRIORITY_SORT = SchedulerPlugin("PrioritySort", ("queueSort",))
#: No pod in the queue names a node.
_NODE_NAME = SchedulerPlugin(
    "NodeName", ("filter",), interests=(Interest(Resource.NODE, Action.ADD, words="a node is added"),)
)
_DEFAULT_BINDER = SchedulerPlugin("DefaultBinder", ("bind",))
_NODE_DECLARED_FEATURES = SchedulerPlugin(
    "NodeDeclaredFeatures",
    ("preFilter", "filter"),
    not_modelled="pods are scheduled as if every node had the kubelet features that they need",
)
_TOPOLOGY_PLACEMENT_GENERATOR = SchedulerPlugin(
    "TopologyPlacementGenerator", ("placementGenerate",), availability=Availability.GATED
)
_POD_GROUP_PODS_COUNT = SchedulerPlugin("PodGroupPodsCount", ("placementScore",), availability=Availability.GATED)

_IN_TREE: Final[tuple[SchedulerPlugin, ...]] = (
    _SCHEDULING_GATES,
    _PRIORITY_SORT,
    node_unschedulable.PLUGIN,
    _NODE_NAME,
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
    _DEFAULT_BINDER,
    _NODE_DECLARED_FEATURES,
    gang_scheduling.PLUGIN,
    _TOPOLOGY_PLACEMENT_GENERATOR,
    _POD_GROUP_PODS_COUNT,
    load_variation.PLUGIN,
    node_resource_topology_match.PLUGIN,
    coscheduling.PLUGIN,
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


@cache
def plugin_of_a_package(name: str) -> SchedulerPlugin:
    """The plugin of an entry point; UnusablePackageError where it cannot be imported or is none."""
    offered = load(ENTRY_POINTS, name)
    if not isinstance(offered, SchedulerPlugin):
        raise unusable(ENTRY_POINTS, name, "is no restow.scheduling.framework.declaration.SchedulerPlugin")
    problem = _problem(name, offered)
    if problem:
        raise unusable(ENTRY_POINTS, name, problem)
    return replace(
        offered,
        check=partial(_checked, offered),
        with_defaults=partial(_with_defaults, offered),
    )


def _problem(name: str, plugin: SchedulerPlugin) -> str:
    """Why a declaration is unusable; empty if it is usable."""
    if plugin.name != name:
        return f'declares the plugin "{plugin.name}"; name the entry point like the plugin'
    elsewhere = [point for point in plugin.points if point not in _POINTS]
    if elsewhere or not plugin.points:
        return f"must run at some of the points {', '.join(_POINTS)} and at no other, such as {elsewhere or 'none'}"
    if plugin.args is not None and not (isinstance(plugin.args, type) and issubclass(plugin.args, SchedulerPluginArgs)):
        return "has args that are no subclass of restow.plugins.SchedulerPluginArgs"
    if set(plugin.points) != {"postFilter"} and plugin.make is None:
        return "has no make, which makes what filters and scores"
    if ("postFilter" in plugin.points) != (plugin.make_post_filter is not None):
        return "needs make_post_filter if it runs at postFilter, and only then"
    return _problem_of_interests(plugin.interests)


def _problem_of_interests(interests: Any) -> str:
    if interests is None or (isinstance(interests, tuple) and all(isinstance(each, Interest) for each in interests)):
        return ""
    return "has interests that are no tuple of restow.scheduling.framework.requeueing.Interest"


def _checked(plugin: SchedulerPlugin, args: Any) -> list[Issue]:
    """The problems that the plugin finds in its arguments; UnusablePackageError if it fails."""
    found = _called(plugin, lambda given: list(plugin.check(given)), args)
    if not all(isinstance(each, Issue) for each in found):
        raise UnusablePackageError(
            f'scheduler plugin "{plugin.name}": check must give restow.documents.findings.Issue objects'
        )
    issues: list[Issue] = found
    return issues


def _with_defaults(plugin: SchedulerPlugin, args: SchedulerPluginArgs) -> SchedulerPluginArgs:
    filled = _called(plugin, plugin.with_defaults, args)
    if type(filled) is not plugin.args:
        raise UnusablePackageError(
            f'scheduler plugin "{plugin.name}": with_defaults must give what it gets, changed or not'
        )
    return filled


def _called(plugin: SchedulerPlugin, function: Callable[[Any], Any], args: Any) -> Any:
    try:
        return function(args)
    except FAULTS as error:
        raise UnusablePackageError(
            f'scheduler plugin "{plugin.name}": its arguments cannot be checked: {described(error)}'
        ) from error
