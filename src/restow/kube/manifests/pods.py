"""Pod: the whole spec as JSON, and the status that schedulers, kubelets and controllers write."""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from restow.kube.manifests.metadata import Metadata
from restow.kube.objects import Condition, Int32
from restow.kube.objects.pods import ContainerState

_MIRROR: Final = "kubernetes.io/config.mirror"


class ContainerStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The status of one container."""

    name: str = ""
    ready: bool = False
    restart_count: Int32 = 0
    state: ContainerState | None = None


class PodStatus(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Status of a Pod."""

    phase: str = ""
    reason: str | None = None
    message: str | None = None
    qos_class: str | None = None
    start_time: str | None = None
    nominated_node_name: str | None = None
    conditions: tuple[Condition, ...] | None = None
    container_statuses: tuple[ContainerStatus, ...] | None = None


class Pod(Struct, frozen=True, omit_defaults=True):
    """A v1 Pod."""

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
