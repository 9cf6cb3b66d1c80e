"""Replacements: the pods that controllers would create for pods that are evicted.

A plan that says where an evicted pod lands needs the pod that lands: a new one, of the same template, for a moment
beside the old one. Each pod gets such a twin in the row after its own, so that both have the same place in canonical
order; a twin does not exist until somebody places it. It takes over everything that rules look at and nothing of the
old pod's history: it is new, healthy and has no node. Source: ReplicaSet, StatefulSet and Job, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np
from msgspec import structs

from restow.cluster.interning import IdArray, IntArray
from restow.cluster.pods import PENDING, Flag, Phase, Pods, PodStates, PodVolume
from restow.cluster.snapshot import Cluster, Key
from restow.kube.objects import (
    Condition,
    ObjectMeta,
    OwnerReference,
    PersistentVolumeClaim,
    PersistentVolumeClaimStatus,
)

#: Ends the uid of a twin, and the name of what belongs to a twin alone.
_MARK = "+replacement"
_CLAIM = "PersistentVolumeClaim"
_HEALTHY = PodStates(phase="Running", reason="", containers=(), init_containers=(), ephemeral_containers=())
_READY = (Condition(type="Ready", status="True"),)
#: What is said of a pod itself, and not of its template.
_OF_THE_OLD_POD = Flag.TERMINATING


def with_replacements(cluster: Cluster, now: int) -> Cluster:
    """The cluster with a twin after each pod; ``now`` is when twins are created (nanoseconds since the epoch)."""
    pods = _twinned(cluster.pods, now)
    claims = dict(_own_claims(cluster, pods))
    others = dict(cluster.others)
    if claims:
        others[_CLAIM] = {**cluster.kind(_CLAIM), **claims}
        pods = _with_own_claims(pods)
    return replace(cluster, pods=pods, others=others)


Row = TypeVar("Row", int, IntArray)


def twin_of(pod: Row) -> Row:
    """The other one of a pod and its twin: of an observed pod its replacement, of a replacement the pod before it."""
    return pod ^ 1


def _twinned(pods: Pods, now: int) -> Pods:
    columns: dict[str, Any] = {
        field.name: np.repeat(getattr(pods, field.name), 2)
        for field in fields(pods)
        if isinstance(getattr(pods, field.name), np.ndarray)
    }
    twins = slice(1, None, 2)
    changed = {
        "observed": False,
        "held": -1,
        "node": PENDING,
        "nominated": PENDING,
        "created": now,
        "started": now,
        "phase": Phase.RUNNING,
        "states": len(pods.tables.states),
        "conditions": len(pods.tables.conditions),
    }
    for name, value in changed.items():
        columns[name][twins] = value
    columns["flags"][twins] &= ~int(_OF_THE_OLD_POD)
    return replace(
        pods,
        **columns,
        names=tuple(name for name in pods.names for _ in range(2)),
        uids=tuple(each for uid in pods.uids for each in (uid, uid and uid + _MARK)),
        tables=replace(
            pods.tables,
            states=(*pods.tables.states, _HEALTHY),
            conditions=(*pods.tables.conditions, _READY),
        ),
    )


def _with_own_claims(pods: Pods) -> Pods:
    """The pods, where twins name the claims of their own generic ephemeral volumes."""
    volumes: IdArray = pods.volumes.copy()
    table = list(pods.tables.volumes)
    known: dict[int, int] = {}
    for twin in _with_ephemeral_volumes(pods):
        old = int(volumes[twin])
        if old not in known:
            known[old] = len(table)
            table.append(tuple(_own(volume) for volume in table[old]))
        volumes[twin] = known[old]
    return replace(pods, volumes=volumes, tables=replace(pods.tables, volumes=tuple(table)))


def _own(volume: PodVolume) -> PodVolume:
    return volume._replace(claim=volume.claim + _MARK) if volume.ephemeral else volume


def _own_claims(cluster: Cluster, pods: Pods) -> Iterator[tuple[Key, PersistentVolumeClaim]]:
    """The claims that come with twins: those of the old pods' ephemeral volumes, not bound yet."""
    claims: Mapping[Key, PersistentVolumeClaim] = cluster.kind(_CLAIM)
    for twin in _with_ephemeral_volumes(pods):
        namespace = pods.tables.namespaces[pods.namespace[twin]]
        for volume in pods.tables.volumes[pods.volumes[twin]]:
            old = claims.get((namespace, volume.claim)) if volume.ephemeral else None
            if old is not None:
                yield (namespace, volume.claim + _MARK), _unbound(old, pods.uids[twin])


def _with_ephemeral_volumes(pods: Pods) -> list[int]:
    has = np.array([any(volume.ephemeral for volume in each) for each in pods.tables.volumes], dtype=bool)
    return np.flatnonzero(has[pods.volumes] & ~pods.observed).tolist() if len(has) else []


def _unbound(claim: PersistentVolumeClaim, uid: str) -> PersistentVolumeClaim:
    metadata = ObjectMeta(
        name=claim.metadata.name + _MARK,
        namespace=claim.metadata.namespace,
        owner_references=(OwnerReference(kind="Pod", uid=uid, controller=True),),
    )
    spec = structs.replace(claim.spec, volume_name="")
    return PersistentVolumeClaim(metadata, spec, PersistentVolumeClaimStatus(phase="Pending"))
