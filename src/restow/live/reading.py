"""Which kinds are read from a live cluster, and a cluster that is read once: the lists of all kinds, concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import Protocol

from msgspec import Struct

from restow.client.errors import ApiError, Forbidden, NotFound, ServerTrouble, missing_right
from restow.client.listing import EVERYTHING, Selection, pages
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.cluster.left_out import Sink, add_page
from restow.errors import ClientError
from restow.kube.objects import DEVICE_KINDS, KINDS

#: Usage, which metrics.k8s.io serves without watches.
METRICS = ("NodeMetrics", "PodMetrics")
#: What is read from files only. In a live cluster, two running pods of one virtual machine show its migration.
STORED = ("UsageSeries", "VirtualMachineInstanceMigration")
#: Kinds that no rule reads; the owner above a Job is named by its own owner reference.
_UNREAD = ("CronJob",)
#: Kinds that not every API server serves: one that does not has no objects of it.
OPTIONAL = (
    "VerticalPodAutoscaler",
    "NodeResourceTopology",
    "DeviceTaintRule",
    "PodGroup",
    "Workload.scheduling.k8s.io",
    "PodGroup.scheduling.x-k8s.io",
    *DEVICE_KINDS,
)
#: The kinds that decisions depend on.
READ = tuple(kind for kind in KINDS if kind not in (*_UNREAD, *METRICS, *STORED))
#: Without these there is no cluster.
REQUIRED = ("Node", "Pod")
#: Without these it is unknown which pods may be evicted at all: each namespace may have opted out.
PERMITTING = (*REQUIRED, "Namespace")
#: Kinds that keep pods from being evicted. Budgets and Jobs do so where moves are proven.
PROTECTING = (*PERMITTING, "PodDisruptionBudget", "Job")

_VERBS = ("list", "watch")


def refusal_sentence(kind: str, refused: ApiError) -> str:
    """Why a kind cannot be listed and what adds it, in one sentence."""
    resource = RESOURCES[kind]
    if isinstance(refused, Forbidden):
        return missing_right(refused, resource, _VERBS)
    served_as = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    return f"the API server has no {served_as}: {refused.message}"


class ListSink(Sink, Protocol):
    """Where lists go: a ClusterStore or a CompactCluster."""

    def restart(self, kind: str) -> None:
        """Forget the objects of a kind: they are listed again."""


class Unlisted(Struct, frozen=True):
    """A kind that could not be listed, and a sentence that says why and what adds it."""

    kind: str
    why: str


async def read_kinds(
    api: Api, kinds: Sequence[str], sink: ListSink, selection: Selection = EVERYTHING
) -> tuple[Unlisted, ...]:
    """Pass the selected objects of these kinds to ``sink``; returns the kinds that the API server refuses or does not have.

    Unreadable objects are left out, one by one.
    ClientError if nodes or pods cannot be listed, or if the API server does not answer.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_read(api, kind, sink, selection)) for kind in kinds]
    except BaseExceptionGroup as errors:
        # What went wrong first has ended the others.
        raise errors.exceptions[0] from None
    return tuple(found for task in tasks if (found := task.result()) is not None)


async def _read(api: Api, kind: str, sink: ListSink, selection: Selection) -> Unlisted | None:
    try:
        async with aclosing(pages(api, RESOURCES[kind], selection)) as listed:
            async for page in listed:
                if page.first:
                    sink.restart(kind)
                add_page(sink, kind, page.objects)
    except (Forbidden, NotFound) as refused:
        if isinstance(refused, NotFound) and kind in OPTIONAL:
            sink.restart(kind)
            sink.add(kind, ())
            return None
        why = refusal_sentence(kind, refused)
        if kind in REQUIRED:
            raise ClientError(why) from refused
        return Unlisted(kind, why)
    except ServerTrouble as trouble:
        # metrics.k8s.io is served by another program, which may be down.
        if kind not in METRICS:
            raise
        return Unlisted(kind, f"{RESOURCES[kind].plural}.{RESOURCES[kind].group} cannot be listed: {trouble.message}")
    return None
