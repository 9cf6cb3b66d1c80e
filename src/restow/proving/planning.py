"""Decides a cycle with either placement, and makes a plan of it: indices become names, counts become figures.

A plan says which cluster it was made of. The uid of the Namespace kube-system identifies a cluster: the API server creates it
once, and it cannot be deleted. Where the plan or the cluster does not show it, the names of nodes and the uids of pods
decide: uids are unique, so that a cluster without a single one of the plan's pods is another one, or no move of the plan
can be made in it anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from restow.cluster.nodes import BASIC_RESOURCES, CPU, MEMORY, PODS, Nodes
from restow.cluster.owners import workload_of
from restow.cluster.pods import PENDING
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.descheduling.arbiter import Eviction, RefusedSuggestion, Searches
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.framework import Reason
from restow.descheduling.limits import PriorEviction
from restow.descheduling.plan import (
    NOT_ENABLED,
    Fenced,
    FurtherObstacle,
    MadeProposal,
    Move,
    NodeLoad,
    OwnerRef,
    PlanCluster,
    PlanDocument,
    PlanMetadata,
    PlanTotals,
    PodRef,
    Refusal,
    RefusedProposal,
    Remark,
    ResourceLoad,
    Utilisation,
    target_kind,
)
from restow.descheduling.protections import namespace_notes
from restow.descheduling.registry import strategies
from restow.kube.excerpts import excerpt
from restow.kube.taints import FENCE
from restow.kube.timestamps import format_time
from restow.policies.codes import Certainty, Placement, ReplacementMode, SteeringMode, SteeringSetting, TargetKind
from restow.policies.policy import Policy
from restow.policies.schema import DEFAULT_EVICTOR, Plugins
from restow.proving.landings import some
from restow.proving.planning_cache import PlanningCache
from restow.proving.search import prove_cycle, without_node_fit
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.version import __version__

_KUBE_SYSTEM: Final = ("", "kube-system")
_WHAT_TO_DO: Final = "choose the plan's cluster with --context or --kubeconfig, or plan this one: restow plan -o json"
#: A word that programs read.
Code = TypeVar("Code", Certainty, TargetKind)
Amounts = npt.NDArray[np.int64]

#: The message about a limit if something else refuses the move too.
_BEYOND = "with a higher limit {}: {}"


def make_plan(cycle: Cycle, now: int, placement: Placement, api_server: str | None = None) -> PlanDocument:
    """The plan of a cycle that was decided at ``now``; the same cycle gives the same plan, byte for byte.

    ``api_server`` is the host and port from where the cluster was read; None for files.
    """
    state = cycle.state
    cluster = state.cluster
    moves = tuple(named_move(cluster, eviction) for eviction in cycle.record.evictions)
    refusals = tuple(sorted((_refusal(cluster, each) for each in cycle.record.refusals), key=_refusal_order))
    observed = cluster.pods.read()
    pending = (cluster.pods.node == PENDING) & ~cluster.pods.terminal & observed
    return PlanDocument(
        metadata=PlanMetadata(
            generated_at=format_time(now),
            placement=placement,
            restow_version=__version__,
            cluster=plan_cluster(cluster, api_server),
        ),
        moves=moves,
        refusals=refusals,
        problems=tuple(Remark(ref.profile, ref.plugin, message) for ref, message in cycle.record.problems),
        notes=tuple(Remark(ref.profile, ref.plugin, message) for ref, message in cycle.record.notes),
        goals=tuple(cycle.record.goals.values()),
        fence=fenced(cycle),
        summary=PlanTotals(
            nodes=len(cluster.nodes),
            pods=_pods_in(cluster),
            pending_pods=int(pending.sum()),
            moves=len(moves),
            refusals=len(refusals),
            utilisation=utilisation(state),
            gains=_counts(Certainty, [each.certainty for each in moves]),
            targets=_counts(TargetKind, map(target_kind, moves)),
        ),
    )


def _counts(codes: Iterable[Code], found: Iterable[Code | None]) -> dict[Code, int]:
    """How often each code was found; empty if a placement predicts nothing."""
    counts = Counter(found)
    return {} if counts[None] else {code: counts[code] for code in codes}


def fenced(cycle: Cycle) -> Fenced | None:
    """The nodes to fence while a plan is carried out; None if none."""
    if cycle.fence is None or not cycle.record.evictions:
        return None
    names = cycle.state.cluster.nodes.names
    return Fenced(tuple(names[node] for node in cycle.fence.nodes.tolist()), cycle.fence.effect)


def idle_strategies(policy: Policy, plugins: Plugins) -> tuple[Remark, ...]:
    """Remarks on strategies that a profile configures but does not enable."""
    return tuple(
        Remark(profile.name, name, f"{NOT_ENABLED}: add it to plugins.{plugins[name].extension_points[0]}.enabled")
        for profile in policy.profiles
        for name in profile.args
        if name not in (DEFAULT_EVICTOR, *profile.deschedule, *profile.balance)
    )


def utilisation(state: ClusterState) -> Utilisation:
    """How a state is loaded now, and how it was before anything moved."""
    nodes = state.cluster.nodes
    return Utilisation(before=_loads(nodes, state.requested_at_first()), after=_loads(nodes, state.requested))


def cycle_notes(cycle: Cycle) -> tuple[str, ...]:
    """Remarks on the cycle as a whole."""
    if cycle.skipped:
        return (f"Skipping descheduling cycle: requires >=2 nodes, found {len(cycle.nodes)} ready and selected",)
    return (*fence_notes(cycle), *namespace_notes(cycle.state.cluster))


def fence_notes(cycle: Cycle) -> tuple[str, ...]:
    """A sentence about the nodes that are fenced while a plan is carried out, if there are any."""
    found = fenced(cycle)
    if found is None:
        return ()
    nodes = len(cycle.state.cluster.nodes)
    note = (
        f"The plan counts on a fence: {len(found.nodes)} of {nodes} nodes carry the taint {FENCE}:{found.effect} "
        f"while it is carried out ({some(found.nodes, len(found.nodes))})"
    )
    return (note,)


def node_loads(cycle: Cycle) -> tuple[NodeLoad, ...]:
    """Every node before and after the plan, for pictures."""
    nodes, after = cycle.state.cluster.nodes, cycle.state
    before = ClusterState(cycle.state.cluster, by_status=after.by_status)
    shown = [row for row, name in enumerate(nodes.resources) if name != BASIC_RESOURCES[PODS]]
    return tuple(
        NodeLoad(
            name=nodes.names[node],
            zone=nodes.zone(node),
            unschedulable=bool(nodes.unschedulable[node]),
            resources={
                nodes.resources[row]: (
                    int(nodes.allocatable[row, node]),
                    int(before.requested[row, node]),
                    int(after.requested[row, node]),
                )
                for row in shown
                if nodes.lists_allocatable[row, node]
            },
            pods_before=int(before.running[node]),
            pods_after=int(after.running[node]),
        )
        for node in range(len(nodes))
    )


def moved_requests(cycle: Cycle) -> tuple[dict[str, int], ...]:
    """What the pod of each move requests, in the units of ``node_loads``."""
    cluster = cycle.state.cluster
    names = cluster.nodes.resources
    vectors = (cycle.state.requests_of(each.pod) for each in cycle.record.evictions)
    return tuple({names[row]: int(vector[row]) for row in vector.nonzero()[0]} for vector in vectors)


def named_move(cluster: ClusterSnapshot, eviction: Eviction) -> Move:
    """A decided move with its names."""
    nodes, landing = cluster.nodes.names, eviction.landing
    return Move(
        pod=pod_ref(cluster, eviction.pod),
        owner=owner_ref(cluster, eviction.pod),
        source=nodes[eviction.node],
        target=None if landing.target == PENDING else nodes[landing.target],
        certainty=landing.certainty,
        candidates=tuple(map(nodes.__getitem__, landing.candidates)),
        candidate_count=landing.candidate_count,
        probability=landing.probability,
        probabilities=landing.probabilities,
        target_probability=landing.target_probability,
        in_vain=tuple(map(nodes.__getitem__, landing.in_vain)),
        steering=landing.steering,
        profile=eviction.ref.profile,
        plugin=eviction.ref.plugin,
        reason=eviction.reason,
        constraint=eviction.constraint,
        proposal=_made_proposal(eviction),
        caveat=landing.caveat or UNSET,
        replacement=UNSET if landing.mode is ReplacementMode.EVICT else landing.mode,
        evicts_instead=landing.evicts_instead or UNSET,
    )


def _refusal(cluster: ClusterSnapshot, refused: RefusedSuggestion) -> Refusal:
    """A refusal with its names."""
    (stage, code, message), beyond = refused.reason, refused.beyond_limit
    others = tuple(pod_ref(cluster, each) for each in refused.others)
    return Refusal(
        pod=pod_ref(cluster, refused.pod),
        node=cluster.nodes.names[refused.node],
        profile=refused.ref.profile,
        plugin=refused.ref.plugin,
        stage=stage,
        code=code,
        message=message if beyond is None else f"{message}; {_BEYOND.format(*beyond[1:])}",
        also_refused_by=UNSET if beyond is None else FurtherObstacle(*beyond),
        proposal=RefusedProposal(refused.purpose, others) if refused.purpose else UNSET,
    )


def _made_proposal(eviction: Eviction) -> MadeProposal | UnsetType:
    if eviction.together is None:
        return UNSET
    return MadeProposal(*eviction.together, waits=eviction.landing.waits)


def pod_ref(cluster: ClusterSnapshot, pod: int) -> PodRef:
    """A pod by its names."""
    pods = cluster.pods
    return PodRef(pods.tables.namespaces[pods.namespace[pod]], pods.names[pod], pods.uids[pod])


def owner_ref(cluster: ClusterSnapshot, pod: int) -> OwnerRef | None:
    """The topmost workload of a pod by its names; None if it has none."""
    workload = workload_of(cluster, pod)
    return None if workload is None else OwnerRef(workload.kind, workload.name)


def _refusal_order(refusal: Refusal) -> tuple[str, ...]:
    return (refusal.pod.namespace, refusal.pod.name, refusal.profile, refusal.plugin)


def _loads(nodes: Nodes, requested: Amounts) -> dict[str, ResourceLoad]:
    return {nodes.resources[row]: _load(nodes.allocatable[row], requested[row]) for row in (CPU, MEMORY)}


def _load(allocatable: Amounts, requested: Amounts) -> ResourceLoad:
    usable = allocatable > 0
    if not usable.any():
        return ResourceLoad(0.0, 0.0, 0.0)
    share = requested[usable] / allocatable[usable]
    figures = (float(share.max()), float(share.mean()), float(share.std()))
    return ResourceLoad(*(round(figure, 4) for figure in figures))


def placement_of(asked: Placement | None, policy: Policy) -> Placement:
    """How moves are placed: as asked for, else as the policy says, else proven."""
    return asked or policy.restow.placement or Placement.PROVE


def policy_as_asked(policy: Policy, placement: Placement) -> Policy:
    """The policy as a placement uses it: ``prove`` drops nodeFit, which the scheduler's own rules replace."""
    return without_node_fit(policy) if placement == Placement.PROVE else policy


