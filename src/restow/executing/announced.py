"""Whose next pods are gated, as every replica knows it: the ConfigMap of steering, followed by a watch.

The leader knows what it has just announced. But the API server asks any replica (``admission``), and those that do not lead
read what the leader writes, as an admission policy does. An entry that has not come yet leaves a replacement ungated, which
then lands where the scheduler wants.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final

from restow.client.access import missing_right
from restow.client.errors import ClientError, Forbidden
from restow.client.following import Changed, Interrupted, Listed, Removed, WatchEvent, follow
from restow.client.listing import Selection
from restow.client.resources import CONFIG_MAPS
from restow.client.transport import Api
from restow.executing.steering import CONFIG_MAP
from restow.kube.objects import ConfigMap

_VERBS: Final = ("list", "watch")
#: Seconds after a refusal; roles may be changed at any time.
_PAUSE: Final = 10.0


@dataclass(slots=True)
class Announced:
    """The controllers in the ConfigMap, which is followed from the first question on."""

    api: Api
    #: Where the ConfigMap is.
    namespace: str
    #: Takes a sentence for people.
    warn: Callable[[str], None]
    _owners: frozenset[str] = field(default=frozenset(), init=False)
    #: Why it cannot be followed, as told last.
    _told: str = field(default="", init=False)
    _asked: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def awaits(self, owner: str) -> bool:
        """Whether a replacement of a controller (a uid) is awaited; of nobody, while that is not known."""
        self._asked.set()
        return owner in self._owners

    async def run(self) -> None:
        """Follow for ever, once somebody has asked: on most clusters nobody does."""
        await self._asked.wait()
        while True:
            try:
                await self._follow()
            except ClientError as error:
                self._refuse(error)
            await asyncio.sleep(_PAUSE)

    def _refuse(self, error: ClientError) -> None:
        self._owners = frozenset()
        why = missing_right(error, CONFIG_MAPS, _VERBS) if isinstance(error, Forbidden) else str(error)
        if why != self._told:
            self._told = why
            self.warn(f"it is not known which replacements wait behind the gate: {why}")

    async def _follow(self) -> None:
        one = Selection(self.namespace, fields=f"metadata.name={CONFIG_MAP}")
        async with aclosing(follow(self.api, CONFIG_MAPS, one)) as all_news:
            async for news in all_news:
                self._owners = _owners(news, self._owners)


def _owners(news: WatchEvent, known: frozenset[str]) -> frozenset[str]:
    """The controllers after a piece of news.

    None, while news are interrupted: entries are there for a second, and one that is written later comes with all others.
    """
    match news:
        case Listed(objects):
            return frozenset().union(*map(_named, objects))
        case Changed(changed):
            return _named(changed)
        case Removed() | Interrupted():
            return frozenset()
        case _:
            return known


def _named(config_map: object) -> frozenset[str]:
    """The controllers that a ConfigMap names; none where it cannot be read."""
    return frozenset(config_map.data or ()) if isinstance(config_map, ConfigMap) else frozenset()
