"""Which pods wait to be scheduled, and in which order.

A scheduler takes pods without a node that name one of its profiles, and skips those with ``schedulingGates``. Higher
priority comes first, then the older pod. kube-scheduler goes by when it first saw a pod, which a snapshot does not
record; the creation time comes closest. Source: PrioritySort and SchedulingGates, Kubernetes 1.36.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from restow.cluster.interning import BoolArray
from restow.cluster.pod_reading import DEFAULT_SCHEDULER
from restow.cluster.pods import PENDING
from restow.cluster.state import ClusterState


@dataclass(slots=True, frozen=True)
class Queue:
    """The waiting pods of one state."""

    #: In the order in which they are scheduled.
    pods: tuple[int, ...]
    #: Pods that may not be scheduled yet, and why.
    gated: Mapping[int, str]


def waiting_pods(
    state: ClusterState, schedulers: Collection[str] = (DEFAULT_SCHEDULER,), ignores_gates: Collection[str] = ()
) -> Queue:
    """The pods that have no node, are not over or on their way out, and name one of some schedulers.

    ``ignores_gates`` are those of the schedulers that run without SchedulingGates.
    """
    pods = state.cluster.pods
    waiting = pods.where(_naming(state, schedulers) & _waits(state))
    ordered = waiting[np.lexsort((pods.created[waiting], -pods.priority[waiting]))].tolist()
    gates = {pod: pods.tables.gates[pods.gates[pod]] for pod in ordered}
    if ignores_gates:
        ignored = _naming(state, ignores_gates)
        gates = {pod: () if ignored[pod] else names for pod, names in gates.items()}
    return Queue(
        pods=tuple(pod for pod in ordered if not gates[pod]),
        gated={pod: why for pod, names in gates.items() if (why := held_by_gates(names)) is not None},
    )


def held_by_gates(gates: Collection[str]) -> str | None:
    """Why a pod with these scheduling gates may not be scheduled yet; None where it has none."""
    return f"waiting for scheduling gates: [{' '.join(gates)}]" if gates else None


def waiting_for_others(state: ClusterState, schedulers: Collection[str]) -> list[int]:
    """The pods that wait and name none of some schedulers, in order of their names."""
    waiting: list[int] = state.cluster.pods.where(~_naming(state, schedulers) & _waits(state)).tolist()
    return waiting


def _naming(state: ClusterState, schedulers: Collection[str]) -> BoolArray:
    pods = state.cluster.pods
    return np.array([name in schedulers for name in pods.tables.schedulers], dtype=bool)[pods.schedulers]


def _waits(state: ClusterState) -> BoolArray:
    waits: BoolArray = state.holds_resources() & (state.node == PENDING) & ~state.terminating
    return waits
