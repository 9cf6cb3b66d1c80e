"""What the annotations of a pod forbid Karpenter, the cluster autoscaler and deschedulers to do with it.

Each annotation is read as its own program reads it, so that a value which means nothing there means nothing here.
"""

from __future__ import annotations

from collections.abc import Iterable

from restow.cluster.pod_values import ALWAYS, NO_VETOES, PodVetoes
from restow.kube.duration import parse_duration
from restow.kube.objects import PodAnnotations, Volume

#: ``emptyDir.medium`` of volumes that are not on a disk.
_MEMORY = "Memory"


def vetoes_of(annotations: PodAnnotations, volumes: Iterable[Volume]) -> PodVetoes:
    """Return what these annotations forbid of a pod with these volumes."""
    if (
        annotations.do_not_disrupt is None
        and annotations.safe_to_evict is None
        and annotations.safe_local_volumes is None
        and annotations.eviction_in_progress is None
    ):
        return NO_VETOES
    vetoes = PodVetoes(
        do_not_disrupt=_protected_for(annotations.do_not_disrupt),
        unsafe_to_evict=annotations.safe_to_evict == "false",
        unsafe_volumes=_names_too_few(annotations, volumes),
        eviction_in_progress=annotations.eviction_in_progress is not None,
    )
    return NO_VETOES if vetoes == NO_VETOES else vetoes


def _protected_for(value: str | None) -> int:
    """Return how long after its start a pod must stay. Source: IsDoNotDisruptActive, Karpenter 1.9."""
    if value is None:
        return 0
    if value == "true":
        return ALWAYS
    try:
        return max(0, parse_duration(value))
    except ValueError:
        return 0


def _names_too_few(annotations: PodAnnotations, volumes: Iterable[Volume]) -> bool:
    """Whether some volumes are named as safe, and a local one is not. Source: drain, cluster autoscaler 1.34."""
    if not annotations.safe_local_volumes or annotations.safe_to_evict == "true":
        return False
    safe = annotations.safe_local_volumes.split(",")
    return any(_is_local(volume) and volume.name not in safe for volume in volumes)


def _is_local(volume: Volume) -> bool:
    return volume.host_path is not None or (volume.empty_dir is not None and volume.empty_dir.medium != _MEMORY)