def steering_of(asked: SteeringMode | None, policy: Policy) -> SteeringMode:
    """How replacements are brought to their targets in a plan: as asked for, else as the policy says, else not at all."""
    wanted = policy.restow.steering
    return asked or (SteeringMode.NONE if wanted == SteeringSetting.AUTO else SteeringMode(wanted))


def decided(
    cluster: ClusterSnapshot,
    policy: Policy,
    placement: Placement,
    now: int,
    profiles: Iterable[SchedulerProfile],
    *,
    steering: SteeringMode = SteeringMode.NONE,
    prior_evictions: Iterable[PriorEviction] = (),
    excluded: Mapping[str, Reason] = MappingProxyType({}),
    may_move: Collection[str] | None = None,
    searches: Searches = MappingProxyType({}),
    cache: PlanningCache | None = None,
) -> Cycle:
    """Decide one cycle with a placement and all registered strategies. Errors are those of ``run_cycle``.

    ``profiles`` are those of the cluster's schedulers, and ``steering`` how replacements can be brought to their targets;
    only a proof asks for either, and goes on from the ``searches`` of the plan before.
    """
    if placement == Placement.PROVE:
        return prove_cycle(
            cluster,
            policy,
            strategies(),
            now,
            profiles,
            steering=steering,
            prior_evictions=prior_evictions,
            excluded=excluded,
            may_move=may_move,
            searches=searches,
            cache=cache,
        )
    return run_cycle(cluster, policy, strategies(), now, prior_evictions=prior_evictions, excluded=excluded)


