"""A cluster at one moment, as ``restow top`` shows it."""

from __future__ import annotations

from msgspec import Struct


class NodeNow(Struct, frozen=True):
    """One node: what is requested of it as a share of its room, and how many pods it runs."""

    name: str
    zone: str
    cpu: float
    memory: float
    pods: int
    #: ``cordoned`` and ``not ready``, if it is.
    state: tuple[str, ...]


class MovingPod(Struct, frozen=True):
    """A pod that something is under way with."""

    pod: str
    #: Empty if it has none.
    node: str
    #: ``ends``, ``waits behind restow's gate`` or ``waits for a node``.
    what: str


class ClusterNow(Struct, frozen=True):
    """A cluster at one moment; nodes by name."""

    origin: str
    nodes: tuple[NodeNow, ...]
    moving: tuple[MovingPod, ...]
    pods: int
    #: The standard deviation of the nodes' shares.
    cpu_spread: float
    memory_spread: float
