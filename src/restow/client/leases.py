"""A Lease of coordination.k8s.io/v1 as leader election uses it: read, created and replaced with optimistic concurrency.

Metadata is kept whole, so that a replacement loses none of the labels that others have set.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from msgspec import Struct

from restow.client import objects
from restow.client.errors import NotFound
from restow.client.resources import LEASES
from restow.client.transport import Api


class LeaseSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Who leads, and for how long the others wait after a renewal that they saw."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None
    preferred_holder: str | None = None
    strategy: str | None = None


class Lease(Struct, frozen=True, rename="camel"):
    """A coordination.k8s.io/v1 Lease."""

    metadata: dict[str, Any]
    spec: LeaseSpec = LeaseSpec()
    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"


class Lock(Protocol):
    """Where the lease is kept; ``LeaseLock`` in a cluster."""

    async def get(self) -> Lease | None:
        """The lease, None if there is none yet."""

    async def create(self, spec: LeaseSpec) -> Lease:
        """A new lease; Conflict if another process was quicker."""

    async def update(self, lease: Lease, spec: LeaseSpec) -> Lease:
        """The lease with another spec; Conflict if it is no longer the one that was read."""


@dataclass(slots=True, frozen=True)
class LeaseLock:
    """A lease in the cluster."""

    api: Api
    namespace: str
    name: str

    async def get(self) -> Lease | None:
        """The lease, None if there is none yet."""
        try:
            return await objects.get(self.api, LEASES, self.namespace, self.name, Lease)
        except NotFound:
            return None

    async def create(self, spec: LeaseSpec) -> Lease:
        """A new lease; Conflict if another process was quicker."""
        return await objects.create(self.api, LEASES, self.namespace, Lease({"name": self.name}, spec))

    async def update(self, lease: Lease, spec: LeaseSpec) -> Lease:
        """The lease with another spec; Conflict if it is no longer the one that was read."""
        return await objects.replace(self.api, LEASES, self.namespace, self.name, Lease(lease.metadata, spec))


def micro_time(seconds: float) -> str:
    """Seconds since the epoch as the API's MicroTime."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
