"""Trials: plans made again with something changed. What ``explain`` says would help has been tried like this.

A trial changes the inputs of the plan - cluster, policy, steering, time - and decides from the beginning, as a new
``restow plan`` on that input would. So the result includes what the change does to other pods. Clusters are observed ones,
without replacements; all changes of them but ``without_pods`` keep every row in place.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from msgspec import structs

from restow.cluster.nodes import Nodes
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.descheduling.arbiter import Eviction
from restow.descheduling.cycle import Cycle, run_cycle
from restow.descheduling.evictor_args import DEFAULT_PROTECTIONS, DEPRECATED, EXTRA_PROTECTIONS, DefaultEvictorArgs
from restow.descheduling.framework import Reason
from restow.descheduling.placement import PluginRef
from restow.descheduling.protections import effective_protections
from restow.explaining.explanation import Step
from restow.explaining.what_if import Setting
from restow.kube.objects import (
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorTerm,
    PersistentVolume,
    Taint,
    Toleration,
)
from restow.kube.objects.volumes import VolumeNodeAffinity
from restow.kube.taints import CORDON
from restow.policies.codes import Placement, Stage, SteeringMode
from restow.policies.policy import Policy, Profile
from restow.policies.schema import DEFAULT_EVICTOR
from restow.proving.search import prove_cycle

#: Plans made for one answer; in the largest clusters each takes seconds.
_MOST_TRIALS = 200
#: An amount that is more than any plan makes use of.
PLENTY = 2**31 - 1


class TrialsUsedUpError(Exception):
    """No more plans are made for this answer."""


@dataclass(slots=True, frozen=True)
class TrialInputs:
    """What a plan is made of; the cluster as observed."""

    cluster: ClusterSnapshot
    policy: Policy
    steering: SteeringMode
    now: int


Edit = Callable[[TrialInputs], TrialInputs]


def on_cluster(change: Callable[[ClusterSnapshot], ClusterSnapshot]) -> Edit:
    """The edit that only changes the cluster."""
    return lambda inputs: replace(inputs, cluster=change(inputs.cluster))


def with_restow(inputs: TrialInputs, **changed: Any) -> TrialInputs:
    """Inputs whose policy has other settings in its restow section."""
    settings = structs.replace(inputs.policy.restow, **changed)
    return replace(inputs, policy=structs.replace(inputs.policy, restow=settings))


@dataclass(slots=True, frozen=True)
class Fix:
    """One change: the words for it, and the function that makes it."""

    step: Step
    edit: Edit
    #: The same change, made smaller. If the pod moves with one of these too, the words ask for more than is needed.
    weaker: tuple[Fix, ...] = ()
    #: The same change with its amounts rounded, as the words name them. The pod must move with these too.
    rounded: Fix | None = None
    #: Makes the same change with other amounts, for changes whose smallest amounts are found by trials.
    at: Callable[[tuple[int, ...]], Fix] | None = None
    #: The amounts of this change, those without the change, and a guess at the smallest that are enough.
    amounts: tuple[int, ...] = ()
    lowest: tuple[int, ...] = ()
    guess: tuple[int, ...] = ()
    #: Whether the edit does exactly what the words say; False if it does the best that could follow from them.
    exact: bool = True

    def like(self, other: Fix) -> Fix:
        """The same change with the amounts of another one, whose weaker forms must not be enough here either."""
        if self.at is None or len(self.amounts) != len(other.amounts):
            return self
        return self.at(other.amounts).with_weaker()

    def with_amount(self, place: int, amount: int) -> Fix:
        """The same with another amount in one place."""
        assert self.at is not None
        return self.at((*self.amounts[:place], amount, *self.amounts[place + 1 :]))

    def with_weaker(self) -> Fix:
        """The same change with its weaker forms: one for each amount, a little smaller. They must not be enough."""
        places = [place for place, amount in enumerate(self.amounts) if amount - 1 > self.lowest[place]]
        return replace(self, weaker=tuple(self.with_amount(place, self.amounts[place] - 1) for place in places))


@dataclass(slots=True, frozen=True)
class TrialOutcome:
    """What one plan does with the pod."""

    move: Eviction | None
    target: str | None
    refusals: Mapping[PluginRef, Reason]
    #: How many pods the plan moves.
    evictions: int


@dataclass(slots=True)
class Trials:
    """The trials about one pod. The same set of changes is tried only once."""

    _setting: Setting
    #: The row of the pod in the cluster of the plan.
    _pod: int
    _known: dict[tuple[object, ...], TrialOutcome] = field(default_factory=dict)

    def of(self, fixes: Sequence[Fix]) -> TrialOutcome:
        """What a plan does with the pod after these changes together; TrialsUsedUpError."""
        key = tuple((each.step.message, *sorted(each.step.amounts.items())) for each in fixes)
        if key not in self._known:
            if len(self._known) >= _MOST_TRIALS:
                raise TrialsUsedUpError
            self._known[key] = self._outcome(self._decided(fixes) if fixes else self._setting.cycle)
        return self._known[key]

    def moves(self, fixes: Sequence[Fix]) -> bool:
        """Whether the pod moves with these changes together; TrialsUsedUpError."""
        return self.of(fixes).move is not None

    def _decided(self, fixes: Sequence[Fix]) -> Cycle:
        setting = self._setting
        inputs = TrialInputs(setting.observed, setting.policy, setting.steering, setting.now)
        for each in fixes:
            inputs = each.edit(inputs)
        if setting.placement == Placement.PROVE:
            return prove_cycle(
                inputs.cluster,
                inputs.policy,
                setting.strategies,
                inputs.now,
                setting.profiles,
                steering=inputs.steering,
            )
        return run_cycle(inputs.cluster, inputs.policy, setting.strategies, inputs.now)

    def _outcome(self, cycle: Cycle) -> TrialOutcome:
        pods, nodes = cycle.state.cluster.pods, cycle.state.cluster.nodes
        name = self._setting.cluster.pods.full_name(self._pod)
        move = next((each for each in cycle.record.evictions if pods.full_name(each.pod) == name), None)
        refusals = {
            each.ref: each.reason
            for each in cycle.record.refusals
            # A limit that refuses a proposal refuses each of its pods, whichever of them exceeds it.
            if name in map(pods.full_name, (each.pod, *(each.others if each.reason[0] == Stage.LIMIT else ())))
        }
        target = nodes.names[move.landing.target] if move is not None and move.landing.target >= 0 else None
        return TrialOutcome(move, target, refusals, len(cycle.record.evictions))


_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
#: The labels of volumes that say where they are, and the label of nodes that each is compared with.
_PLACES = {
    _ZONE: _ZONE,
    _REGION: _REGION,
    "failure-domain.beta.kubernetes.io/zone": _ZONE,
    "failure-domain.beta.kubernetes.io/region": _REGION,
}


def enlarged(cluster: ClusterSnapshot, node: int, more: Mapping[int, int]) -> ClusterSnapshot:
    """A cluster with more of some resources (rows of ``Nodes.allocatable``) on a node."""
    nodes = cluster.nodes
    allocatable, capacity = nodes.allocatable.copy(), nodes.capacity.copy()
    lists_allocatable, lists_capacity = nodes.lists_allocatable.copy(), nodes.lists_capacity.copy()
    for row, amount in more.items():
        allocatable[row, node] += amount
        capacity[row, node] += amount
        lists_allocatable[row, node] = lists_capacity[row, node] = True
    changed = replace(
        nodes,
        allocatable=allocatable,
        capacity=capacity,
        lists_allocatable=lists_allocatable,
        lists_capacity=lists_capacity,
    )
    return replace(cluster, nodes=changed)


def uncordoned(cluster: ClusterSnapshot, node: int) -> ClusterSnapshot:
    """A cluster in which a node is not cordoned."""
    nodes = cluster.nodes
    unschedulable = nodes.unschedulable.copy()
    unschedulable[node] = False
    left = tuple(taint for taint in nodes.taint_sets[nodes.taints[node]] if taint.key != CORDON)
    taints = nodes.taints.copy()
    taints[node] = len(nodes.taint_sets)
    changed = replace(nodes, unschedulable=unschedulable, taints=taints, taint_sets=(*nodes.taint_sets, left))
    return replace(cluster, nodes=changed)


def relabelled(
    cluster: ClusterSnapshot, node: int, labels: Mapping[str, str], without: Collection[str]
) -> ClusterSnapshot:
    """A cluster with labels of a node added and removed."""
    nodes = cluster.nodes
    changed = list(nodes.labels)
    changed[node] = {key: value for key, value in nodes.labels[node].items() if key not in without} | dict(labels)
    return replace(cluster, nodes=replace(nodes, labels=tuple(changed), _columns={}))


def tolerating(cluster: ClusterSnapshot, pod: int, taints: Iterable[Taint]) -> ClusterSnapshot:
    """A cluster in which a pod tolerates some additional taints."""
    pods = cluster.pods
    more = [Toleration(key=each.key, operator="Equal", value=each.value, effect=each.effect) for each in taints]
    known = pods.tables.tolerations
    tables = structs.replace(pods.tables, tolerations=[*known, (*known[pods.tolerations[pod]], *more)])
    column = pods.tolerations.copy()
    column[pod] = len(known)
    return replace(cluster, pods=replace(pods, tolerations=column, tables=tables))


def reaching(cluster: ClusterSnapshot, volumes: Iterable[str], node: int) -> ClusterSnapshot:
    """A cluster whose volumes of these names can also be reached from the zone of a node, or from a node without a zone."""
    for name in volumes:
        volume: PersistentVolume = cluster.kind("PersistentVolume")["", name]
        cluster = with_object(cluster, "PersistentVolume", ("", name), _reachable(volume, cluster.nodes, node))
    return cluster


def without_pods(cluster: ClusterSnapshot, gone: Iterable[int]) -> ClusterSnapshot:
    """A cluster without some pods; later pods move up."""
    left = np.ones(len(cluster.pods), dtype=bool)
    left[list(gone)] = False
    return replace(cluster, pods=cluster.pods.only(np.flatnonzero(left)))


def with_object(cluster: ClusterSnapshot, kind: str, key: Key, changed: Any) -> ClusterSnapshot:
    """A cluster with another object of a kind other than Node and Pod."""
    known = {**cluster.kind(kind), key: changed}
    return replace(cluster, others={**cluster.others, kind: dict(sorted(known.items()))})


def without_objects(cluster: ClusterSnapshot, kind: str, gone: Collection[Key]) -> ClusterSnapshot:
    """A cluster without some objects of a kind; it has a list of the kind even if none is left."""
    left = {key: each for key, each in cluster.kind(kind).items() if key not in gone}
    return replace(cluster, others={**cluster.others, kind: left})


def _reachable(volume: PersistentVolume, nodes: Nodes, node: int) -> PersistentVolume:
    labels = dict(volume.metadata.labels or {})
    for key, today in _PLACES.items():
        place = nodes.labels[node].get(key) or nodes.labels[node].get(today)
        if key in labels and place:
            labels[key] = f"{labels[key]}__{place}"
    metadata = structs.replace(volume.metadata, labels=labels)
    affinity = volume.spec.node_affinity
    if affinity is None or affinity.required is None:
        return structs.replace(volume, metadata=metadata)
    terms = (*(affinity.required.node_selector_terms or ()), _term_of(nodes, node))
    required = VolumeNodeAffinity(NodeSelector(terms))
    return structs.replace(volume, metadata=metadata, spec=structs.replace(volume.spec, node_affinity=required))


def _term_of(nodes: Nodes, node: int) -> NodeSelectorTerm:
    keys = [key for key, today in _PLACES.items() if today == _ZONE and key in nodes.labels[node]]
    if keys:
        zone = LabelSelectorRequirement(keys[0], "In", (nodes.labels[node][keys[0]],))
        return NodeSelectorTerm(match_expressions=(zone,))
    return NodeSelectorTerm(match_fields=(LabelSelectorRequirement("metadata.name", "In", (nodes.names[node],)),))


def with_evictor(policy: Policy, profile: str, **changed: Any) -> Policy:
    """A policy whose evictor has other arguments in one profile."""
    return _with_args(policy, profile, DEFAULT_EVICTOR, changed)


def without_protection(policy: Policy, profile: str, name: str) -> Policy:
    """A policy whose evictor lacks one of the named protections in one profile."""
    args: DefaultEvictorArgs = next(each for each in policy.profiles if each.name == profile).args[DEFAULT_EVICTOR]
    holding = effective_protections(args) - {name}
    protections = structs.replace(
        args.pod_protections,
        default_disabled=tuple(each for each in DEFAULT_PROTECTIONS if each not in holding),
        extra_enabled=tuple(each for each in EXTRA_PROTECTIONS if each in holding),
    )
    return with_evictor(policy, profile, pod_protections=protections, **dict.fromkeys(DEPRECATED, False))


def with_own_limit(policy: Policy, ref: PluginRef, limit: int) -> Policy:
    """A policy with which a strategy may take this many pods off a node."""
    profile = next(each for each in policy.profiles if each.name == ref.profile)
    own = structs.replace(profile.args[ref.plugin].eviction_limits, node=limit)
    return _with_args(policy, ref.profile, ref.plugin, {"eviction_limits": own})


def _with_args(policy: Policy, name: str, plugin: str, changed: dict[str, Any]) -> Policy:
    def edited(profile: Profile) -> Profile:
        return structs.replace(profile, args=profile.args | {plugin: structs.replace(profile.args[plugin], **changed)})

    return structs.replace(
        policy, profiles=tuple(edited(each) if each.name == name else each for each in policy.profiles)
    )
