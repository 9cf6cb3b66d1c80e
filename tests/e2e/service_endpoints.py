"""Where the requests to a Service go: what kube-proxy reads in EndpointSlices, and what it makes of them.

Requests go to a random ready endpoint. If there is none, they go to one that is terminating but still serves, as
kube-proxy sends them. A real kube-proxy may be up to a second behind (``minSyncPeriod``); this one is not.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from builders import Object
from e2e.followed import ENDPOINT_SLICES, followed
from restow.client.listing import Selection
from restow.client.transport import Api

_SERVICE = "kubernetes.io/service-name"


@dataclass(slots=True, frozen=True)
class Endpoint:
    """One address of a slice, with its port."""

    address: str
    port: int
    ready: bool
    #: Terminating, and its pod is still ready.
    serves_until_end: bool


@dataclass(slots=True, frozen=True)
class Gap:
    """A time without a ready endpoint, by the monotonic clock."""

    begin: float
    end: float

    @property
    def seconds(self) -> float:
        """How long it was."""
        return self.end - self.begin


@dataclass(slots=True)
class ServiceEndpoints:
    """The endpoints of all Services of a namespace, by the name of the Service."""

    namespace: str
    #: The gaps that are over. The time before the first ready endpoint is none.
    gaps: dict[str, list[Gap]] = field(default_factory=lambda: defaultdict(list), init=False)
    _known: Mapping[str, list[Endpoint]] = field(default_factory=dict, init=False)
    #: Since when a Service has no ready endpoint.
    _empty: dict[str, float] = field(default_factory=dict, init=False)

    async def follow(self, api: Api) -> None:
        """Run until cancelled."""
        async for slices in followed(api, ENDPOINT_SLICES, Selection(self.namespace, labels=_SERVICE)):
            self.take(slices.values(), time.monotonic())

    def take(self, slices: Iterable[Object], now: float) -> None:
        """These are all slices now."""
        found: dict[str, list[Endpoint]] = defaultdict(list)
        for each in slices:
            found[each["metadata"]["labels"][_SERVICE]] += _endpoints_of(each)
        for service in self._known.keys() | found.keys():
            self._note(service, bool(self.ready(service)), any(each.ready for each in found[service]), now)
        self._known = found

    def ready(self, service: str) -> list[Endpoint]:
        """The endpoints that are ready."""
        return [each for each in self._known.get(service, ()) if each.ready]

    def choose(self, service: str) -> Endpoint | None:
        """The endpoint for one request; None if there is none."""
        known = self._known.get(service, ())
        usable = self.ready(service) or [each for each in known if each.serves_until_end]
        return random.choice(usable) if usable else None

    def _note(self, service: str, was_ready: bool, is_ready: bool, now: float) -> None:
        if was_ready and not is_ready:
            self._empty[service] = now
        elif is_ready and service in self._empty:
            self.gaps[service].append(Gap(self._empty.pop(service), now))


def _endpoints_of(found: Object) -> Iterator[Endpoint]:
    # A slice without endpoints may have no ports either.
    for each in found.get("endpoints") or ():
        (port,) = found["ports"]
        conditions = each["conditions"]
        serves_until_end = bool(conditions.get("serving") and conditions.get("terminating"))
        for address in each["addresses"]:
            yield Endpoint(address, port["port"], bool(conditions.get("ready")), serves_until_end)
