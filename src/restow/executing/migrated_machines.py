"""The virtual machines of migrations: what speaks against moving one, and the object by which KubeVirt is asked to.

KubeVirt migrates a machine when somebody creates a VirtualMachineInstanceMigration, and tells in its status how that goes.
Its webhook refuses the object where the machine cannot be migrated, or is being migrated already. restow looks at the machine
before, so that nothing is written in vain, and passes on what the webhook says.
Source: VirtualMachineInstanceMigration and its admission, KubeVirt 1.7.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

from msgspec import Struct

from restow.client import objects
from restow.client.errors import BadRequest, Conflict, Forbidden, NotFound, missing_right
from restow.client.resources import MIGRATIONS, VIRTUAL_MACHINE_INSTANCES, ApiResource
from restow.client.transport import Api, Permit
from restow.errors import ClientError
from restow.executing.task import Task

T = TypeVar("T")

#: The label of restow's migrations; its value is the uid of the launcher that moves.
LABEL: Final = "restow.dev/migration"
_MACHINE: Final = VIRTUAL_MACHINE_INSTANCES.kind
#: Phases of machines and migrations.
_RUNNING, _SUCCEEDED, _FAILED = "Running", "Succeeded", "Failed"
_LIVE_MIGRATABLE: Final = "LiveMigratable"
#: The reason of a refusal by a server that knows the kind, but not the object.
_NO_OBJECT: Final = "NotFound"


class MigrationRefusedError(Exception):
    """Why a virtual machine is not migrated, as one clause for people."""


class _Metadata(Struct, frozen=True, rename="camel"):
    uid: str = ""
    deletion_timestamp: str | None = None


class _Condition(Struct, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class _State(Struct, frozen=True, rename="camel"):
    """How a migration went: the last one of a machine, or one that is known by its object."""

    migration_uid: str = ""
    completed: bool = False
    failed: bool = False
    failure_reason: str = ""


class _Status(Struct, frozen=True, rename="camel"):
    phase: str = ""
    conditions: tuple[_Condition, ...] = ()
    migration_state: _State = _State()


class MachineNow(Struct, frozen=True):
    """A virtual machine as it is."""

    metadata: _Metadata = _Metadata()
    status: _Status = _Status()


class MigrationNow(Struct, frozen=True):
    """A migration as it is."""

    metadata: _Metadata = _Metadata()
    status: _Status = _Status()

    @property
    def is_over(self) -> bool:
        """Whether it has succeeded or failed."""
        return self.has_succeeded or self.has_failed

    @property
    def has_succeeded(self) -> bool:
        """Whether the machine runs in its new launcher."""
        return self.status.phase == _SUCCEEDED

    @property
    def has_failed(self) -> bool:
        """Whether the machine has stayed where it was."""
        return self.status.phase == _FAILED

    @property
    def why(self) -> str:
        """The reason of a failure, for the end of a sentence; empty if KubeVirt says none."""
        reason = self.status.migration_state.failure_reason
        return f": {reason}" if reason else ""


class LiveMigration(Struct, frozen=True):
    """A migration that restow has asked for."""

    namespace: str
    name: str
    #: The machine.
    machine: str
    #: The uid of the launcher that moves.
    launcher: str

    def __str__(self) -> str:
        return f"VirtualMachineInstanceMigration {self.namespace}/{self.name}"

    @property
    def manifest(self) -> dict[str, Any]:
        """What KubeVirt is asked for."""
        return {
            "apiVersion": f"{MIGRATIONS.group}/{MIGRATIONS.version}",
            "kind": MIGRATIONS.kind,
            "metadata": {"name": self.name, "namespace": self.namespace, "labels": {LABEL: self.launcher}},
            "spec": {"vmiName": self.machine},
        }


async def migration_of(api: Api, task: Task, number: int) -> LiveMigration:
    """The migration to ask for; MigrationRefusedError if its machine is none that KubeVirt can migrate now.

    The name holds the launcher's uid and a number, so a second try after a failure has another one.
    """
    owner, pod = task.owner, task.move.pod
    if owner is None or owner.kind != _MACHINE:
        raise MigrationRefusedError(f"a {owner.kind if owner else 'pod without a controller'} is not migrated")
    found = await _read(api, VIRTUAL_MACHINE_INSTANCES, pod.namespace, owner.name, MachineNow)
    why = "is another one by now" if found.metadata.uid != owner.uid else reason_against(found)
    if why is not None:
        raise MigrationRefusedError(f"its {_MACHINE} {owner.name} {why}")
    return LiveMigration(pod.namespace, f"restow-{pod.uid}-{number}", owner.name, pod.uid)


def reason_against(found: MachineNow) -> str | None:
    """Why a virtual machine is not migrated, as it is; None if nothing speaks against it."""
    status, last = found.status, found.status.migration_state
    if found.metadata.deletion_timestamp is not None:
        return "is being deleted"
    if status.phase != _RUNNING:
        return f"is not running, but {status.phase or 'new'}"
    against = next(
        (each for each in status.conditions if each.type == _LIVE_MIGRATABLE and each.status == "False"), None
    )
    if against is not None:
        told = ": ".join(filter(None, (against.reason, against.message)))
        return f"cannot be migrated live{f' ({told})' if told else ''}"
    is_under_way = last.migration_uid and not (last.completed or last.failed)
    return "is being migrated already" if is_under_way else None


async def ask_for(api: Api, migration: LiveMigration, permit: Permit) -> None:
    """Create the migration; MigrationRefusedError if it was not created, another ClientError if that is not known."""
    try:
        await objects.create(api, MIGRATIONS, migration.namespace, migration.manifest, permit=permit)
    except Forbidden as error:
        raise MigrationRefusedError(missing_right(error, MIGRATIONS, ("create",))) from error
    except NotFound as error:
        raise MigrationRefusedError(_missing(error, MIGRATIONS, f"namespace {migration.namespace}")) from error
    except (BadRequest, Conflict) as error:
        raise MigrationRefusedError(f"its {_MACHINE} {migration.machine} is not migrated: {error.message}") from error


async def migration_now(api: Api, migration: LiveMigration) -> MigrationNow:
    """How a migration goes; MigrationRefusedError if it is gone, or if restow may not see it."""
    return await _read(api, MIGRATIONS, migration.namespace, migration.name, MigrationNow)


async def cancel(api: Api, migration: LiveMigration, permit: Permit) -> None:
    """Delete a migration, so that KubeVirt aborts it; ClientError names the right that is missing.

    KubeVirt keeps the object until it has ended the migration. If that has gone too far, the machine moves nevertheless.
    """
    try:
        await objects.delete(api, MIGRATIONS, migration.namespace, migration.name, permit=permit)
    except NotFound:
        return
    except Forbidden as error:
        raise ClientError(missing_right(error, MIGRATIONS, ("delete",))) from error


async def _read(api: Api, resource: ApiResource, namespace: str, name: str, type: type[T]) -> T:
    try:
        return await objects.get(api, resource, namespace, name, type)
    except Forbidden as error:
        raise MigrationRefusedError(missing_right(error, resource, ("get",))) from error
    except NotFound as error:
        raise MigrationRefusedError(_missing(error, resource, f"{resource.kind} {namespace}/{name}")) from error


def _missing(error: NotFound, resource: ApiResource, what: str) -> str:
    """What is not there: the object, or the whole kind."""
    if error.reason == _NO_OBJECT:
        return f"{what} is gone"
    return f"the cluster has no {resource.plural}.{resource.group}, so KubeVirt does not run there"
