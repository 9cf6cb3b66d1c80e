"""Removes an operator and all that it created, step by step.

Every step reads what is there, removes it, and reads again until nothing is left or its time is over. So each step can
be repeated, and after an interruption all of them run again. A failure is noted, and the next step follows. A resource
whose operator does not release it loses its finalizer once everything that the finalizer protects is removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from restow.client import objects
from restow.client.errors import Conflict, NotFound
from restow.client.objects import PatchKind
from restow.client.transport import Api
from restow.errors import ClientError
from restow.operator import inventory
from restow.operator.inventory import Item, resource_of_item
from restow.operator.objects import KUBEDESCHEDULERS
from restow.operator.soft_taints import remove_taints
from restow.operator.syncing import FINALIZER

#: Seconds between two looks.
_PAUSE: Final = 1.0

_Look = Callable[[], Awaitable[Sequence[Item]]]
_Remove = Callable[[Sequence[Item]], Awaitable[None]]


@dataclass(slots=True, frozen=True)
class _Step:
    #: A description for people.
    name: str
    look: _Look
    remove: _Remove


@dataclass(slots=True)
class Uninstalling:
    """One run of ``restow operator uninstall``."""

    api: Api
    #: Of the operator.
    namespace: str
    #: What exists before.
    before: Sequence[Item]
    #: Seconds that each step may take.
    patience: float
    #: Reports the current step.
    say: Callable[[str], None]
    #: What went wrong, one sentence each.
    problems: list[str] = field(init=False, default_factory=list)

    async def run(self) -> None:
        """Remove everything; what went wrong is in ``problems``."""
        for step in self._steps():
            try:
                async with asyncio.timeout(self.patience):
                    await self._carry_out(step)
            except TimeoutError:
                self.problems.append(f"{step.name}: not done within {self.patience:.0f} s")
            except ClientError as error:
                self.problems.append(f"{step.name}: {error}")

    def _steps(self) -> tuple[_Step, ...]:
        api, namespace = self.api, self.namespace
        taints = _Step("taking soft taints off nodes", lambda: inventory.tainted_nodes(api), self._untaint)
        return (
            _Step(
                "deleting the KubeDescheduler; the operator removes what it made for it",
                lambda: inventory.resources(api),
                self._delete,
            ),
            _Step("deleting the operator", lambda: inventory.operator(api, namespace), self._delete),
            _Step("deleting what the operator has left", lambda: inventory.made(api, namespace), self._delete),
            taints,
            _Step("freeing the KubeDescheduler", lambda: inventory.resources(api), self._free),
            _Step(
                "deleting the namespace",
                self._namespaces,
                self._delete,
            ),
            # Now the last pod of a soft tainter is gone.
            taints,
            _Step(
                "deleting the definition of KubeDescheduler",
                lambda: inventory.present(api, "definition", inventory.DEFINITIONS, inventory.DEFINITION),
                self._delete,
            ),
        )

    async def left(self) -> tuple[Item, ...]:
        """Return what is left; the operator's own namespace counts until it is gone."""
        now = await inventory.inventory(self.api, self.namespace)
        return (*now, *(each for each in await self._namespaces() if each not in now))

    async def _namespaces(self) -> list[Item]:
        if not any(each.step == "namespace" for each in self.before):
            return []
        return await inventory.present(self.api, "namespace", inventory.NAMESPACES, self.namespace)

    async def _carry_out(self, step: _Step) -> None:
        found = await step.look()
        if found:
            self.say(step.name)
        while found:
            await step.remove(found)
            await asyncio.sleep(_PAUSE)
            found = await step.look()

    async def _delete(self, items: Sequence[Item]) -> None:
        for item in items:
            try:
                await objects.delete(self.api, resource_of_item(item), item.namespace, item.name)
            except NotFound:
                continue
            except Conflict:
                # A namespace that is about to go says so.
                continue

    async def _untaint(self, _items: Sequence[Item]) -> None:
        await remove_taints(self.api)

    async def _free(self, items: Sequence[Item]) -> None:
        """Remove the operator's finalizer, and no other."""
        for item in items:
            try:
                await self._free_one(item)
            except (NotFound, Conflict):
                continue

    async def _free_one(self, item: Item) -> None:
        found = await objects.get(self.api, KUBEDESCHEDULERS, item.namespace, item.name, dict[str, Any])
        metadata = found["metadata"]
        held = metadata.get("finalizers") or []
        if FINALIZER in held:
            rest = [each for each in held if each != FINALIZER]
            change = {"metadata": {"resourceVersion": metadata["resourceVersion"], "finalizers": rest}}
            await objects.patch(self.api, KUBEDESCHEDULERS, item.namespace, item.name, change, kind=PatchKind.MERGE)
