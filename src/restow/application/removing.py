"""What restow left in a cluster, removed: the gates and fences of steering, and an operator with everything that it made.

Of an operator all is looked for first, and shown; after the removal it is looked for again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from msgspec import Struct

from restow.application.feedback import Feedback
from restow.client.connection import connect
from restow.descheduler.steering import Released, release_all
from restow.in_thread import in_own_loop
from restow.operator.uninstalling import Item, Uninstalling, inventory

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
    return in_own_loop(_remove(request, agrees, feedback, interrupting))


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


def release_steering(namespace: str, kubeconfig: str | None, context: str | None) -> Released:
    """Take every gate and fence off, and empty the ConfigMap of steering in a namespace; what failed is in the result.

    InputError where no configuration leads to a cluster, ClientError where the API server does not answer.
    """

    async def released() -> Released:
        async with connect(kubeconfig, context) as api:
            return await release_all(api, namespace)

    return in_own_loop(released())
