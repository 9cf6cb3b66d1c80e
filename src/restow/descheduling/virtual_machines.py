"""Which pods run virtual machines of KubeVirt that are being migrated, or were just migrated.

A machine runs in a pod of its own, its launcher. While it migrates it has two, and evicting either may end it. The
launchers alone show a migration; VirtualMachineInstanceMigrations, if the input has them, also show those that have not
made a launcher yet, and when one ended. An object that cannot be read counts for all machines of its namespace. Source:
KubeVirt 1.7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.pod_columns import PodColumn, by_value
from restow.cluster.pod_values import OVER
from restow.cluster.pods import Pods
from restow.cluster.pods_now import PodNow
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.kube.objects import VirtualMachineInstanceMigration
from restow.kube.timestamps import nearest_time

_MIGRATION: Final = "VirtualMachineInstanceMigration"
_MACHINE: Final = "VirtualMachineInstance"
#: Labels of launchers: what it is, the uid of its machine, and the migration that made it.
_ROLE, _LAUNCHER = "kubevirt.io", "virt-launcher"
_MACHINE_UID, _MIGRATION_UID = "kubevirt.io/created-by", "kubevirt.io/migrationJobUID"
#: Phases of migrations that are over.
_SUCCEEDED, _FAILED = "Succeeded", "Failed"


def is_launcher(pods: Pods, pod: int) -> bool:
    """Whether a pod runs a virtual machine. KubeVirt migrates it to any node but its own."""
    return _has_role(pods.tables.labels[pods.labels[pod]])


def migrating(cluster: ClusterSnapshot) -> PodColumn[np.bool_]:
    """Return which pods run a machine that is being migrated."""
    twice = _with_two_launchers(cluster)
    doubled = _labelled(cluster.pods, lambda labels: _has_role(labels) and labels.get(_MACHINE_UID) in twice)
    known = _of_machines(cluster, {_machine(each) for each in _migrations(cluster) if _is_under_way(each)})
    return PodColumn(cluster.pods, lambda rows: doubled.of(rows) | known.of(rows))


def just_migrated(cluster: ClusterSnapshot, cool_down: int, now: int) -> PodColumn[np.bool_]:
    """Return which pods run a machine whose migration ended less than ``cool_down`` before ``now``, or than it took.

    Both are in nanoseconds. Where the end is not known, it is when the pod started that the migration made.
    """
    pods, resting = cluster.pods, {_machine(each) for each in _migrations(cluster) if _rests(each, cool_down, now)}
    known = _of_machines(cluster, resting)
    made = _labelled(pods, lambda labels: _has_role(labels) and _MIGRATION_UID in labels)
    return PodColumn(pods, lambda rows: known.of(rows) | (made.of(rows) & (pods.started[rows] > now - cool_down)))


def is_migrating(pod: PodNow, pods_of: Callable[[str], Iterable[PodNow]]) -> bool:
    """Whether a pod runs a machine that has another pod which is not over; ``pods_of`` returns the pods of an owner's uid."""
    machines = (each.uid for each in pod.owners if each.kind == _MACHINE)
    return any(each.uid != pod.uid and int(each.phase) not in OVER for machine in machines for each in pods_of(machine))


def _labelled(pods: Pods, holds: Callable[[Any], bool]) -> PodColumn[np.bool_]:
    return by_value(pods, "labels", "labels", lambda many: [holds(each) for each in many])


def _has_role(labels: Any) -> bool:
    return bool(labels.get(_ROLE) == _LAUNCHER)


def _with_two_launchers(cluster: ClusterSnapshot) -> frozenset[str]:
    """The uids of machines with several pods that are not over."""
    pods = cluster.pods
    living = pods.labels[pods.read() & ~pods.terminal]
    counts = np.bincount(living, minlength=len(pods.tables.labels)).tolist()
    machines: Counter[str] = Counter()
    for labels, count in zip(pods.tables.labels, counts, strict=True):
        if count and _has_role(labels) and _MACHINE_UID in labels:
            machines[labels[_MACHINE_UID]] += count
    return frozenset(machine for machine, count in machines.items() if count > 1)


def _migrations(cluster: ClusterSnapshot) -> Sequence[VirtualMachineInstanceMigration]:
    return tuple(cluster.kind(_MIGRATION).values())


def _machine(migration: VirtualMachineInstanceMigration) -> Key:
    """The machine by namespace and name; all of a namespace where the name is empty."""
    return migration.metadata.namespace, migration.spec.vmi_name


def _is_under_way(migration: VirtualMachineInstanceMigration) -> bool:
    return migration.status.phase not in (_SUCCEEDED, _FAILED)


def _rests(migration: VirtualMachineInstanceMigration, cool_down: int, now: int) -> bool:
    """Whether a migration has succeeded, and that was not long ago."""
    state = migration.status.migration_state
    if migration.status.phase != _SUCCEEDED or state is None or state.end_timestamp is None:
        return False
    end = nearest_time(state.end_timestamp)
    took = end - nearest_time(state.start_timestamp) if state.start_timestamp is not None else 0
    return now - end < max(cool_down, took)


def _of_machines(cluster: ClusterSnapshot, machines: set[Key]) -> PodColumn[np.bool_]:
    """Which pods run one of some machines."""
    pods, running = cluster.pods, _labelled(cluster.pods, _has_role)

    def compute(rows: IntArray) -> BoolArray:
        found = running.of(rows) if machines else np.zeros(len(rows), dtype=bool)
        found = found.copy()
        found[found] = [_runs(pods, pod, machines) for pod in rows[found].tolist()]
        return found

    return PodColumn(pods, compute)


def _runs(pods: Pods, pod: int, machines: set[Key]) -> bool:
    """Whether a launcher runs one of some machines."""
    namespace, owners = pods.tables.namespaces[pods.namespace[pod]], pods.tables.owners[pods.owners[pod]]
    names = [each.name for each in owners if each.kind == _MACHINE]
    return (namespace, "") in machines or any((namespace, name) in machines for name in names)
