"""An operator removed with everything that it made: look for it, ask, remove, and look again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from msgspec import Struct

from restow.application.feedback import Feedback
from restow.client.connection import connect
from restow.operator.inventory import Item, inventory
from restow.operator.uninstalling import Uninstalling

#: Whether these may be removed from the cluster at this host and port; may wait for an answer.
Agrees = Callable[[tuple[Item, ...], str], bool]
#: Has its argument called when the block is to end early, after the request that is under way.
Interrupting = Callable[[Callable[[], object]], AbstractContextManager[object]]


@dataclass(slots=True, frozen=True)
class RemovalRequest:
    """Which operator to remove."""

    #: Of the operator.
    namespace: str
    #: Seconds that each step may take.
    patience: float
    kubeconfig: str | None = None
    context: str | None = None


class OperatorRemoval(Struct, frozen=True, rename="camel"):
    """The document of ``restow operator uninstall -o json``."""

    #: What there was, and is no more.
    removed: tuple[Item, ...]
    left: tuple[Item, ...]
    problems: tuple[str, ...]
    interrupted: bool
    api_version: str = "restow.dev/v1alpha1"
    kind: str = "OperatorRemoval"


def remove_operator(
    request: RemovalRequest, agrees: Agrees, feedback: Feedback, interrupting: Interrupting = nullcontext
) -> OperatorRemoval | None:
    """Remove it; None where that is not agreed to. InputError and ClientError where what there is cannot be read."""
    return asyncio.run(_remove(request, agrees, feedback, interrupting))


async def _remove(
    request: RemovalRequest, agrees: Agrees, feedback: Feedback, interrupting: Interrupting
) -> OperatorRemoval | None:
    async with connect(request.kubeconfig, request.context) as api:
        feedback.warn(api.endpoint.warnings)
        before = await inventory(api, request.namespace)
        server = urlsplit(api.endpoint.server).netloc
        if before and not await asyncio.to_thread(agrees, before, server):
            return None
        work = Uninstalling(
            api, request.namespace, before, request.patience, lambda sentence: feedback.warn([sentence])
        )
        return await _carried_out(work, interrupting)


async def _carried_out(uninstalling: Uninstalling, interrupting: Interrupting) -> OperatorRemoval:
    work = asyncio.ensure_future(uninstalling.run())
    with interrupting(work.cancel), suppress(asyncio.CancelledError):
        await work
    before, left = uninstalling.before, await uninstalling.left()
    removed = tuple(each for each in before if each not in left)
    return OperatorRemoval(removed, left, tuple(uninstalling.problems), work.cancelled())
