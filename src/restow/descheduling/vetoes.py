"""What other controllers forbid: which pods they keep in place, and which nodes they want no new pod on.

Karpenter, the cluster autoscaler and KubeVirt have annotations and labels of their own with which people protect pods.
The Descheduler ignores them all; a proven plan counts them, unless the policy's ``restow.vetoes`` says otherwise. A veto only
ever protects: none lifts a protection of the policy, and no annotation of a pod overrides one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Final

import numpy as np

from restow.cluster.closed_nodes import is_virtual, leaving_nodes, leaving_taint, virtual_nodes
from restow.cluster.interning import BoolArray, IntArray
from restow.cluster.nodes import NodeRow, Nodes
from restow.cluster.pod_columns import PodColumn, by_value
from restow.cluster.pod_values import ALWAYS, NO_TIME, OVER
from restow.cluster.pods import Pods
from restow.cluster.pods_now import PodNow
from restow.cluster.snapshot import ClusterSnapshot
from restow.descheduling.container_states import elapsed_since
from restow.descheduling.protections import Protection
from restow.descheduling.virtual_machines import is_launcher, is_migrating, just_migrated, migrating
from restow.kube.duration import format_duration
from restow.policies.codes import RefusalCode
from restow.policies.policy import VetoSettings

DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_VOLUMES: Final = f"{SAFE_TO_EVICT}-local-volumes"
IN_PROGRESS: Final = "descheduler.alpha.kubernetes.io/eviction-in-progress"

#: The message for each code.
MESSAGES: Final[Mapping[RefusalCode, str]] = {
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


@dataclass(slots=True, frozen=True)
class Vetoes:
    """Everything that other controllers forbid in one cluster."""

    #: The checks of pods.
    checks: tuple[Protection, ...]
    closed: ClosedNodes
    #: Whether a pod cannot come back to its node, even if a strategy accepts it.
    never_returns: Callable[[int], bool]

    @staticmethod
    def of(settings: VetoSettings, cluster: ClusterSnapshot, now: int) -> Vetoes:
        """What these settings count, at a time (nanoseconds since the epoch)."""
        return Vetoes(
            veto_checks(settings, cluster, now),
            ClosedNodes.of(cluster.nodes, settings),
            partial(is_launcher, cluster.pods) if settings.kube_virt else _never,
        )

    @staticmethod
    def none(cluster: ClusterSnapshot) -> Vetoes:
        """Nothing, as for the Descheduler."""
        return Vetoes((), ClosedNodes.none(cluster.nodes), _never)


def veto_checks(settings: VetoSettings, cluster: ClusterSnapshot, now: int) -> tuple[Protection, ...]:
    """Return the checks of pods at a time (nanoseconds since the epoch), those that no pod of the cluster can fail left out.

    No pod that is over fails one: as for Karpenter and the autoscaler, there is nothing left to disturb.
    """
    checks = (*_annotated(settings, cluster, now), *_migrating(settings, cluster, now))
    living = (replace(check, fails=_of_living(cluster.pods, check.fails)) for check in checks)
    return tuple(check for check in living if check.fails.values.any())


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
        return MESSAGES[RefusalCode.DO_NOT_DISRUPT]
    if settings.cluster_autoscaler and pod.vetoes.unsafe_to_evict:
        return MESSAGES[RefusalCode.NOT_SAFE_TO_EVICT]
    if settings.cluster_autoscaler and pod.vetoes.unsafe_volumes:
        return MESSAGES[RefusalCode.UNSAFE_LOCAL_VOLUMES]
    if settings.kube_virt and (pod.vetoes.eviction_in_progress or is_migrating(pod, pods_of)):
        return MESSAGES[RefusalCode.MIGRATION_IN_PROGRESS]
    return None


def node_veto_now(settings: VetoSettings, node: NodeRow | None) -> str | None:
    """Return why all pods of a node must stay as it is now; None if nothing forbids it, or there is no such node."""
    is_kept = settings.karpenter and node is not None and node.do_not_disrupt
    return MESSAGES[RefusalCode.NODE_DO_NOT_DISRUPT] if is_kept else None


def closed_now(settings: VetoSettings, node: NodeRow | None) -> str | None:
    """Return why a node should receive nothing as it is now, as the end of a sentence; None if it may."""
    if node is None:
        return None
    taint = leaving_taint(node.taints) if settings.leaving_nodes else None
    if taint is not None:
        return f"is about to be removed (taint {taint})"
    return "is virtual" if settings.virtual_nodes and is_virtual(node.labels) else None


def _annotated(settings: VetoSettings, cluster: ClusterSnapshot, now: int) -> Iterator[Protection]:
    pods = cluster.pods
    if settings.karpenter:
        yield _check(RefusalCode.DO_NOT_DISRUPT, PodColumn(pods, partial(_kept_by_karpenter, pods, now)))
        yield _check(RefusalCode.NODE_DO_NOT_DISRUPT, PodColumn(pods, partial(_on_kept_nodes, cluster)))
    if settings.cluster_autoscaler:
        yield _check(RefusalCode.NOT_SAFE_TO_EVICT, _vetoing(pods, "unsafe_to_evict"))
        yield _check(RefusalCode.UNSAFE_LOCAL_VOLUMES, _vetoing(pods, "unsafe_volumes"))


def _check(code: RefusalCode, fails: PodColumn[np.bool_]) -> Protection:
    return Protection(code, MESSAGES[code], fails)


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
    busy, asked = migrating(cluster), _vetoing(cluster.pods, "eviction_in_progress")
    yield _check(
        RefusalCode.MIGRATION_IN_PROGRESS, PodColumn(cluster.pods, lambda rows: busy.of(rows) | asked.of(rows))
    )
    rest = settings.migration_cool_down
    message = f"its virtual machine was migrated less than {format_duration(rest)} ago, or less time ago than that took"
    yield Protection(RefusalCode.MIGRATION_COOL_DOWN, message, just_migrated(cluster, rest, now))
