"""What every daemon is started with: the API server, the lease, and what it serves. Durations are seconds.

The command line makes settings from flags; tests and other programs make them directly, and check them themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from restow.client.leadership import Timing
from restow.serving.server import ListenAddress
from restow.serving.tls import KeyPair, TlsSettings

#: Where restow keeps its own objects by default, as the Descheduler.
NAMESPACE: Final = "kube-system"


@dataclass(slots=True, frozen=True, kw_only=True)
class ApiSettings:
    """How the API server is reached."""

    #: None looks for one, and for the pod's service account.
    kubeconfig: str | None = None
    #: Requests per second and at once, for all but watches, as ``client.connection.connect`` takes them.
    qps: float = 0.0
    burst: int = 0


@dataclass(slots=True, frozen=True, kw_only=True)
class LeaseSettings:
    """The lease without which nothing is evicted."""

    name: str = "descheduler"
    timing: Timing = field(default_factory=Timing)


@dataclass(slots=True, frozen=True, kw_only=True)
class HttpsSettings:
    """What is served, and where."""

    endpoint: ListenAddress
    tls: TlsSettings
    #: None: a certificate is made at the start.
    certificates: Sequence[KeyPair] = ()
    metrics: bool = True
