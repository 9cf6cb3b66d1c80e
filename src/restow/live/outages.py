"""What people are told of news that stay away: once that they do, and once that they are back.

There are two stages. Connections that break again and again are told at once. A kind of which nothing has been heard for
longer than that is trusted is named, since pods that depend on it are not evicted any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from restow.client.errors import ClientError
from restow.client.resources import RESOURCES
from restow.live.reflector import TRUSTED, Reflector

#: A connection that breaks again within so many seconds could not be made in between.
_SOON: Final = 30.0

#: Takes a sentence for people.
Tell = Callable[[str], None]


class Outages:
    """Remembers what was told."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        #: Kinds of which no news come.
        self._silent: set[str] = set()
        #: Kinds of which it was told that they are not known any more.
        self._lost: set[str] = set()

    def interrupted(self, reflector: Reflector, error: ClientError, now: float) -> None:
        """A connection broke. One that is cut and made again is no outage, and all kinds fail together."""
        again, reflector.broken = now - reflector.broken < _SOON, now
        if again:
            if not self._silent:
                self._tell(f"cannot update {_plural(reflector.kind)} for now: {error}")
            self._silent.add(reflector.kind)

    def heard(self, reflector: Reflector) -> None:
        """A kind is up to date."""
        if reflector.kind in self._silent:
            self._silent.discard(reflector.kind)
            if not self._silent:
                self._tell("the cluster state is up to date again")

    def look(self, reflectors: Iterable[Reflector], now: float) -> None:
        """Tell which kinds are not known any more, and which are again."""
        lost = {each.kind for each in reflectors if each.listed and not each.is_known(now)}
        if new := lost - self._lost:
            self._tell(
                f"the API server has not reported on {_listed(new)} for {TRUSTED:.0f} s: their current state is unknown, "
                "and pods that depend on it are not evicted"
            )
        if back := self._lost - lost:
            self._tell(f"{_listed(back)} are known again")
        self._lost = lost


def _listed(kinds: Iterable[str]) -> str:
    return ", ".join(sorted(map(_plural, kinds)))


def _plural(kind: str) -> str:
    return RESOURCES[kind].plural
