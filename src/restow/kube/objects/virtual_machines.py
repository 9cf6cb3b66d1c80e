"""VirtualMachineInstanceMigration of KubeVirt: which virtual machines are on their way from node to node, or were lately."""

from __future__ import annotations

from msgspec import Struct

from restow.kube.objects.metadata import ObjectMeta


class MigrationSpec(Struct, frozen=True, gc=False, rename="camel"):
    """Spec of a migration."""

    #: The VirtualMachineInstance, in the same namespace.
    vmi_name: str = ""


class MigrationState(Struct, frozen=True, gc=False, rename="camel"):
    """When a migration began and ended."""

    start_timestamp: str | None = None
    end_timestamp: str | None = None


class MigrationStatus(Struct, frozen=True, gc=False, rename="camel"):
    """Status of a migration."""

    phase: str = ""
    migration_state: MigrationState | None = None


class VirtualMachineInstanceMigration(Struct, frozen=True, gc=False):
    """A kubevirt.io/v1 VirtualMachineInstanceMigration."""

    metadata: ObjectMeta = ObjectMeta()
    spec: MigrationSpec = MigrationSpec()
    status: MigrationStatus = MigrationStatus()
