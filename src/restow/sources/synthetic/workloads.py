"""Controllers, the pod template they carry and where it lets a pod run; disruption budgets and priority classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from restow.sources.synthetic.names import BUILT, HOSTNAME, SUFFIXES, ZONE, suffix, template_hash, uid

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from restow.sources.synthetic.names import Object

#: What makes pods; a Deployment does it through a ReplicaSet, a bare pod has no owner.
Kind = Literal["Deployment", "StatefulSet", "DaemonSet", "Job", "Bare"]

#: The kind that the pods' owner references name.
OWNER_KINDS = {"Deployment": "ReplicaSet"}
API_VERSIONS = {"Job": "batch/v1"}

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(slots=True, frozen=True)
class SyntheticWorkload:
    """One controller; its pods share labels, owner reference and spec to the byte."""

    kind: Kind
    namespace: str
    name: str
    replicas: int
    uid: str
    labels: dict[str, str]
    #: The pods' spec, without a node.
    spec: Object
    #: Name of the direct owner of the pods: the ReplicaSet's, or ``name``.
    owner_name: str
    #: Uid of the direct owner of the pods.
    owner_uid: str
    #: Seed of the pods' name suffixes.
    offset: int
    #: Name of the claim template from which each pod of a StatefulSet gets its own claim; empty without one.
    claim: str = ""


def workload(
    kind: Kind, namespace: str, name: str, replicas: int, spec: Object, *, rng: Random, claim: str = ""
) -> SyntheticWorkload:
    """Give a controller its uids, and a Deployment its template hash."""
    made = uid(rng)
    labels = {"app": name}
    if kind == "Deployment":
        labels["pod-template-hash"] = template_hash(rng)
    owner_name = f"{name}-{labels['pod-template-hash']}" if kind == "Deployment" else name
    return SyntheticWorkload(
        kind=kind,
        namespace=namespace,
        name=name,
        replicas=replicas,
        uid=made,
        labels=labels,
        spec=spec,
        owner_name=owner_name,
        owner_uid=uid(rng) if kind == "Deployment" else made,
        offset=rng.getrandbits(32) % SUFFIXES,
        claim=claim,
    )


def pod_name(owner: SyntheticWorkload, replica: int) -> str:
    """Name a replica: an ordinal in a StatefulSet, random characters elsewhere."""
    match owner.kind:
        case "StatefulSet":
            return f"{owner.name}-{replica}"
        case "Bare":
            return owner.name
        case _:
            return f"{owner.owner_name}-{suffix(owner.offset, replica)}"


def owner_references(owner: SyntheticWorkload) -> list[Object]:
    """Return the pods' references to their owner; empty for a bare pod."""
    if owner.kind == "Bare":
        return []
    return [_reference(OWNER_KINDS.get(owner.kind, owner.kind), owner.owner_name, owner.owner_uid)]


def owner_objects(owner: SyntheticWorkload) -> Iterator[Object]:
    """Yield the controllers as objects: none for a bare pod, two for a Deployment."""
    if owner.kind == "Bare":
        return
    spec: Object = {
        "selector": {"matchLabels": {"app": owner.name}},
        "template": {"metadata": {"labels": owner.labels}, "spec": owner.spec},
    }
    spec |= {"parallelism": owner.replicas} if owner.kind == "Job" else {}
    spec |= {"replicas": owner.replicas} if owner.kind in {"Deployment", "StatefulSet"} else {}
    if owner.kind == "Deployment":
        # Only the ReplicaSet's pods carry the hash; the Deployment's own template does not.
        template = {"metadata": {"labels": {"app": owner.name}}, "spec": owner.spec}
        yield _controller("Deployment", owner.name, owner.uid, owner.namespace, spec | {"template": template})
        selector = {"matchLabels": owner.labels}
        made = _controller(
            "ReplicaSet", owner.owner_name, owner.owner_uid, owner.namespace, spec | {"selector": selector}
        )
        made["metadata"]["ownerReferences"] = [_reference("Deployment", owner.name, owner.uid)]
        yield made
    else:
        yield _controller(owner.kind, owner.name, owner.uid, owner.namespace, spec)


def _controller(kind: str, name: str, uid: str, namespace: str, spec: Object) -> Object:
    return {
        "apiVersion": API_VERSIONS.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": BUILT},
        "spec": spec,
    }


def _reference(kind: str, name: str, uid: str) -> Object:
    return {
        "apiVersion": API_VERSIONS.get(kind, "apps/v1"),
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
    }


def disruption_budget(owner: SyntheticWorkload, allowed: int, rng: Random) -> Object:
    """Make a budget for a healthy workload that still allows a number of disruptions."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": owner.name, "namespace": owner.namespace, "uid": uid(rng), "creationTimestamp": BUILT},
        "spec": {"minAvailable": owner.replicas - allowed, "selector": {"matchLabels": {"app": owner.name}}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": owner.replicas,
            "desiredHealthy": owner.replicas - allowed,
            "expectedPods": owner.replicas,
        },
    }


def priority_class(name: str, value: int, rng: Random) -> Object:
    """Make a PriorityClass; the one with value 0 is the default of the cluster."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "uid": uid(rng), "creationTimestamp": BUILT},
        "value": value,
        "globalDefault": value == 0,
    }


def spread_over(topology: str, app: str, *, when: str = "DoNotSchedule") -> Object:
    """One spread constraint over an application's own pods, with a skew of at most one."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": topology,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"topologySpreadConstraints": [constraint]}


def one_per_node(app: str) -> Object:
    """Return required anti-affinity of an application against itself, per node."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOSTNAME}
    return {"affinity": {"podAntiAffinity": {_REQUIRED: [term]}}}


def only_in(zone: str) -> Object:
    """Return required node affinity to a zone."""
    return {"affinity": {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [_in_zone(zone)]}}}}


def rather_in(zone: str) -> Object:
    """Return preferred node affinity to a zone."""
    return {"affinity": {"nodeAffinity": {_PREFERRED: [{"weight": 50, "preference": _in_zone(zone)}]}}}


def _in_zone(zone: str) -> Object:
    return {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}
