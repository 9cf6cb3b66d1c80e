"""What a daemon of node pressure is started with. Durations are seconds."""

from __future__ import annotations

from dataclasses import dataclass

from restow.client.endpoint import Endpoint
from restow.pressure.situation import Criteria
from restow.running.settings import ApiSettings, LeaseSettings
from restow.serving import server
from restow.serving.tls import KeyPair


@dataclass(slots=True, frozen=True, kw_only=True)
class Listening:
    """Where pages are served."""

    endpoint: server.Endpoint
    #: None is plain HTTP.
    certificate: KeyPair | None = None


@dataclass(slots=True, frozen=True, kw_only=True)
class PressureSettings:
    """Of a whole daemon; a part that is None is not there."""

    api: ApiSettings
    prometheus: Endpoint
    criteria: Criteria
    interval: float
    #: Judge and tell, and write nothing.
    dry_run: bool = False
    #: Where the lease is.
    namespace: str
    lease: LeaseSettings | None = None
    listening: Listening | None = None
