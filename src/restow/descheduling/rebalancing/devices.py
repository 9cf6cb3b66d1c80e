"""Devices in the search: for each kind that claims ask for one column, with the devices of a node as its capacity.

What a pod's claims ask for moves with the pod, as its requests do; what others have of a node is its base load.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from restow.cluster.interning import BoolArray, IntArray
from restow.descheduling.framework import View
from restow.optimizing.problem import ReassignmentProblem
from restow.scheduling.devices.claims import SLICE, Claims
from restow.scheduling.devices.supply import DeviceSupply
from restow.scheduling.framework.context import Context


def device_supply(view: View) -> DeviceSupply | None:
    """The devices of a cluster; None where no pod asks for any."""
    if not view.state.cluster.kind(SLICE):
        return None
    supply = DeviceSupply(Claims(Context.of(view.state)), view.pods.where(view.state.exists).tolist())
    return supply if supply.kinds else None


def counted_as_devices(view: View, supply: DeviceSupply | None) -> IntArray:
    """The rows of resources for which devices are claimed, and that no node has."""
    names = () if supply is None else supply.resources
    rows = (view.state.cluster.nodes.resource(name) for name in names)
    return np.array([row for row in rows if row is not None], dtype=np.int64)


def free_to_move(supply: DeviceSupply | None, pods: IntArray) -> BoolArray:
    """Which pods no claim ties to their nodes, bool[len(pods)]."""
    if supply is None:
        return np.ones(len(pods), dtype=bool)
    return np.array([not supply.is_tied(pod) for pod in pods.tolist()], dtype=bool)


def with_devices(
    built: ReassignmentProblem, pods: IntArray, nodes: IntArray, supply: DeviceSupply | None
) -> ReassignmentProblem:
    """The problem with a column for each kind of device; ``pods`` are its processes and ``nodes`` its machines."""
    if supply is None:
        return built
    kinds = len(supply.kinds)
    usage = np.array([supply.wanted(pod) for pod in pods.tolist()], dtype=np.int64).reshape(-1, kinds)
    there = np.array([supply.on(node) for node in nodes.tolist()], dtype=np.int64).reshape(-1, kinds, 2)
    base = there[:, :, 1].copy()
    np.subtract.at(base, built.start, usage)
    return replace(
        built,
        usage=np.ascontiguousarray(np.hstack([built.usage, usage])),
        capacity=np.ascontiguousarray(np.hstack([built.capacity, there[:, :, 0]])),
        base=np.ascontiguousarray(np.hstack([built.base, np.maximum(base, 0)])),
        reserved=np.ascontiguousarray(np.hstack([built.reserved, np.zeros_like(base)])),
        transient=np.append(built.transient, np.zeros(kinds, dtype=bool)),
    )
