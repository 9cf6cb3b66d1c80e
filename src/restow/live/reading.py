"""A live cluster, read once: the lists of all kinds, concurrently."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from restow.client.errors import Forbidden, NotFound, ServerTrouble
from restow.client.listing import EVERYTHING, Selection, pages
from restow.client.resources import RESOURCES
from restow.client.transport import Api
from restow.cluster.left_out import Sink, add_page
from restow.errors import ClientError
from restow.live.kinds import CUSTOM, METRICS, REQUIRED, refusal_sentence


class ListSink(Sink, Protocol):
    """Where lists go: a ClusterStore or a CompactCluster."""

    def restart(self, kind: str) -> None:
        """Forget the objects of a kind: they are listed again."""


@dataclass(slots=True, frozen=True)
class Unlisted:
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
        if isinstance(refused, NotFound) and kind in CUSTOM:
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
