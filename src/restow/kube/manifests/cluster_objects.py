"""Pod, Node, Namespace, PriorityClass, PodDisruptionBudget, with the metadata that all kinds have in common.

A Pod has its spec as JSON, and the status that schedulers, kubelets and controllers write. Kinds whose content no rule
reads are ``Other``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from restow.kube import objects
from restow.kube.objects import Condition, Int32, Int64, OwnerReference
from restow.kube.objects.cluster_objects import NodeSpec, PodDisruptionBudgetSpec
from restow.kube.objects.cluster_objects import PodDisruptionBudgetStatus as ReadBudgetStatus
from restow.kube.objects.pods import ContainerState

#: A JSON object that is never changed in place.
Json = Mapping[str, Any]


class Metadata(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The metadata of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: Int64 = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: Int64 | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: tuple[OwnerReference, ...] | None = None
    finalizers: tuple[str, ...] | None = None

    @property
    def controller(self) -> OwnerReference | None:
        """The owner that controls the object."""
        # Asked of every pod at every event; a generator would cost four times as much.
        for each in self.owner_references or ():
            if each.controller:
                return each
        return None

    @property
    def is_terminating(self) -> bool:
        """Whether its deletion has begun."""
        return self.deletion_timestamp is not None

    def annotation(self, name: str, default: str = "") -> str:
        """The value of an annotation."""
        return (self.annotations or {}).get(name, default)


class TemplateMetadata(Struct, frozen=True, omit_defaults=True):
    """The metadata that a template gives its pods."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: tuple[str, ...] | None = None


class PodTemplate(Struct, frozen=True, omit_defaults=True):
    """What the pods of a controller are made of."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: dict[str, Any] = {}


class Node(Struct, frozen=True, omit_defaults=True):
    metadata: Metadata = Metadata()
    spec: NodeSpec = NodeSpec()
    status: objects.NodeStatus = objects.NodeStatus()


class Namespace(Struct, frozen=True, omit_defaults=True):
    metadata: Metadata = Metadata()


class PriorityClass(Struct, frozen=True, rename="camel", omit_defaults=True):
    metadata: Metadata = Metadata()
    value: Int32 = 0
    global_default: bool = False
    preemption_policy: str | None = None


class PodDisruptionBudgetStatus(ReadBudgetStatus, frozen=True, rename="camel", omit_defaults=True):
    """Status of a policy/v1 PodDisruptionBudget."""

    observed_generation: Int64 = 0
    conditions: tuple[objects.Condition, ...] | None = None


class PodDisruptionBudget(Struct, frozen=True, omit_defaults=True):
    metadata: Metadata = Metadata()
    spec: PodDisruptionBudgetSpec = PodDisruptionBudgetSpec()
    status: PodDisruptionBudgetStatus = PodDisruptionBudgetStatus()


class Other(Struct, frozen=True, omit_defaults=True):
    """An object of a kind that no controller here reads: its own fields stay as they are."""

    kind: str = ""
    metadata: Metadata = Metadata()
    content: dict[str, Any] = {}


_MIRROR: Final = "kubernetes.io/config.mirror"


class ContainerStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The status of one container."""

    name: str = ""
    ready: bool = False
    restart_count: Int32 = 0
    state: ContainerState | None = None


class PodStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    phase: str = ""
    reason: str | None = None
    message: str | None = None
    qos_class: str | None = None
    start_time: str | None = None
    nominated_node_name: str | None = None
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class Pod(Struct, frozen=True, omit_defaults=True):
    metadata: Metadata = Metadata()
    spec: dict[str, Any] = {}
    status: PodStatus = PodStatus()

    @property
    def node(self) -> str:
        """The node that it is bound to; empty while it waits for one."""
        return self.spec.get("nodeName") or ""

    @property
    def is_over(self) -> bool:
        """Whether it has succeeded or failed."""
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def is_active(self) -> bool:
        """Whether it counts as there: not over, and not terminating."""
        return not self.is_over and not self.metadata.is_terminating

    @property
    def is_mirror(self) -> bool:
        """Whether a kubelet made it of a file."""
        return bool(self.metadata.annotation(_MIRROR))

    @property
    def ready_since(self) -> str | None:
        """Since when its condition Ready has been True; None if it is not."""
        for each in self.status.conditions or ():
            if each.type == "Ready":
                return each.last_transition_time if each.status == "True" else None
        return None
