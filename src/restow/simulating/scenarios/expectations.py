"""What is expected of a run: a statement about the cluster, and when it has to hold.

A statement is a number that the cluster has at every moment (ready pods of a Deployment, nodes in use, evictions so
far) and its bounds. An expectation says at which moments of the run the statement holds: ``eventually``, ``always`` or
``never``. All times are nanoseconds since the start of the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from restow.documents.findings import Path
from restow.kube.labels import EVERYTHING, Selector
from restow.simulating.scenarios.references import NodeChoice, Reference

Modality = Literal["eventually", "always", "never"]

#: ``any`` pod that is neither over nor being deleted, and which of these.
PodState = Literal["any", "pending", "scheduled", "running", "ready", "unready", "terminating", "succeeded", "failed"]
#: ``any`` node, and which of them; ``used`` nodes hold a pod that no DaemonSet put there.
NodeState = Literal["any", "ready", "unready", "cordoned", "used", "empty"]


@dataclass(slots=True, frozen=True)
class PodCount:
    """How many pods there are."""

    state: PodState = "any"
    labels: Selector = EVERYTHING
    #: The controller that they belong to, directly or through another one.
    of: Reference | None = None
    namespace: str | None = None
    #: Where they are; None is anywhere, or nowhere yet.
    on: NodeChoice | None = None
    #: Instead of their number: how many more are in the fullest domain of this label of nodes than in the emptiest.
    skew_across: str | None = None


@dataclass(slots=True, frozen=True)
class NodeCount:
    """How many nodes there are."""

    state: NodeState = "any"
    labels: Selector = EVERYTHING


@dataclass(slots=True, frozen=True)
class EvictionCount:
    """How many pods have been evicted since the run began, by any actor."""

    labels: Selector = EVERYTHING
    of: Reference | None = None
    namespace: str | None = None
    #: The strategy or the actor that evicted them, such as ``RemoveDuplicates`` or ``drain``; None is any.
    by: str | None = None


@dataclass(slots=True, frozen=True)
class Spread:
    """How unevenly nodes are full: the standard deviation of what pods request of each, as a share of allocatable."""

    resource: str
    labels: Selector = EVERYTHING


@dataclass(slots=True, frozen=True)
class LoopCount:
    """How many workloads have gone round in a loop since the run began."""

    of: Reference | None = None
    namespace: str | None = None


Measure = PodCount | NodeCount | EvictionCount | LoopCount | Spread


@dataclass(slots=True, frozen=True)
class Statement:
    """A number of the cluster, and what it must be; None is no bound."""

    measure: Measure
    at_least: float | None = None
    at_most: float | None = None

    def holds(self, number: float) -> bool:
        """Whether the number is within the bounds."""
        low = self.at_least is None or number >= self.at_least
        return low and (self.at_most is None or number <= self.at_most)


@dataclass(slots=True, frozen=True)
class Expectation:
    """A statement and the moments at which it has to hold.

    Looked at is the time from ``after`` to ``until``, both included; None is the end of the run. A statement that holds
    for less than ``hold`` without a break does not count as holding.
    """

    #: As it stands in the file, for people.
    text: str
    modality: Modality
    statement: Statement
    after: int = 0
    until: int | None = None
    hold: int = 0
    #: Where it stands in the scenario.
    place: Path = ()
