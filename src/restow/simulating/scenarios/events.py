"""What happens at a time: what a person, or the world, does to a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from restow.documents.findings import Path
from restow.kube.manifests import Manifest
from restow.kube.objects import Taint
from restow.simulating.scenarios.references import NodeChoice, Reference
from restow.simulating.store import BACKGROUND


@dataclass(slots=True, frozen=True)
class Apply:
    """Create objects, or change them as written."""

    manifests: tuple[Manifest, ...]


@dataclass(slots=True, frozen=True)
class Delete:
    """An object is deleted."""

    target: Reference
    #: What happens to its dependents.
    propagation: str = BACKGROUND


@dataclass(slots=True, frozen=True)
class ScaleWorkload:
    """Set the replicas of a workload."""

    target: Reference
    replicas: int


@dataclass(slots=True, frozen=True)
class SetLabels:
    """Labels of an object are set; those with None are removed."""

    target: Reference
    labels: Mapping[str, str | None]


@dataclass(slots=True, frozen=True)
class SetImage:
    """Containers of a workload or a pod get new images, by the names of the containers."""

    target: Reference
    images: Mapping[str, str]


@dataclass(slots=True, frozen=True)
class SetUsage:
    """Set what a pod, each pod of a workload, or a node uses of each resource from now on: quantities as text."""

    target: Reference
    usage: Mapping[str, str]


@dataclass(slots=True, frozen=True)
class AddTaints:
    """Nodes are tainted."""

    nodes: NodeChoice
    taints: tuple[Taint, ...]


@dataclass(slots=True, frozen=True)
class RemoveTaints:
    """Nodes lose the taints of these keys, of an effect or (empty) of any."""

    nodes: NodeChoice
    taints: tuple[Taint, ...]


@dataclass(slots=True, frozen=True)
class Cordon:
    """Nodes take no more pods."""

    nodes: NodeChoice


@dataclass(slots=True, frozen=True)
class Uncordon:
    """Nodes take pods again."""

    nodes: NodeChoice


@dataclass(slots=True, frozen=True)
class Drain:
    """Nodes are cordoned and their pods evicted, one try after the other, as disruption budgets allow."""

    nodes: NodeChoice


@dataclass(slots=True, frozen=True)
class FailNode:
    """Nodes fall silent: their kubelets say nothing more and end nothing."""

    nodes: NodeChoice


@dataclass(slots=True, frozen=True)
class RestartNode:
    """Restart nodes, after a failure or without one: every pod on them starts again."""

    nodes: NodeChoice


#: The actions on nodes that say nothing but which.
OnNodes = Cordon | Uncordon | Drain | FailNode | RestartNode
Action = Apply | Delete | ScaleWorkload | SetLabels | SetImage | SetUsage | AddTaints | RemoveTaints | OnNodes


@dataclass(slots=True, frozen=True)
class TimedEvent:
    """An action at a time, in nanoseconds since the start of the run."""

    at: int
    #: As it is written, such as ``failNode``.
    word: str
    action: Action
    #: Where it stands in the scenario.
    place: Path = ()
