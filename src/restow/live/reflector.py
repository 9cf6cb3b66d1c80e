"""One kind of a live cluster: how much of it is known, how recent that is, and the warnings about what is not known.

What is known of a kind is kept when updates stop, because the right was taken away, lists fail or a watch hangs. It is
trusted for a while, because most of these end soon; after that the state of the kind is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec import Struct

from restow.client.flow_control import BackOff
from restow.client.resources import RESOURCES
from restow.cluster.left_out import ObjectKey, sentence
from restow.cluster.snapshot import ClusterStore
from restow.errors import ClientError
from restow.live.reading import REQUIRED

#: For kinds that are refused: roles may be changed at any time, and are not known yet while an API server starts.
REFUSED = BackOff(first=1.0, cap=300.0, factor=4.0, jitter=0.1)
#: Seconds for which the last state of a kind is trusted; the API server confirms each minute that nothing is missing.
TRUSTED = 180.0
#: A connection that breaks again within this many seconds could not be used in between.
_SOON: Final = 30.0

#: Takes a warning: a sentence for people.
Warn = Callable[[str], None]


@dataclass(slots=True)
class Reflector:
    """What is known of one kind."""

    kind: str
    #: A whole list has been read.
    listed: bool = False
    #: Why the kind cannot be listed; None while it can, or while that is unknown.
    refused: str | None = None
    #: Refusals in a row.
    refusals: int = 0
    #: When the connection broke last, in the event loop's time.
    broken: float = float("-inf")
    #: When what is known was last up to date, in the event loop's time.
    last_update: float = float("-inf")
    #: A list that is still coming in.
    coming: ClusterStore = field(default_factory=ClusterStore)

    @property
    def settled(self) -> bool:
        """Whether the kind was listed, or may be missing because it cannot be; nodes and pods must be listed."""
        return self.listed or (self.refused is not None and self.kind not in REQUIRED)

    def is_known(self, now: float) -> bool:
        """Whether the last state of the kind may be trusted at a time."""
        return self.listed and now - self.last_update <= TRUSTED

    def doubt(self, now: float) -> str | None:
        """Why it may not; None if it may."""
        if self.is_known(now):
            return None
        if not self.listed:
            return self.refused or f"{RESOURCES[self.kind].plural} have not been listed yet"
        return f"the API server has not reported on {RESOURCES[self.kind].plural} for {now - self.last_update:.0f} s"


class Outages:
    """Warns of kinds that are not updated any more: once when it begins, and once when it is over.

    There are two stages. A connection that breaks again and again is reported at once. A kind that has had no update
    for longer than it is trusted is reported by name, with the consequence for pods that depend on it.
    """

    def __init__(self, warn: Warn, done: str) -> None:
        self._warn = warn
        self._done = done
        #: Kinds without updates at present.
        self._silent: set[str] = set()
        #: Kinds that were reported as not known any more.
        self._lost: set[str] = set()

    def interrupted(self, reflector: Reflector, error: ClientError, now: float) -> None:
        """A connection broke. One that is cut and made again is no outage, and all kinds fail together."""
        again, reflector.broken = now - reflector.broken < _SOON, now
        if again:
            if not self._silent:
                self._warn(f"cannot update {_plural(reflector.kind)} for now: {error}")
            self._silent.add(reflector.kind)

    def recovered(self, reflector: Reflector) -> None:
        """A kind is up to date."""
        if reflector.kind in self._silent:
            self._silent.discard(reflector.kind)
            if not self._silent:
                self._warn("the cluster state is up to date again")

    def look(self, reflectors: Iterable[Reflector], now: float) -> None:
        """Warn of kinds that are not known any more, and say which are known again."""
        lost = {each.kind for each in reflectors if each.listed and not each.is_known(now)}
        if new := lost - self._lost:
            self._warn(
                f"the API server has not reported on {_listed(new)} for {TRUSTED:.0f} s: their current state is unknown, "
                f"and pods that depend on it are not {self._done}"
            )
        if back := self._lost - lost:
            self._warn(f"{_listed(back)} are known again")
        self._lost = lost


class LeftOutReports(Struct, frozen=True):
    """A store that warns of each object that is left out, unless that is known already."""

    store: ClusterStore
    known: Mapping[ObjectKey, str]
    warn: Warn

    def add(self, kind: str, wire: Sequence[Any]) -> None:
        """Take objects, as the store does."""
        self.store.add(kind, wire)

    def leave_out(self, kind: str, namespace: str, name: str, why: str) -> None:
        """Continue without an object, and warn."""
        if self.known.get((kind, namespace, name)) != why:
            self.warn(sentence(kind, why))
        self.store.leave_out(kind, namespace, name, why)


def _listed(kinds: Iterable[str]) -> str:
    return ", ".join(sorted(map(_plural, kinds)))


def _plural(kind: str) -> str:
    return RESOURCES[kind].plural
