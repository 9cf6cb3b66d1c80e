"""Where the volumes of a pod live, as far as a dump tells."""

from __future__ import annotations

from dataclasses import dataclass

from restow.cluster.snapshot import Cluster
from restow.kube.objects import PersistentVolume, PersistentVolumeClaim

_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


@dataclass(slots=True, frozen=True)
class MountedClaim:
    """A claim that a pod mounts, its volume, and the zones of that; no zones where it does not say."""

    name: str
    volume: str
    zones: tuple[str, ...]


def mounted_claims(cluster: Cluster, pod: int) -> list[MountedClaim]:
    """The claims of a pod that have a volume, in the order of its spec."""
    pods = cluster.pods
    namespace = pods.tables.namespaces[pods.namespace[pod]]
    found = []
    for mounted in pods.tables.volumes[pods.volumes[pod]]:
        claim: PersistentVolumeClaim | None = cluster.kind("PersistentVolumeClaim").get((namespace, mounted.claim))
        volume = cluster.kind("PersistentVolume").get(("", claim.spec.volume_name)) if claim else None
        if volume is not None:
            found.append(MountedClaim(mounted.claim, volume.metadata.name, _zones(volume)))
    return found


def _zones(volume: PersistentVolume) -> tuple[str, ...]:
    labels = volume.metadata.labels or {}
    named = [labels[key] for key in _ZONES if key in labels]
    affinity = volume.spec.node_affinity
    terms = (affinity.required.node_selector_terms or ()) if affinity and affinity.required else ()
    for term in terms:
        for each in term.match_expressions or ():
            if each.key in _ZONES and each.operator == "In":
                named += each.values or ()
    return tuple(dict.fromkeys(named))
