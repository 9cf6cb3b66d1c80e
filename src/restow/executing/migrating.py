"""Live migrations: KubeVirt moves a running virtual machine into a new pod, without an eviction.

A virtual machine that is evicted restarts, unless KubeVirt answers the eviction with a migration of its own, to a node that
nobody has planned. Here restow creates the migration (``executing.migrated_machines``). KubeVirt makes a second launcher with
the same owner, so it is steered and followed like any replacement. KubeVirt moves the machine and ends the old launcher,
which stays for a while as a pod that has succeeded.

A new launcher has the readiness gate ``kubevirt.io/virtual-machine-unpaused``, and KubeVirt opens it for the launcher that
runs the machine. So the pod is ready at the end of the migration, and ``restow.waitForReady`` limits the whole of it.
Where a launcher has no gate, it may be ready long before; ``finish`` waits for what is left of the migration then.
Source: KubeVirt 1.7.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from restow.client.errors import NotPermitted
from restow.client.transport import Api, Permit
from restow.cluster.pod_values import PodNow
from restow.errors import ClientError
from restow.executing.migrated_machines import (
    LiveMigration,
    MigrationRefusedError,
    ask_for,
    cancel,
    migration_now,
    migration_of,
)
from restow.executing.surroundings import Clock, elapsed
from restow.executing.task import Task

#: Seconds between two looks at a migration.
_WATCH: Final = 1.0
#: Seconds from when the new launcher is ready until the migration has succeeded.
_REST: Final = 300.0
#: No reason why a migration does not succeed.
_GOOD: Final = ""


@dataclass(slots=True)
class Migrating:
    """Live migrations through an API server; a ``ReplacesFirst``."""

    api: Api
    permit: Permit
    #: What time it is in the cluster.
    clock: Clock
    #: Logs a warning.
    warn: Callable[[str], None]
    #: By the number of the task.
    _open: dict[int, LiveMigration] = field(default_factory=dict, init=False)
    #: Those that were to be aborted, but could not be.
    _left: list[LiveMigration] = field(default_factory=list, init=False)

    async def begin(self, task: Task) -> Task | str:
        """Ask KubeVirt for the migration; return why there is none."""
        try:
            migration = await migration_of(self.api, task, int(self.clock()))
            self._open[task.number] = migration
            await ask_for(self.api, migration, self.permit)
        except (MigrationRefusedError, NotPermitted) as refused:
            self._open.pop(task.number, None)
            if isinstance(refused, NotPermitted):
                raise
            return str(refused)
        except ClientError as error:
            # The answer may be lost, and the migration under way.
            await self.undo(task, None)
            return f"its virtual machine is not migrated: {error}"
        return task

    async def taken_back(self, task: Task) -> str:
        """Look at the migration now and then, until it has failed or is gone."""
        migration = self._open[task.number]
        while True:
            await asyncio.sleep(_WATCH)
            if why := await self._end(migration):
                return why

    async def finish(self, task: Task, pod: PodNow) -> str | None:
        """Wait until the migration has succeeded: KubeVirt itself ends the old launcher."""
        migration, deadline = self._open[task.number], elapsed() + _REST
        while (end := await self._end(migration)) is None:
            if self.permit() <= 0:
                raise NotPermitted(f"{migration} is left to KubeVirt")
            if elapsed() > deadline:
                return f"{migration} was not over {_REST:.0f} s after {pod.name} was ready"
            await asyncio.sleep(_WATCH)
        if end == _GOOD:
            del self._open[task.number]
        return end or None

    async def _end(self, migration: LiveMigration) -> str | None:
        """``_GOOD`` if a migration has succeeded, or why it does not; None while that is open, or no answer comes."""
        try:
            found = await migration_now(self.api, migration)
        except MigrationRefusedError as refused:
            return str(refused)
        except ClientError:
            return None
        if found.has_failed:
            return f"{migration} has failed{found.why}"
        return _GOOD if found.has_succeeded else None

    async def undo(self, task: Task, _pod: PodNow | None) -> None:
        """Have KubeVirt abort the migration; the new launcher goes with it."""
        migration = self._open.pop(task.number, None)
        if migration is not None:
            await self._abort(migration)

    async def _abort(self, migration: LiveMigration) -> None:
        """Delete a migration, unless it is over: what has failed stays for people to look at."""
        try:
            if not await self._is_over(migration):
                await cancel(self.api, migration, self.permit)
        except ClientError as error:
            self._left.append(migration)
            self.warn(f"{migration} goes on until restow can delete it: {error}")

    async def _is_over(self, migration: LiveMigration) -> bool:
        try:
            return (await migration_now(self.api, migration)).is_over
        except MigrationRefusedError:
            return False

    async def clean(self) -> None:
        """Abort once more what could not be aborted.

        What a restow has left that was killed is not looked for. No number was changed that somebody has to set back: the
        migration goes on, and KubeVirt ends it. Its steered launcher is released by the replicas of restow, and the
        machine stays where it is until the migration is over (``descheduling.vetoes``).
        """
        left, self._left = self._left, []
        for each in left:
            await self._abort(each)
