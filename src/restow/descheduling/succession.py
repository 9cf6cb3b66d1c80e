"""What happens after an eviction: whether a controller creates the pod again, and when.

A ReplicaSet or a Job counts a pod that terminates as gone and replaces it at once, so for a while both are there. A
StatefulSet cannot: the name is taken until the old pod has vanished. A pod without owner is lost, and one that is over
has been replaced, if at all, when it ended. Source: Kubernetes 1.36, the controllers' replacement policies.
"""

from __future__ import annotations

import enum

from restow.cluster.owners import owner_of
from restow.cluster.pods import Phase
from restow.cluster.snapshot import Cluster


class Succession(enum.Enum):
    """When a pod's replacement comes."""

    #: While the pod is still terminating.
    OVERLAPPING = "overlapping"
    #: Once the pod has vanished.
    AFTERWARDS = "afterwards"
    #: Never: the pod is over and was replaced long ago, or need not be.
    CLEARED = "cleared"
    #: Never: nobody knows how to create it.
    LOST = "lost"


#: Owners whose pods have names of their own that only one can have at a time.
_UNIQUE_NAMES = ("StatefulSet",)


def succession(cluster: Cluster, pod: int) -> Succession:
    """When the replacement of an observed pod would come."""
    owner = owner_of(cluster.pods, pod)
    over = cluster.pods.phase[pod] in (Phase.SUCCEEDED, Phase.FAILED)
    if owner is not None and owner.kind in _UNIQUE_NAMES:
        return Succession.AFTERWARDS
    if over:
        return Succession.CLEARED
    return Succession.LOST if owner is None else Succession.OVERLAPPING
