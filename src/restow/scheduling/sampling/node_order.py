"""The order in which kube-scheduler visits nodes: one of each zone in turn, so that any stretch of it spans the zones.

Zones come in the order in which their first node was added, nodes of a zone in the order in which they were added. The
input does not say when that was. restow adds nodes by name, as a scheduler does that lists them when it starts; nodes
that come later stand at the end of their zone until it starts again. Source: nodeTree and GetZoneKey, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from restow.cluster.interning import IntArray, Interner

#: The first label that a node has says it, even if it says nothing; the legacy one goes before its successor.
_REGION = ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region")
_ZONE = ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone")


def visiting_order(labels: Iterable[Mapping[str, str]]) -> IntArray:
    """The order to visit nodes in, as positions in the given order of adding: the first of every zone, then the second."""
    zones: Interner[tuple[str, str]] = Interner()
    zone: IntArray = np.fromiter((zones.id(_zone(node)) for node in labels), dtype=np.int64)
    by_zone = np.argsort(zone, kind="stable")
    first = np.searchsorted(zone[by_zone], zone)
    place = np.empty_like(zone)
    place[by_zone] = np.arange(len(zone))
    order: IntArray = np.lexsort((zone, place - first))
    return order


def _zone(labels: Mapping[str, str]) -> tuple[str, str]:
    return _first(labels, _REGION), _first(labels, _ZONE)


def _first(labels: Mapping[str, str], keys: tuple[str, ...]) -> str:
    return next((labels[key] for key in keys if key in labels), "")
