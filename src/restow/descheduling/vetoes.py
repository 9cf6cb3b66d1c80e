"""What other controllers forbid: which pods they keep in place, and which nodes they want no new pod on.

Karpenter, the cluster autoscaler and KubeVirt have annotations and labels of their own with which people protect pods.
The Descheduler ignores them all; a proven plan counts them, unless the policy's ``restow.vetoes`` says otherwise. A veto only
ever protects: none lifts a protection of the policy, and no annotation of a pod overrides one.

A virtual machine of KubeVirt runs in a pod of its own, its launcher. While it migrates it has two, and evicting either may
end it. The launchers alone show a migration; VirtualMachineInstanceMigrations, if the input has them, also show those that
have not made a launcher yet, and when one ended. An object that cannot be read counts for all machines of its namespace.
Source: KubeVirt 1.7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import numpy as np
from msgspec import Struct, structs

from restow.cluster.closed_nodes import is_virtual, leaving_nodes, leaving_taint, virtual_nodes
from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodeRow, Nodes
from restow.cluster.pod_columns import PodColumn, by_value
from restow.cluster.pod_values import ALWAYS, NO_TIME, OVER, PodNow
from restow.cluster.pods import Pods
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.descheduling.pod_criteria import elapsed_since
from restow.descheduling.protections import Protection
from restow.kube.duration import format_duration
from restow.kube.objects import VirtualMachineInstanceMigration
from restow.kube.timestamps import nearest_time
from restow.policies.codes import RefusalCode
from restow.policies.policy import VetoSettings

DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES: Final = f"{SAFE_TO_EVICT}-local-volumes"

_MIGRATION: Final = "VirtualMachineInstanceMigration"
_MACHINE: Final = "VirtualMachineInstance"
#: Labels of launchers: what it is, the uid of its machine, and the migration that made it.
_ROLE, _LAUNCHER = "kubevirt.io", "virt-launcher"
_MACHINE_UID, _MIGRATION_UID = "kubevirt.io/created-by", "kubevirt.io/migrationJobUID"
#: Phases of migrations that are over.
_SUCCEEDED, _FAILED = "Succeeded", "Failed"

#: The message for each code.
_MESSAGES: Final[Mapping[RefusalCode, str]] = {
    RefusalCode.DO_NOT_DISRUPT: f"its annotation {DO_NOT_DISRUPT} forbids it",
    RefusalCode.NODE_DO_NOT_DISRUPT: f'the annotation {DO_NOT_DISRUPT}: "true" of its node forbids it',
    RefusalCode.NOT_SAFE_TO_EVICT: f'its annotation {SAFE_TO_EVICT}: "false" forbids it',
    RefusalCode.UNSAFE_LOCAL_VOLUMES: f"its annotation {SAFE_VOLUMES} does not name all of its local volumes",
    RefusalCode.MIGRATION_IN_PROGRESS: "its virtual machine is being migrated, or its eviction is already under way",
}


@dataclass(frozen=True)
class ClosedNodes:
    """Nodes that a proven plan puts nothing on, each bool[node]."""

    leaving: BoolArray
    virtual: BoolArray

    @staticmethod
    def of(nodes: Nodes, settings: VetoSettings) -> ClosedNodes:
        """The nodes that are closed by these settings."""
        none = np.zeros(len(nodes), dtype=bool)
        return ClosedNodes(
            leaving_nodes(nodes) if settings.leaving_nodes else none,
            virtual_nodes(nodes) if settings.virtual_nodes else none,
        )

    @staticmethod
    def none(nodes: Nodes) -> ClosedNodes:
        """No node is closed."""
        none = np.zeros(len(nodes), dtype=bool)
        return ClosedNodes(none, none)

    @cached_property
    def is_empty(self) -> bool:
        """Whether no node is closed."""
        return not self.any.any()

    @cached_property
    def any(self) -> BoolArray:
        """Which nodes are closed for either reason."""
        closed: BoolArray = self.leaving | self.virtual
        return closed


class Vetoes(Struct, frozen=True):
    """Everything that other controllers forbid in one cluster."""

    #: The checks of pods.
    checks: tuple[Protection, ...]
    closed: ClosedNodes
    #: Whether a pod cannot come back to its node, even if a strategy accepts it.
    never_returns: Callable[[int], bool]
    #: Whether some of them end by themselves, after some time.
    expire: bool

    @staticmethod
    def of(settings: VetoSettings, cluster: ClusterSnapshot, now: int) -> Vetoes:
        """What these settings count, at a time (nanoseconds since the epoch)."""
        if not _has_machines(cluster.pods):
            settings = structs.replace(settings, kube_virt=False)
        return Vetoes(
            _veto_checks(settings, cluster, now),
            ClosedNodes.of(cluster.nodes, settings),
            partial(is_launcher, cluster.pods) if settings.kube_virt else _never,
            _expire(settings, cluster),
        )

    @staticmethod
    def none(cluster: ClusterSnapshot) -> Vetoes:
        """Nothing, as for the Descheduler."""
        return Vetoes((), ClosedNodes.none(cluster.nodes), _never, expire=False)


def _veto_checks(settings: VetoSettings, cluster: ClusterSnapshot, now: int) -> tuple[Protection, ...]:
    """Return the checks of pods at a time (nanoseconds since the epoch), those that no pod of the cluster can fail left out.

    No pod that is over fails one: as for Karpenter and the autoscaler, there is nothing left to disturb.
    """
    checks = (*_annotated(settings, cluster, now), *_migrating(settings, cluster, now))
    living = (structs.replace(check, fails=_of_living(cluster.pods, check.fails)) for check in checks)
    return tuple(check for check in living if check.fails.values.any())


def _has_machines(pods: Pods) -> bool:
    """Whether a pod may run a virtual machine."""
    # Most pods have no such label at all.
    with_role = [labels for labels in pods.tables.labels if _ROLE in labels]
    return any(map(_has_role, with_role)) or any(each.eviction_in_progress for each in pods.tables.vetoes)


def _expire(settings: VetoSettings, cluster: ClusterSnapshot) -> bool:
    """Whether a pod must not be disrupted for some time, or its machine may rest after a migration."""
    limited = settings.karpenter and any(0 < each.do_not_disrupt < ALWAYS for each in cluster.pods.tables.vetoes)
    return limited or settings.kube_virt


def _of_living(pods: Pods, fails: PodColumn[np.bool_]) -> PodColumn[np.bool_]:
    return PodColumn(pods, lambda rows: fails.of(rows) & ~np.isin(pods.phase[rows], tuple(OVER)))


def _never(_pod: int) -> bool:
    return False


def veto_now(settings: VetoSettings, pod: PodNow, pods_of: Callable[[str], Iterable[PodNow]], now: int) -> str | None:
    """Return why a pod must stay as it is at a time (nanoseconds since the epoch); None if nothing forbids it.

    ``pods_of`` returns the pods of its namespace that name an owner (a uid).
    """
    if int(pod.phase) in OVER:
        return None
    if settings.karpenter and _is_kept(pod, now):
        return _MESSAGES[RefusalCode.DO_NOT_DISRUPT]
    if settings.cluster_autoscaler and pod.vetoes.unsafe_to_evict:
        return _MESSAGES[RefusalCode.NOT_SAFE_TO_EVICT]
    if settings.cluster_autoscaler and pod.vetoes.unsafe_volumes:
        return _MESSAGES[RefusalCode.UNSAFE_LOCAL_VOLUMES]
    if settings.kube_virt and (pod.vetoes.eviction_in_progress or _is_migrating(pod, pods_of)):
        return _MESSAGES[RefusalCode.MIGRATION_IN_PROGRESS]
    return None


def node_veto_now(settings: VetoSettings, node: NodeRow | None) -> str | None:
    """Return why all pods of a node must stay as it is now; None if nothing forbids it, or there is no such node."""
    is_kept = settings.karpenter and node is not None and node.do_not_disrupt
    return _MESSAGES[RefusalCode.NODE_DO_NOT_DISRUPT] if is_kept else None


def closed_now(settings: VetoSettings, node: NodeRow | None) -> str | None:
    """Return why a node should receive nothing as it is now, as the end of a sentence; None if it may."""
    if node is None:
        return None
    taint = leaving_taint(node.taints) if settings.leaving_nodes else None
    if taint is not None:
        return f"is about to be removed (taint {taint})"
    return "is virtual" if settings.virtual_nodes and is_virtual(node.labels) else None


def _annotated(settings: VetoSettings, cluster: ClusterSnapshot, now: int) -> Iterator[Protection]:
    pods, vetoes = cluster.pods, cluster.pods.tables.vetoes
    if settings.karpenter and any(each.do_not_disrupt for each in vetoes):
        yield _check(RefusalCode.DO_NOT_DISRUPT, PodColumn(pods, partial(_kept_by_karpenter, pods, now)))
    if settings.karpenter and cluster.nodes.do_not_disrupt.any():
        yield _check(RefusalCode.NODE_DO_NOT_DISRUPT, PodColumn(pods, partial(_on_kept_nodes, cluster)))
    if settings.cluster_autoscaler and any(each.unsafe_to_evict for each in vetoes):
        yield _check(RefusalCode.NOT_SAFE_TO_EVICT, _vetoing(pods, "unsafe_to_evict"))
    if settings.cluster_autoscaler and any(each.unsafe_volumes for each in vetoes):
        yield _check(RefusalCode.UNSAFE_LOCAL_VOLUMES, _vetoing(pods, "unsafe_volumes"))


def _check(code: RefusalCode, fails: PodColumn[np.bool_]) -> Protection:
    return Protection(code, _MESSAGES[code], fails)


def _vetoing(pods: Pods, name: str) -> PodColumn[np.bool_]:
    return by_value(pods, "vetoes", "vetoes", lambda many: [getattr(each, name) for each in many])


def _kept_by_karpenter(pods: Pods, now: int, rows: IntArray) -> BoolArray:
    vetoes = pods.vetoes[rows]
    limits = np.array([each.do_not_disrupt for each in pods.tables.vetoes], dtype=np.int64)[vetoes]
    started = pods.started[rows]
    kept: BoolArray = (limits == ALWAYS) | (started == NO_TIME) | (elapsed_since(started, now) < limits)
    return kept & (limits > 0)


def _is_kept(pod: PodNow, now: int) -> bool:
    limit = pod.vetoes.do_not_disrupt
    return limit == ALWAYS or (limit > 0 and (pod.started == NO_TIME or now - pod.started < limit))


def _on_kept_nodes(cluster: ClusterSnapshot, rows: IntArray) -> BoolArray:
    nodes = cluster.pods.node[rows]
    found: BoolArray = nodes >= 0
    found[found] = cluster.nodes.do_not_disrupt[nodes[found]]
    return found


def _migrating(settings: VetoSettings, cluster: ClusterSnapshot, now: int) -> Iterator[Protection]:
    if not settings.kube_virt:
        return
    busy, asked = _being_migrated(cluster), _vetoing(cluster.pods, "eviction_in_progress")
    yield _check(
        RefusalCode.MIGRATION_IN_PROGRESS, PodColumn(cluster.pods, lambda rows: busy.of(rows) | asked.of(rows))
    )
    rest = settings.migration_cool_down
    message = f"its virtual machine was migrated less than {format_duration(rest)} ago, or less time ago than that took"
    yield Protection(RefusalCode.MIGRATION_COOL_DOWN, message, _just_migrated(cluster, rest, now))


def is_launcher(pods: Pods, pod: int) -> bool:
    """Whether a pod runs a virtual machine. KubeVirt migrates it to any node but its own."""
    return _has_role(pods.tables.labels[pods.labels[pod]])


def _being_migrated(cluster: ClusterSnapshot) -> PodColumn[np.bool_]:
    """Return which pods run a machine that is being migrated."""
    twice = _with_two_launchers(cluster)
    doubled = _launchers(cluster.pods, lambda labels: labels.get(_MACHINE_UID) in twice)
    known = _of_machines(cluster, {_machine(each) for each in _migrations(cluster) if _is_under_way(each)})
    return PodColumn(cluster.pods, lambda rows: doubled.of(rows) | known.of(rows))


def _just_migrated(cluster: ClusterSnapshot, cool_down: int, now: int) -> PodColumn[np.bool_]:
    """Return which pods run a machine whose migration ended less than ``cool_down`` before ``now``, or than it took.

    Both are in nanoseconds. Where the end is not known, it is when the pod started that the migration made.
    """
    pods, resting = cluster.pods, {_machine(each) for each in _migrations(cluster) if _rests(each, cool_down, now)}
    known = _of_machines(cluster, resting)
    made = _launchers(pods, lambda labels: _MIGRATION_UID in labels)
    return PodColumn(pods, lambda rows: known.of(rows) | (made.of(rows) & (pods.started[rows] > now - cool_down)))


def _is_migrating(pod: PodNow, pods_of: Callable[[str], Iterable[PodNow]]) -> bool:
    """Whether a pod runs a machine that has another pod which is not over; ``pods_of`` returns the pods of an owner's uid."""
    machines = (each.uid for each in pod.owners if each.kind == _MACHINE)
    return any(each.uid != pod.uid and int(each.phase) not in OVER for machine in machines for each in pods_of(machine))


def _launchers(pods: Pods, holds: Callable[[Any], bool]) -> PodColumn[np.bool_]:
    """Which pods run a virtual machine, and something holds for their labels."""
    return by_value(
        pods, "labels", "labels", lambda many: [_ROLE in each and _has_role(each) and holds(each) for each in many]
    )


def _has_role(labels: Any) -> bool:
    return bool(labels.get(_ROLE) == _LAUNCHER)


def _with_two_launchers(cluster: ClusterSnapshot) -> frozenset[str]:
    """The uids of machines with several pods that are not over."""
    pods = cluster.pods
    living = pods.labels[pods.read() & ~pods.terminal]
    counts = np.bincount(living, minlength=len(pods.tables.labels)).tolist()
    machines: Counter[str] = Counter()
    for labels, count in zip(pods.tables.labels, counts, strict=True):
        if _ROLE in labels and count and _has_role(labels) and _MACHINE_UID in labels:
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
    pods, running = cluster.pods, _launchers(cluster.pods, lambda _labels: True)

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
