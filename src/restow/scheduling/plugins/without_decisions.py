"""Plugins of kube-scheduler that a configuration may name and that judge no node here.

restow does their work elsewhere: ``schedulingGates`` hold a pod back in the queue, before any plugin is asked, and so
does the order by priority. Binding is left to others; gangs and declared features of nodes are not modelled.
"""

from __future__ import annotations

from restow.scheduling.framework.cluster_events import Action, Resource
from restow.scheduling.framework.declaration import Availability, SchedulerPlugin
from restow.scheduling.framework.queue import held_by_gates
from restow.scheduling.framework.requeueing import Interest, about_itself

_GANGS = "pods are scheduled one by one, whatever group they are in"

SCHEDULING_GATES = SchedulerPlugin(
    "SchedulingGates",
    ("preEnqueue",),
    holds_gated_pods=True,
    pre_enqueue=lambda pod, _preempting: held_by_gates(pod.gates),
    interests=(
        Interest(
            Resource.POD,
            Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
            about_itself,
            "the last of its scheduling gates is removed",
        ),
    ),
)
#: The only order of the queue that there is.
PRIORITY_SORT = SchedulerPlugin("PrioritySort", ("queueSort",))
#: No pod in the queue names a node.
NODE_NAME = SchedulerPlugin(
    "NodeName", ("filter",), interests=(Interest(Resource.NODE, Action.ADD, words="a node is added"),)
)
DEFAULT_BINDER = SchedulerPlugin("DefaultBinder", ("bind",))
NODE_DECLARED_FEATURES = SchedulerPlugin(
    "NodeDeclaredFeatures",
    ("preFilter", "filter"),
    not_modelled="pods are scheduled as if every node had the kubelet features that they need",
)
GANG_SCHEDULING = SchedulerPlugin(
    "GangScheduling", ("preEnqueue", "permit"), not_modelled=_GANGS, availability=Availability.GATED
)
TOPOLOGY_PLACEMENT_GENERATOR = SchedulerPlugin(
    "TopologyPlacementGenerator", ("placementGenerate",), not_modelled=_GANGS, availability=Availability.GATED
)
POD_GROUP_PODS_COUNT = SchedulerPlugin(
    "PodGroupPodsCount", ("placementScore",), not_modelled=_GANGS, availability=Availability.GATED
)
