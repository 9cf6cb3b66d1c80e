"""A cluster with one thing changed, as if the input had been different. All but ``without_pods`` keep every row in place.

The clusters are observed ones, without replacements: new plans are made of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
from msgspec import structs

from restow.cluster.nodes import Nodes
from restow.cluster.pods import Pods
from restow.cluster.snapshot import ClusterSnapshot, Key
from restow.descheduling.evictor_args import DEFAULT_PROTECTIONS, EXTRA_PROTECTIONS, DefaultEvictorArgs
from restow.descheduling.placement import PluginRef
from restow.descheduling.protections import effective_protections
from restow.kube.objects import (
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorTerm,
    PersistentVolume,
    Taint,
    Toleration,
)
from restow.kube.objects.volumes import VolumeNodeAffinity
from restow.policies.policy import Policy, Profile
from restow.policies.schema import DEFAULT_EVICTOR

#: The taint that goes with ``spec.unschedulable``.
CORDON = "node.kubernetes.io/unschedulable"
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
    return _with_nodes(cluster, changed)


def uncordoned(cluster: ClusterSnapshot, node: int) -> ClusterSnapshot:
    """A cluster in which a node is not cordoned."""
    nodes = cluster.nodes
    unschedulable = nodes.unschedulable.copy()
    unschedulable[node] = False
    left = tuple(taint for taint in nodes.taint_sets[nodes.taints[node]] if taint.key != CORDON)
    taints = nodes.taints.copy()
    taints[node] = len(nodes.taint_sets)
    changed = replace(nodes, unschedulable=unschedulable, taints=taints, taint_sets=(*nodes.taint_sets, left))
    return _with_nodes(cluster, changed)


def relabelled(
    cluster: ClusterSnapshot, node: int, labels: Mapping[str, str], without: Collection[str]
) -> ClusterSnapshot:
    """A cluster with labels of a node added and removed."""
    nodes = cluster.nodes
    changed = list(nodes.labels)
    changed[node] = {key: value for key, value in nodes.labels[node].items() if key not in without} | dict(labels)
    return _with_nodes(cluster, replace(nodes, labels=tuple(changed), _columns={}))


def tolerating(cluster: ClusterSnapshot, pod: int, taints: Iterable[Taint]) -> ClusterSnapshot:
    """A cluster in which a pod tolerates some additional taints."""
    pods = cluster.pods
    more = [Toleration(key=each.key, operator="Equal", value=each.value, effect=each.effect) for each in taints]
    known = pods.tables.tolerations
    tables = replace(pods.tables, tolerations=[*known, (*known[pods.tolerations[pod]], *more)])
    column = pods.tolerations.copy()
    column[pod] = len(known)
    return _with_pods(cluster, replace(pods, tolerations=column, tables=tables))


def reaching(cluster: ClusterSnapshot, volumes: Iterable[str], node: int) -> ClusterSnapshot:
    """A cluster whose volumes of these names can also be reached from the zone of a node, or from a node without a zone."""
    for name in volumes:
        volume: PersistentVolume = cluster.kind("PersistentVolume")["", name]
        cluster = with_object(cluster, "PersistentVolume", ("", name), _reachable(volume, cluster.nodes, node))
    return cluster


def without_pods(cluster: ClusterSnapshot, gone: Iterable[int]) -> ClusterSnapshot:
    """A cluster without some pods; later pods move up."""
    pods = cluster.pods
    left = np.ones(len(pods), dtype=bool)
    left[list(gone)] = False
    columns: dict[str, Any] = {
        each.name: getattr(pods, each.name)[left]
        for each in fields(pods)
        if isinstance(getattr(pods, each.name), np.ndarray)
    }
    rows = np.flatnonzero(left).tolist()
    names, uids = ([texts[row] for row in rows] for texts in (pods.names, pods.uids))
    return _with_pods(cluster, replace(pods, **columns, names=names, uids=uids))


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


def _with_nodes(cluster: ClusterSnapshot, nodes: Nodes) -> ClusterSnapshot:
    return replace(cluster, nodes=nodes)


def _with_pods(cluster: ClusterSnapshot, pods: Pods) -> ClusterSnapshot:
    return replace(cluster, pods=pods)


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
    return with_evictor(
        policy,
        profile,
        pod_protections=protections,
        evict_local_storage_pods=False,
        evict_daemon_set_pods=False,
        evict_system_critical_pods=False,
        evict_failed_bare_pods=False,
        ignore_pvc_pods=False,
        ignore_pods_without_pdb=False,
    )


def with_own_limit(policy: Policy, ref: PluginRef, limit: int) -> Policy:
    """A policy with which a strategy may take this many pods off a node."""
    profile = next(each for each in policy.profiles if each.name == ref.profile)
    own = structs.replace(profile.args[ref.plugin].eviction_limits, node=limit)
    return _with_args(policy, ref.profile, ref.plugin, {"eviction_limits": own})


def _with_args(policy: Policy, name: str, plugin: str, changed: dict[str, Any]) -> Policy:
    return structs.replace(
        policy,
        profiles=tuple(
            _changed(profile, plugin, changed) if profile.name == name else profile for profile in policy.profiles
        ),
    )


def _changed(profile: Profile, plugin: str, changed: dict[str, Any]) -> Profile:
    return structs.replace(profile, args=profile.args | {plugin: structs.replace(profile.args[plugin], **changed)})
