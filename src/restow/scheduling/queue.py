"""Which pods wait to be scheduled, and in which order.

A scheduler takes pods without a node that name one of its profiles. A pod of higher priority comes first, then the
older one. kube-scheduler goes by when it first saw a pod, which a snapshot does not tell; creation is what comes
closest. Source: PrioritySort and SchedulingGates, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from restow.cluster.pod_intake import DEFAULT_SCHEDULER
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState


@dataclass(slots=True, frozen=True)
class Queue:
    """The waiting pods of one state."""

    #: In the order in which they are scheduled.
    pods: tuple[int, ...]
    #: Pods that may not be scheduled yet, and why.
    gated: Mapping[int, str]


def waiting_pods(state: ClusterState, schedulers: Collection[str] = (DEFAULT_SCHEDULER,)) -> Queue:
    """The pods that have no node, are not over or on their way out, and name one of some schedulers."""
    pods = state.cluster.pods
    wanted = np.array([name in schedulers for name in pods.tables.schedulers], dtype=bool)[pods.schedulers]
    waiting = np.flatnonzero(wanted & state.holds_resources() & (state.node == PENDING) & ~state.terminating)
    ordered = waiting[np.lexsort((pods.created[waiting], -pods.priority[waiting]))].tolist()
    gates = {pod: pods.tables.gates[pods.gates[pod]] for pod in ordered}
    return Queue(
        pods=tuple(pod for pod in ordered if not gates[pod]),
        gated={pod: f"waiting for scheduling gates: [{' '.join(names)}]" for pod, names in gates.items() if names},
    )
