"""What there is of an operator and all that it created, and its removal, step by step.

Every step reads what is there, removes it, and reads again until nothing is left or its time is over. So each step can
be repeated, and after an interruption all of them run again. A failure is noted, and the next step follows. A resource
whose operator does not release it loses its finalizer once everything that the finalizer protects is removed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from msgspec import Struct

from restow.client import objects
from restow.client.errors import Conflict, NotFound
from restow.client.listing import all_objects
from restow.client.objects import PatchKind
from restow.client.resources import RESOURCES, ApiResource
from restow.client.transport import Api
from restow.errors import ClientError
from restow.operator.applying import made_objects
from restow.operator.guards import GUARDS
from restow.operator.objects import (
    DEPLOYMENTS,
    KUBEDESCHEDULERS,
    POLICY_BINDINGS,
    VALIDATING_POLICIES,
    plain,
    plain_kind,
    resource_for,
)
from restow.operator.resource import KIND, NAMESPACE
from restow.operator.soft_taints import has_soft_taints, read_nodes, remove_taints
from restow.operator.syncing import FINALIZER

Step = Literal["resource", "objects", "taints", "operator", "namespace", "definition"]
_ORDER: Final[tuple[Step, ...]] = get_args(Step)

#: Names of ``deploy/operator``.
OPERATOR: Final = "descheduler-operator"
RIGHTS: Final = "openshift-descheduler-operator"
DEFINITION: Final = f"{KUBEDESCHEDULERS.plural}.{KUBEDESCHEDULERS.group}"

NAMESPACES: Final = plain(RESOURCES["Namespace"])
NODES: Final = RESOURCES["Node"]
DEFINITIONS: Final = plain_kind(
    "CustomResourceDefinition", "apiextensions.k8s.io", "v1", "customresourcedefinitions", namespaced=False
)
#: Seconds between two looks.
PAUSE: Final = 1.0


class Item(Struct, frozen=True):
    """One thing that is there; of a node, its soft taints are meant."""

    step: Step
    kind: str
    name: str
    namespace: str = ""


_Look = Callable[[], Awaitable[Sequence[Item]]]
_Remove = Callable[[Sequence[Item]], Awaitable[None]]


async def inventory(api: Api, namespace: str) -> tuple[Item, ...]:
    """Return all that there is, in the order of removal; ClientError for what cannot be read.

    A namespace of another name than the operator's own is not among it unless something of an operator is in there.
    """
    inside = (*await _resources(api), *await _made(api, namespace), *await _operator_items(api, namespace))
    is_its_own = namespace == NAMESPACE or any(each.namespace == namespace for each in inside)
    found = (
        *inside,
        *await _tainted_nodes(api),
        *(await _present(api, "namespace", NAMESPACES, namespace) if is_its_own else ()),
        *await _present(api, "definition", DEFINITIONS, DEFINITION),
    )
    return tuple(sorted(found, key=lambda each: _ORDER.index(each.step)))


async def _resources(api: Api) -> list[Item]:
    """Return the KubeDeschedulers of all namespaces; none where the cluster does not know the kind."""
    try:
        found = await all_objects(api, KUBEDESCHEDULERS)
    except NotFound:
        return []
    return [Item("resource", KIND, each["metadata"]["name"], each["metadata"]["namespace"]) for each in found]


async def _made(api: Api, namespace: str) -> list[Item]:
    """Return the objects that the operator made, those first that use others."""
    return [Item("objects", kind, name, where) for kind, where, name in reversed(await made_objects(api, namespace))]


async def _tainted_nodes(api: Api) -> list[Item]:
    """Return the nodes with soft taints."""
    return [Item("taints", NODES.kind, each.name) for each in await read_nodes(api) if has_soft_taints([each])]


async def _operator_items(api: Api, namespace: str) -> list[Item]:
    """Return the operator, and what it has outside of its namespace; what is in there goes with it."""
    found = await _present(api, "operator", DEPLOYMENTS, OPERATOR, namespace)
    for resource, name in _OUTSIDE:
        found += await _present(api, "operator", resource, name)
    return found


async def _present(api: Api, step: Step, resource: ApiResource, name: str, namespace: str = "") -> list[Item]:
    """Return an object, if it is there."""
    try:
        await objects.find(api, resource, namespace, name)
    except NotFound:
        return []
    return [Item(step, resource.kind, name, namespace)]


def _resource_of(item: Item) -> ApiResource:
    """Return where an item lives in the API."""
    known = {
        each.kind: each
        for each in (KUBEDESCHEDULERS, NODES, NAMESPACES, DEFINITIONS, POLICY_BINDINGS, VALIDATING_POLICIES)
    }
    return known.get(item.kind) or resource_for({"kind": item.kind})


#: Kinds and names; bindings go before what they bind.
_OUTSIDE: Final = (
    *((resource_for({"kind": kind}), RIGHTS) for kind in ("ClusterRoleBinding", "ClusterRole")),
    *((resource, name) for resource in (POLICY_BINDINGS, VALIDATING_POLICIES) for name in GUARDS),
)


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
        taints = _Step("taking soft taints off nodes", lambda: _tainted_nodes(api), self._untaint)
        return (
            _Step(
                "deleting the KubeDescheduler; the operator removes what it made for it",
                lambda: _resources(api),
                self._delete,
            ),
            _Step("deleting the operator", lambda: _operator_items(api, namespace), self._delete),
            _Step("deleting what the operator has left", lambda: _made(api, namespace), self._delete),
            taints,
            _Step("freeing the KubeDescheduler", lambda: _resources(api), self._free),
            _Step(
                "deleting the namespace",
                self._namespaces,
                self._delete,
            ),
            # Now the last pod of a soft tainter is gone.
            taints,
            _Step(
                "deleting the definition of KubeDescheduler",
                lambda: _present(api, "definition", DEFINITIONS, DEFINITION),
                self._delete,
            ),
        )

    async def left(self) -> tuple[Item, ...]:
        """Return what is left; the operator's own namespace counts until it is gone."""
        now = await inventory(self.api, self.namespace)
        return (*now, *(each for each in await self._namespaces() if each not in now))

    async def _namespaces(self) -> list[Item]:
        if not any(each.step == "namespace" for each in self.before):
            return []
        return await _present(self.api, "namespace", NAMESPACES, self.namespace)

    async def _carry_out(self, step: _Step) -> None:
        found = await step.look()
        if found:
            self.say(step.name)
        while found:
            await step.remove(found)
            await asyncio.sleep(PAUSE)
            found = await step.look()

    async def _delete(self, items: Sequence[Item]) -> None:
        for item in items:
            try:
                await objects.delete(self.api, _resource_of(item), item.namespace, item.name)
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
