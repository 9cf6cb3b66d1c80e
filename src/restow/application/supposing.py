"""What would follow if a cluster were another one: nodes gone or cordoned, more nodes of a kind, another policy.

Nothing of it happens. The pods of a node that is gone come again as their controllers would make them
(``workloads.replacements``), and the cluster's own schedulers place them, with the pods that wait already, one after the
other. Pods of DaemonSets and static pods are gone with their node; another node of a kind gets those of the node that it
is like. Then a plan is made of what that comes to, and is compared with the plan of the cluster as it is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from msgspec import structs

from restow.application.clusters import LoadedCluster, find_node
from restow.application.feedback import Feedback
from restow.application.files import NamedFile
from restow.application.planning import Planned, PlanRequest, make
from restow.cluster.nodes import NodeRow
from restow.cluster.owners import owner_of
from restow.cluster.pod_values import Flag, Phase
from restow.cluster.pods import NO_POD, PENDING, PodRow
from restow.cluster.snapshot import ClusterSnapshot
from restow.cluster.state import ClusterState
from restow.errors import InputError
from restow.kube.objects import Taint
from restow.kube.taints import CORDON
from restow.kube.timestamps import parse_time
from restow.reporting.difference_result import difference
from restow.reporting.supposed_result import LostPod, Supposed, SupposedLanding
from restow.scheduling.configuration.profiles import SchedulerProfile
from restow.scheduling.framework.context import Context
from restow.scheduling.loop.schedulers import Schedulers
from restow.scheduling.loop.scheduling_pass import schedule
from restow.workloads.replacements import ReplacementPolicies, ReplacementPolicy, Replacements

#: More would be another cluster.
MOST_NEW: Final = 1000
_CORDON: Final = Taint(key=CORDON, effect="NoSchedule")
_HOSTNAME: Final = "kubernetes.io/hostname"


@dataclass(slots=True, frozen=True)
class Supposition:
    """What is supposed; as a user writes it."""

    gone: tuple[str, ...] = ()
    cordoned: tuple[str, ...] = ()
    #: How many nodes more, by the name of the node that they are like.
    more: Mapping[str, int] = field(default_factory=dict)
    #: None: the policy stays.
    policy: NamedFile | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is another than it is."""
        return not (self.gone or self.cordoned or self.more or self.policy)

    def words(self) -> str:
        """What is supposed, for people: ``node n-1 is gone, 2 more nodes like n-2``."""
        parts = [_are("gone", self.gone)] if self.gone else []
        parts += [_are("cordoned", self.cordoned)] if self.cordoned else []
        parts += [
            f"{count:,} more {'node' if count == 1 else 'nodes'} like {name}" for name, count in self.more.items()
        ]
        parts += ["another policy"] if self.policy is not None else []
        return ", ".join(parts)


def _are(what: str, names: Sequence[str]) -> str:
    return f"node {names[0]} is {what}" if len(names) == 1 else f"nodes {', '.join(names)} are {what}"


@dataclass(slots=True, frozen=True)
class SupposedPlan:
    """A plan of a cluster that is supposed, and what it was compared with."""

    planned: Planned
    supposed: Supposed


def suppose(request: PlanRequest, known: Planned, supposition: Supposition, feedback: Feedback) -> SupposedPlan:
    """Plan what is supposed; ``known`` is the plan of the cluster as it is, which ``request`` made.

    InputError for nodes that are not there, and for a policy that cannot be used.
    """
    if supposition.is_empty:
        raise InputError("nothing is supposed: name a node that is gone or cordoned, more nodes, or another policy")
    found, at = known.cluster, known.plan.metadata.generated_at
    cluster, landings, lost = _changed(found, supposition, known.context.profiles, parse_time(at))
    policy = request.policy if supposition.policy is None else supposition.policy
    changed = structs.replace(request, where=structs.replace(found, cluster=cluster), policy=policy, now=at)
    planned = make(changed, feedback)
    words = supposition.words()
    compared = difference(known.plan, planned.plan, "as it is", words)
    return SupposedPlan(planned, Supposed(words, landings, lost, compared))


def _changed(
    found: LoadedCluster, supposition: Supposition, profiles: Sequence[SchedulerProfile], now: int
) -> tuple[ClusterSnapshot, tuple[SupposedLanding, ...], tuple[LostPod, ...]]:
    """The cluster with everything that is supposed, where pods come again, and those that do not."""
    state = ClusterState(found.cluster)
    for name in supposition.cordoned:
        _cordon(state, name)
    for name, count in supposition.more.items():
        _add(state, name, count)
    if not supposition.gone:
        return _snapshot(state), (), ()
    homeless, lost = _take_out(state, supposition.gone, now)
    landings = tuple(_landings(state, homeless, profiles))
    return _snapshot(state), landings, tuple(lost)


def _node(state: ClusterState, name: str) -> int:
    return find_node(state.cluster.nodes, name, "what is supposed")


def _cordon(state: ClusterState, name: str) -> None:
    node = _node(state, name)
    row = state.cluster.nodes.row(node)
    if not row.unschedulable:
        state.update_node(node, structs.replace(row, unschedulable=True, taints=(*row.taints, _CORDON)))


