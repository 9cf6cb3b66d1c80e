"""What draining a node would come to: the document of ``restow explain node NAME --drain -o json``."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from restow.descheduling.plan import API_VERSION

#: How the drain ends for an evicted pod: its replacement is on another node, has no node yet, or there is none.
DrainOutcome = Literal["moved", "waiting", "unreplaced"]
#: Why a pod is still on the node: a drain leaves it there, or its eviction is refused.
StayReason = Literal["belongs", "refused"]


class DrainedPod(Struct, frozen=True, rename="camel"):
    """A pod that is evicted, ``at`` seconds after the drain has begun."""

    at: float
    pod: str
    workload: str
    outcome: DrainOutcome
    replacement: str
    #: Empty if it waits for a node.
    to: str
    #: Why no node takes the replacement, in the scheduler's words; empty if one does.
    message: str = ""


class StayingPod(Struct, frozen=True, rename="camel"):
    """A pod that is on the node at the end."""

    pod: str
    reason: StayReason
    message: str


class WorkloadCost(Struct, frozen=True, rename="camel"):
    """For how many seconds a workload has fewer ready pods than it wants, in all and at a time."""

    workload: str
    evicted: int
    below_seconds: float
    longest_below_seconds: float


class NodeDrain(Struct, frozen=True, kw_only=True, rename="camel"):
    """A drain that was simulated, for ``seconds`` of virtual time."""

    api_version: str = API_VERSION
    kind: str = "NodeDrain"
    node: str
    seconds: float
    pods: tuple[DrainedPod, ...] = ()
    staying: tuple[StayingPod, ...] = ()
    workloads: tuple[WorkloadCost, ...] = ()

    @property
    def refused(self) -> tuple[StayingPod, ...]:
        """The pods that keep the node from being empty."""
        return tuple(each for each in self.staying if each.reason == "refused")
