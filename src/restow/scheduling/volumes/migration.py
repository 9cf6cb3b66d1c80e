"""Volumes of drivers that were built into Kubernetes, as nodes see them where a CSI driver took over.

Such a volume tells its zone by Kubernetes' own label, in its node affinity or in its labels; the CSI driver asks for a
label of its own on the node instead. Which drivers were replaced on a node stands in an annotation of its CSINode.
Source: csi-translation-lib and VolumeBinding, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import structs

from restow.cluster.interning import BoolArray
from restow.cluster.snapshot import Cluster
from restow.kube.objects import CSINode, LabelSelectorRequirement, NodeSelector, NodeSelectorTerm, PersistentVolume

_ZONE, _REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
_BETA_ZONE, _BETA_REGION = "failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"
#: The label that tells the zone to a driver's successor, by the field of the volume.
_ZONE_LABELS = {
    "gce_persistent_disk": ("kubernetes.io/gce-pd", "topology.gke.io/zone"),
    "aws_elastic_block_store": ("kubernetes.io/aws-ebs", "topology.ebs.csi.aws.com/zone"),
    "cinder": ("kubernetes.io/cinder", "topology.cinder.csi.openstack.org/zone"),
}


class Migration:
    """On which nodes of a cluster which built-in drivers are replaced."""

    def __init__(self, cluster: Cluster) -> None:
        self._nodes = cluster.nodes
        self._known: dict[str, BoolArray] = {}
        self._replaced: dict[int, frozenset[str]] = {
            self._nodes.index[node.metadata.name]: _replaced(node)
            for node in cluster.kind("CSINode").values()
            if node.metadata.name in self._nodes.index
        }

    def of(self, volume: PersistentVolume) -> tuple[BoolArray, NodeSelector | None] | None:
        """The nodes that see a volume as one of a CSI driver, bool[node], and which nodes that volume admits.

        None where no node does, or where that changes nothing.
        """
        for field, (driver, zone_label) in _ZONE_LABELS.items():
            if getattr(volume.spec, field) is not None:
                nodes = self._on(driver)
                return (nodes, translated(volume, zone_label)) if nodes.any() else None
        return None

    def _on(self, driver: str) -> BoolArray:
        known = self._known.get(driver)
        if known is None:
            known = self._known[driver] = np.zeros(len(self._nodes), dtype=bool)
            known[[node for node, drivers in self._replaced.items() if driver in drivers]] = True
        return known


def translated(volume: PersistentVolume, zone_label: str) -> NodeSelector | None:
    """The required node affinity of a volume, with the successor's label for its zone."""
    affinity = volume.spec.node_affinity
    terms = (affinity.required.node_selector_terms if affinity and affinity.required else None) or ()
    labels = volume.metadata.labels or {}
    named = {each.key for each in _expressions(terms)}
    known = next((key for source in (named, labels) for key in (_ZONE, _BETA_ZONE) if key in source), _ZONE)
    if any(each.values for each in _expressions(terms) if each.key == known):
        terms = _renamed(terms, known, zone_label)
    elif zones := sorted({zone.strip() for zone in labels.get(known, "").split("__")} - {""}):
        wanted = LabelSelectorRequirement(zone_label, "In", tuple(zones))
        terms = tuple(
            structs.replace(term, match_expressions=(*(term.match_expressions or ()), wanted))
            for term in terms or (NodeSelectorTerm(),)
        )
    if known == _BETA_ZONE:
        terms = _renamed(terms, _BETA_REGION, _REGION)
    return NodeSelector(terms) if terms or (affinity and affinity.required) else None


def _expressions(terms: tuple[NodeSelectorTerm, ...]) -> Iterator[LabelSelectorRequirement]:
    return (each for term in terms for each in term.match_expressions or ())


def _renamed(terms: tuple[NodeSelectorTerm, ...], old: str, new: str) -> tuple[NodeSelectorTerm, ...]:
    return tuple(
        structs.replace(
            term,
            match_expressions=tuple(
                structs.replace(each, key=new) if each.key == old else each for each in term.match_expressions or ()
            ),
        )
        for term in terms
    )


def _replaced(node: CSINode) -> frozenset[str]:
    annotations = node.metadata.annotations
    return frozenset(((annotations and annotations.migrated_plugins) or "").split(","))