def plan_cluster(cluster: ClusterSnapshot, api_server: str | None) -> PlanCluster:
    """The cluster in a plan; ``api_server`` is the host and port that it was read from, None for files."""
    return PlanCluster(_uid(cluster), api_server, len(cluster.nodes), _pods_in(cluster))


def _pods_in(cluster: ClusterSnapshot) -> int:
    """How many pods the input has, without replacements."""
    return int(cluster.pods.read().sum())


def foreign_cluster(
    metadata: PlanMetadata, moves: Sequence[Move], cluster: ClusterSnapshot, api_server: str
) -> str | None:
    """Why a plan is not of this cluster, in one sentence; None where it is, or where nothing speaks against it."""
    made_of = None if metadata.cluster is UNSET else metadata.cluster
    uid, here = (None if made_of is None else made_of.uid), _uid(cluster)
    if uid is not None and here is not None:
        what = f"the Namespace kube-system has the uid {excerpt(uid)} in the plan and {here} in this cluster"
        return None if uid == here else _sentence(what, made_of, api_server)
    difference = _nothing_in_common(moves, cluster)
    return None if difference is None else _sentence(difference, made_of, api_server)


def _uid(cluster: ClusterSnapshot) -> str | None:
    namespace = cluster.kind("Namespace").get(_KUBE_SYSTEM)
    return None if namespace is None else namespace.metadata.uid or None


def _nothing_in_common(moves: Sequence[Move], cluster: ClusterSnapshot) -> str | None:
    """Which of nodes and pods the plan and a cluster do not share at all; None where they share both."""
    nodes = {each.source for each in moves}.union(*(each.candidates for each in moves))
    if nodes and nodes.isdisjoint(cluster.nodes.names):
        return f"none of the plan's nodes ({_some(nodes)}) is in this cluster"
    pods = {each.pod.uid: str(each.pod) for each in moves}
    if pods and pods.keys().isdisjoint(cluster.pods.uids):
        return f"none of the pods that the plan moves ({_some(pods.values())}) is in this cluster, by uid"
    return None


def _some(names: Iterable[str]) -> str:
    first, *others = sorted(names)
    return f"{excerpt(first)} and {len(others)} more" if others else excerpt(first)


def _sentence(what: str, made_of: PlanCluster | None, api_server: str) -> str:
    planned = "" if made_of is None or made_of.api_server is None else f" of {excerpt(made_of.api_server)}"
    return f"is the plan{planned} of another cluster than {api_server}: {what}; {_WHAT_TO_DO}"