def _add(state: ClusterState, like: str, count: int) -> None:
    """Add nodes like one of the cluster, each with the pods that every such node has."""
    if not 1 <= count <= MOST_NEW:
        raise InputError(f"what is supposed: {count:,} more nodes like {like}; write a number from 1 to {MOST_NEW:,}")
    for name in _new_names(state, like, count):
        node = _node(state, like)
        state.create_node(_like(state.cluster.nodes.row(node), name))
        for row in list(_belonging_rows(state, _node(state, like), name)):
            state.create(row)


def _new_names(state: ClusterState, like: str, count: int) -> list[str]:
    taken = state.cluster.nodes.index
    candidates = (f"{like}-more-{number}" for number in itertools.count(1))
    return list(itertools.islice((each for each in candidates if each not in taken), count))


def _like(row: NodeRow, name: str) -> NodeRow:
    """A node of that name, new: ready, not cordoned, and without images."""
    labels = dict(row.labels) | ({_HOSTNAME: name} if _HOSTNAME in row.labels else {})
    taints = tuple(each for each in row.taints if not each.key.startswith("node.kubernetes.io/"))
    return structs.replace(row, name=name, labels=labels, taints=taints, unschedulable=False, ready=True, images=())


def _belonging_rows(state: ClusterState, node: int, name: str) -> Iterator[PodRow]:
    pods = state.cluster.pods
    for pod in state.pods_on(node).tolist():
        if _belongs(state.cluster, pod):
            names = f"{pods.names[pod]}-{name}"
            yield pods.row(pod) | {"names": names, "uids": names, "node": state.cluster.nodes.index[name]}


def _belongs(cluster: ClusterSnapshot, pod: int) -> bool:
    """Whether a pod is there because its node is: static, or of a DaemonSet."""
    if cluster.pods.carries(pod, Flag.MIRROR):
        return True
    owner = owner_of(cluster.pods, pod)
    return owner is not None and owner.kind == "DaemonSet"


def _take_out(state: ClusterState, names: Sequence[str], now: int) -> tuple[list[tuple[int, str]], list[LostPod]]:
    """Take nodes out; returns the pods that come again, with the node that each was on, and those that do not."""
    rows: list[tuple[PodRow, str]] = []
    lost: list[LostPod] = []
    for name in dict.fromkeys(names):
        node, replacements = _node(state, name), Replacements(state, now)
        policies = ReplacementPolicies(state.cluster)
        for pod in state.all_pods_on(node).tolist():
            comes = not state.terminating[pod] and state.holds[pod] and not _belongs(state.cluster, pod)
            if comes and policies.of(pod) is ReplacementPolicy.NONE:
                lost.append(LostPod(state.cluster.pods.full_name(pod), name))
            elif comes:
                rows.append((_row(state, pod, replacements), name))
        for pod in state.all_pods_on(node).tolist():
            state.delete(pod)
        state.delete_node(node)
    return [(state.create(row), name) for row, name in rows], lost


def _row(state: ClusterState, pod: int, replacements: Replacements) -> PodRow:
    """The pod that its controller makes in its place; it keeps the name, by which people know it."""
    pods = state.cluster.pods
    for key, claim in replacements.own_claims(pod):
        state.put("PersistentVolumeClaim", key, claim)
    own = {"names": pods.names[pod], "replaces": NO_POD, "replaced_by": NO_POD, "rank": 0}
    return pods.row(pod) | replacements.changes(pod) | own


def _landings(
    state: ClusterState, homeless: Sequence[tuple[int, str]], profiles: Sequence[SchedulerProfile]
) -> Iterator[SupposedLanding]:
    """Schedule what waits, and say where the pods come to that have lost their node."""
    schedulers = Schedulers(Context.of(state), profiles)
    sources, name = dict(homeless), state.cluster.pods.full_name
    decided: set[int] = set()
    for decision in schedule(schedulers, schedulers.queue().pods):
        if decision.pod in sources:
            decided.add(decision.pod)
            target = state.cluster.nodes.names[decision.node] if decision.node != PENDING else ""
            yield SupposedLanding(name(decision.pod), sources[decision.pod], target, decision.message)
    for pod in [each for each in sources if each not in decided]:
        yield SupposedLanding(name(pod), sources[pod], "", "no scheduler of the configuration places it")


def _snapshot(state: ClusterState) -> ClusterSnapshot:
    """The cluster of a state, as if it had been read like that."""
    pods = state.cluster.pods
    rows = pods.where(state.exists)
    node, phase = state.node[rows], pods.phase[rows]
    # The next pod of a controller is taken for a running one as soon as it has a node.
    phase = np.where((node == PENDING) & (phase == Phase.RUNNING), Phase.PENDING, phase).astype(phase.dtype)
    kept = replace(pods.only(rows), node=node, phase=phase, rank=np.arange(len(rows), dtype=pods.rank.dtype))
    return replace(state.cluster, pods=kept, others=dict(state.cluster.others))
