"""Containers of a pod, and what is reported of them."""

from __future__ import annotations

from msgspec import Raw, Struct, field

from restow.kube.objects.wire import ABSENT, Int32, WireQuantity


class ResourceRequirements(Struct, frozen=True, gc=False):
    """``resources`` of a container or of a pod."""

    requests: dict[str, WireQuantity] | None = None
    limits: dict[str, WireQuantity] | None = None


class ContainerPort(Struct, frozen=True, gc=False, rename="camel"):
    """A port of a container; only host ports matter to scheduling."""

    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = field(default="", name="hostIP")
    protocol: str = "TCP"


class Container(Struct, frozen=True, gc=False, rename="camel"):
    """A regular or init container. ``resources`` decodes to ResourceRequirements, ``ports`` to ContainerPort list."""

    name: str = ""
    image: str = ""
    resources: Raw = ABSENT
    ports: Raw = ABSENT
    restart_policy: str | None = None


class ContainerStateWaiting(Struct, frozen=True, gc=False):
    """``state.waiting``."""

    reason: str | None = None


class ContainerStateTerminated(Struct, frozen=True, gc=False, rename="camel"):
    """``state.terminated``."""

    reason: str | None = None
    exit_code: Int32 = 0


class ContainerState(Struct, frozen=True, gc=False):
    """The current state of a container; ``lastState`` is never consulted."""

    waiting: ContainerStateWaiting | None = None
    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Struct, frozen=True, gc=False, rename="camel"):
    """One entry of the three container status lists."""

    restart_count: Int32 = 0
    state: ContainerState | None = None


class ContainerReport(ContainerStatus, frozen=True, gc=False, rename="camel"):
    """The same with what the container has, which the loader interns; it may differ from the spec while a pod is resized.

    ``resources`` decodes to ResourceRequirements, ``allocated_resources`` to a map of quantities.
    """

    name: str = ""
    resources: Raw = ABSENT
    allocated_resources: Raw = ABSENT
