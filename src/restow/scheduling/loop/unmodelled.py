"""What a pod asks for that restow does not model: no node is named for it.

A plan refuses the move, ``schedule`` and a simulation leave the pod pending, and the scheduler daemon leaves it to
others, all with the same reason. Ignoring the rule would be a guess with a node's name on it.
"""

from __future__ import annotations

from typing import Final

from restow.cluster.pod_values import Flag
from restow.cluster.pods import Pods
from restow.scheduling.framework.extension_points import Outcome
from restow.scheduling.framework.verdicts import PluginRejection

#: Of pods with ``spec.resourceClaims``: restow neither reads claims, slices and device classes nor allocates devices.
#: Source: DynamicResources, Kubernetes 1.36.
_CLAIMS: Final = PluginRejection(
    "DynamicResources", Outcome(("it claims dynamic resources, which restow does not model",), unresolvable=True)
)


def unmodelled(pods: Pods, pod: int) -> PluginRejection | None:
    """The plugin whose rules restow does not model and that would decide about a pod, and why; None if there is none."""
    return _CLAIMS if pods.carries(pod, Flag.RESOURCE_CLAIMS) else None
