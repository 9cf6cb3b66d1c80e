"""The plugins that a configuration can name: at which points of a profile each one runs, and which run by default.

Source: the registry of in-tree plugins and the default plugins, Kubernetes 1.36 with its feature gates as they come. One
plugin is not kube-scheduler's but of kubernetes-sigs/scheduler-plugins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from restow.scheduling.plugins import (
    balanced_allocation,
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
)

#: A point at which plugins run. Each is a key of ``plugins`` in a configuration.
Point = Literal[
    "preFilter",
    "filter",
    "postFilter",
    "reserve",
    "preScore",
    "score",
    "preBind",
    "bind",
    "postBind",
    "permit",
    "preEnqueue",
    "queueSort",
    "placementGenerate",
    "placementScore",
]
#: In the order in which kube-scheduler builds a profile.
POINTS: Final[tuple[Point, ...]] = get_args(Point)

SCHEDULING_GATES: Final = "SchedulingGates"
DYNAMIC_RESOURCES: Final = "DynamicResources"
DEFAULT_PREEMPTION: Final = "DefaultPreemption"


@dataclass(slots=True, frozen=True)
class InTreePlugin:
    """What a configuration can do with a plugin."""

    #: Where it can run.
    points: tuple[Point, ...]
    #: What restow leaves out; empty for a plugin that it has, or that no decision depends on.
    not_modelled: str = ""
    #: The points where it fails without having run before: at preScore before score, at preFilter before all others.
    dependent: tuple[Point, ...] = ()


_PREPARED_FILTER: Final[tuple[Point, ...]] = ("preFilter", "filter")
_PREPARED_SCORE: Final[tuple[Point, ...]] = ("preScore", "score")
_CLAIMS: Final = "pods with resource claims are scheduled as if they had none"
_FEATURES: Final = "pods are scheduled as if every node had the kubelet features that they need"
_GANGS: Final = "pods are scheduled one by one, whatever group they are in"

#: By name.
IN_TREE: Final[Mapping[str, InTreePlugin]] = {
    SCHEDULING_GATES: InTreePlugin(("preEnqueue",)),
    "PrioritySort": InTreePlugin(("queueSort",)),
    node_unschedulable.NAME: InTreePlugin(("filter",)),
    "NodeName": InTreePlugin(("filter",)),
    taint_toleration.NAME: InTreePlugin(("filter", *_PREPARED_SCORE), dependent=("score",)),
    node_affinity.NAME: InTreePlugin((*_PREPARED_FILTER, *_PREPARED_SCORE)),
    node_ports.NAME: InTreePlugin(_PREPARED_FILTER, dependent=("filter",)),
    node_resources_fit.NAME: InTreePlugin(
        (*_PREPARED_FILTER, *_PREPARED_SCORE, "placementScore"), dependent=("filter",)
    ),
    volume_restrictions.NAME: InTreePlugin(_PREPARED_FILTER, dependent=("filter",)),
    node_volume_limits.NAME: InTreePlugin(_PREPARED_FILTER),
    volume_binding.NAME: InTreePlugin(
        (*_PREPARED_FILTER, "reserve", *_PREPARED_SCORE, "preBind"), dependent=("filter", "reserve", "preBind")
    ),
    volume_zone.NAME: InTreePlugin(_PREPARED_FILTER),
    pod_topology_spread.NAME: InTreePlugin((*_PREPARED_FILTER, *_PREPARED_SCORE), dependent=("filter", "score")),
    inter_pod_affinity.NAME: InTreePlugin((*_PREPARED_FILTER, *_PREPARED_SCORE), dependent=("filter", "score")),
    DYNAMIC_RESOURCES: InTreePlugin(
        ("preEnqueue", *_PREPARED_FILTER, "postFilter", "score", "reserve", "preBind"), not_modelled=_CLAIMS
    ),
    DEFAULT_PREEMPTION: InTreePlugin(("preEnqueue", "postFilter")),
    balanced_allocation.NAME: InTreePlugin(_PREPARED_SCORE),
    image_locality.NAME: InTreePlugin(("score",)),
    "DefaultBinder": InTreePlugin(("bind",)),
    "NodeDeclaredFeatures": InTreePlugin(_PREPARED_FILTER, not_modelled=_FEATURES),
    "GangScheduling": InTreePlugin(("preEnqueue", "permit"), not_modelled=_GANGS),
    "TopologyPlacementGenerator": InTreePlugin(("placementGenerate",), not_modelled=_GANGS),
    "PodGroupPodsCount": InTreePlugin(("placementScore",), not_modelled=_GANGS),
    load_variation.NAME: InTreePlugin(("score",)),
}

#: Whose plugins these are, for messages about others.
OWNER: Final = "kube-scheduler's"

#: Behind a feature gate that is off: only a configuration enables them.
GATED: Final = frozenset({"GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount"})

#: Plugins of other schedulers: only a configuration enables them.
OPTIONAL: Final = frozenset({load_variation.NAME})

#: Once part of kube-scheduler; a configuration that names one is refused.
REMOVED: Final = frozenset({"AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"})

_HEAVIER: Final = {
    taint_toleration.NAME: 3,
    node_affinity.NAME: 2,
    pod_topology_spread.NAME: 2,
    inter_pod_affinity.NAME: 2,
    DYNAMIC_RESOURCES: 2,
}

#: What runs by default at every point that it has, in this order, with its weight among the scores.
DEFAULT_PLUGINS: Final[tuple[tuple[str, int], ...]] = tuple(
    (name, _HEAVIER.get(name, 1)) for name in IN_TREE if name not in GATED | OPTIONAL
)
