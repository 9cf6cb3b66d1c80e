"""Which replacements can be steered to a node that the plan chooses, and which refusals steering may lift.

Nominating holds a new pod back by a scheduling gate until it is nominated for its target. An admission policy or a webhook
gives the gate to new pods whose controller is named in advance by its uid, the first owner reference. So it must be known
which new pod is the replacement, and only that controller may create it. Not steered are pods without a controller, of a
DaemonSet (their node is given), of a Node (mirror pods), and of schedulers whose rules are not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from restow.cluster.snapshot import Cluster
from restow.kube.objects import OwnerReference
from restow.policies.codes import RefusalCode, SteeringMode

#: The effect of the taint with which nodes are fenced.
FENCE_EFFECTS: Final[Mapping[SteeringMode, str]] = {
    SteeringMode.FENCE: "NoSchedule",
    SteeringMode.PREFER: "PreferNoSchedule",
}

#: Refusals for which the scheduler's choice is the reason, so that steering may answer them.
FOR_STEERING: Final = frozenset(
    {RefusalCode.NOT_CERTAIN, RefusalCode.HARMFUL, RefusalCode.NO_GAIN, RefusalCode.SAME_NODE}
)

_LEFT_ALONE = frozenset({"DaemonSet", "Node"})


class Steerable:
    """Which pods of one cluster have replacements that can be steered."""

    def __init__(self, cluster: Cluster, steering: SteeringMode) -> None:
        self._pods = cluster.pods
        self._nominates = steering == SteeringMode.NOMINATE

    def knows(self, pod: int) -> bool:
        """Whether the replacement of a pod can be steered."""
        return self._nominates and can_be_named(self._pods.tables.owners[self._pods.owners[pod]])


def can_be_named(owners: Sequence[OwnerReference]) -> bool:
    """Whether the first owner is the controller, of a kind that creates pods for any node."""
    return bool(owners) and bool(owners[0].controller) and bool(owners[0].uid) and owners[0].kind not in _LEFT_ALONE
