"""A cluster in which every kind that restow reads matters to somebody: workloads crowded on two of five nodes."""

from __future__ import annotations

from collections.abc import Iterable

from builders import (
    Object,
    a_namespace,
    a_priority_class,
    a_pv,
    a_pvc,
    a_workload,
    claim_volume,
    pod_anti_affinity,
    pod_term,
)
from builders.policies import Policy, a_config, a_policy, a_profile
from e2e.control_plane import ControlPlane
from e2e.workloads import a_template, deployment, stateful_set, wait_for_ready

_REPLICAS = 4
_CLASS = "important"
#: Wants two pods of each workload moved; its threshold names a class.
POLICY: Policy = a_policy(
    a_profile(
        a_config("DefaultEvictor", {"priorityThreshold": {"name": _CLASS}}),
        a_config("RemoveDuplicates"),
        balance=["RemoveDuplicates"],
    )
)
#: ``queue`` and ``old`` are told by their own kinds, ``db`` has a volume, ``shy`` shuns namespaces by their labels.
WORKLOADS = ("web", "queue", "old", "db", "shy")


def crowd_workloads(plane: ControlPlane) -> None:
    """Creates them in ``default`` of a plane without nodes; the other three nodes are empty."""
    nodes = plane.add_nodes(5)
    shunned = pod_term({"matchLabels": {"app": "x"}}, namespace_selector={"matchLabels": {"team": "a"}})
    plane.admin.create_all([a_priority_class(_CLASS, 1_000_000), a_namespace("elsewhere", labels={"team": "a"})])
    plane.admin.create_all([a_pv("disk"), a_pvc("data", volume="disk")])
    with plane.cordoned(nodes[2:]):
        plane.admin.create_all(
            [
                deployment("web", _REPLICAS),
                stateful_set("queue", _REPLICAS),
                _replication_controller("old"),
                deployment("db", _REPLICAS, volumes=[claim_volume("data")]),
                deployment("shy", _REPLICAS, affinity=pod_anti_affinity([shunned])),
            ]
        )
        for name in WORKLOADS:
            wait_for_ready(plane.admin, name, _REPLICAS)


def workloads_of(entries: Iterable[Object]) -> set[str]:
    """The workloads whose pods lines of the log are about."""
    return {entry["pod"]["name"].split("-")[0] for entry in entries}


def _replication_controller(name: str) -> Object:
    made = a_workload("ReplicationController", name, replicas=_REPLICAS, selector={"app": name})
    made["apiVersion"] = "v1"
    made["spec"]["template"] = a_template(name)
    return made
