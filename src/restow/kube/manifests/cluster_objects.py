"""Node, Namespace, PriorityClass, PodDisruptionBudget; and other kinds, whose content no rule reads."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from restow.kube import objects
from restow.kube.manifests.metadata import Metadata
from restow.kube.objects import Int32, Int64
from restow.kube.objects.namespaces import PodDisruptionBudgetSpec
from restow.kube.objects.namespaces import PodDisruptionBudgetStatus as ReadBudgetStatus
from restow.kube.objects.nodes import NodeSpec


class Node(Struct, frozen=True, omit_defaults=True):
    """A v1 Node."""

    metadata: Metadata = Metadata()
    spec: NodeSpec = NodeSpec()
    status: objects.NodeStatus = objects.NodeStatus()


class Namespace(Struct, frozen=True, omit_defaults=True):
    """A v1 Namespace."""

    metadata: Metadata = Metadata()


class PriorityClass(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A scheduling.k8s.io/v1 PriorityClass."""

    metadata: Metadata = Metadata()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str | None = None


class PodDisruptionBudgetStatus(ReadBudgetStatus, frozen=True, rename="camel", omit_defaults=True):
    """Status of a policy/v1 PodDisruptionBudget."""

    observed_generation: Int64 = 0
    conditions: tuple[objects.Condition, ...] | None = None


class PodDisruptionBudget(Struct, frozen=True, omit_defaults=True):
    """A policy/v1 PodDisruptionBudget."""

    metadata: Metadata = Metadata()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class Other(Struct, frozen=True, omit_defaults=True):
    """An object of a kind that no controller here reads: its own fields stay as they are."""

    kind: str = ""
    metadata: Metadata = Metadata()
    content: dict[str, Any] = {}
