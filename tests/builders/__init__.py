"""Builders of API objects for tests: plain dicts with the fields a test is about, and nothing else.

    a_node("n1", cpu="4", memory="8Gi", taints=["gpu=yes:NoSchedule"])
    a_pod("p1", node="n1", cpu="100m", owner=("ReplicaSet", "rs"), labels={"app": "web"})

Everything is keyword style, uids are deterministic, and ``a_list`` makes the whole a dump.
"""

from __future__ import annotations

from builders.affinity import (
    HOSTNAME,
    ZONE,
    a_toleration,
    node_affinity,
    node_term,
    pod_affinity,
    pod_anti_affinity,
    pod_term,
    requirement,
    selector,
    spread,
)
from builders.cluster_objects import (
    a_namespace,
    a_priority_class,
    a_pv,
    a_pvc,
    a_storage_class,
    node_metrics,
    pod_metrics,
)
from builders.metadata import NOW, Object, Owner, a_list, ago, uid_of
from builders.nodes import a_node, a_taint
from builders.plugin_fixtures import CRIT, DS, LS, MIRROR, OWN, RS, RS2, SS, anti, numbered, pods_on, std_node, tc
from builders.pods import (
    EMPTY_DIR,
    HOST_PATH,
    a_condition,
    a_container,
    a_pod,
    claim_volume,
    running,
    terminated,
    waiting,
)
from builders.workloads import a_deployment, a_pdb, a_replica_set, a_service, a_workload

__all__ = [
    "CRIT",
    "DS",
    "EMPTY_DIR",
    "HOSTNAME",
    "HOST_PATH",
    "LS",
    "MIRROR",
    "NOW",
    "OWN",
    "RS",
    "RS2",
    "SS",
    "ZONE",
    "Object",
    "Owner",
    "a_condition",
    "a_container",
    "a_deployment",
    "a_list",
    "a_namespace",
    "a_node",
    "a_pdb",
    "a_pod",
    "a_priority_class",
    "a_pv",
    "a_pvc",
    "a_replica_set",
    "a_service",
    "a_storage_class",
    "a_taint",
    "a_toleration",
    "a_workload",
    "ago",
    "anti",
    "claim_volume",
    "node_affinity",
    "node_metrics",
    "node_term",
    "numbered",
    "pod_affinity",
    "pod_anti_affinity",
    "pod_metrics",
    "pod_term",
    "pods_on",
    "requirement",
    "running",
    "selector",
    "spread",
    "std_node",
    "tc",
    "terminated",
    "uid_of",
    "waiting",
]
