"""A cluster with one thing changed, to see what would come of it; pods and nodes keep their places in the order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from restow.cluster.nodes import Nodes
from restow.cluster.pods import Pods
from restow.cluster.replacements import twin_of
from restow.cluster.snapshot import Cluster
from restow.kube.objects import Taint, Toleration

#: The taint that goes with ``spec.unschedulable``.
CORDON = "node.kubernetes.io/unschedulable"


def enlarged(cluster: Cluster, node: int, more: Mapping[int, int]) -> Cluster:
    """More of some resources (rows of ``Nodes.allocatable``) on a node."""
    nodes = cluster.nodes
    allocatable, capacity = nodes.allocatable.copy(), nodes.capacity.copy()
    for row, amount in more.items():
        allocatable[row, node] += amount
        capacity[row, node] += amount
    return _with_nodes(cluster, replace(nodes, allocatable=allocatable, capacity=capacity))


def uncordoned(cluster: Cluster, node: int) -> Cluster:
    """A node that may be scheduled to."""
    nodes = cluster.nodes
    unschedulable = nodes.unschedulable.copy()
    unschedulable[node] = False
    left = tuple(taint for taint in nodes.taint_sets[nodes.taints[node]] if taint.key != CORDON)
    taints = nodes.taints.copy()
    taints[node] = len(nodes.taint_sets)
    changed = replace(nodes, unschedulable=unschedulable, taints=taints, taint_sets=(*nodes.taint_sets, left))
    return _with_nodes(cluster, changed)


def relabelled(cluster: Cluster, node: int, labels: Mapping[str, str], without: Collection[str]) -> Cluster:
    """A node with some labels more and some less."""
    nodes = cluster.nodes
    changed = list(nodes.labels)
    changed[node] = {key: value for key, value in nodes.labels[node].items() if key not in without} | dict(labels)
    return _with_nodes(cluster, replace(nodes, labels=tuple(changed), _columns={}))


def tolerating(cluster: Cluster, pod: int, taints: Iterable[Taint]) -> Cluster:
    """A pod, and its replacement, that tolerates some taints more."""
    pods = cluster.pods
    more = [Toleration(key=each.key, operator="Equal", value=each.value, effect=each.effect) for each in taints]
    known = pods.tables.tolerations
    tables = replace(pods.tables, tolerations=(*known, (*known[pods.tolerations[pod]], *more)))
    column = pods.tolerations.copy()
    column[[pod, twin_of(pod)]] = len(known)
    return _with_pods(cluster, replace(pods, tolerations=column, tables=tables))


def without_claims(cluster: Cluster, pod: int) -> Cluster:
    """A pod, and its replacement, that mounts no claims."""
    pods = cluster.pods
    known = pods.tables.volumes
    left = tuple(each for each in known[pods.volumes[pod]] if each.disk is not None)
    column = pods.volumes.copy()
    column[[pod, twin_of(pod)]] = len(known)
    return _with_pods(cluster, replace(pods, volumes=column, tables=replace(pods.tables, volumes=(*known, left))))


def _with_nodes(cluster: Cluster, nodes: Nodes) -> Cluster:
    return replace(cluster, nodes=nodes)


def _with_pods(cluster: Cluster, pods: Pods) -> Cluster:
    return replace(cluster, pods=pods)
