"""Which restow this is, and whose rules it follows."""

from __future__ import annotations

import platform
from collections.abc import Iterator

from msgspec import Struct, field

from restow.descheduling.plan import API_VERSION
from restow.version import __version__


class Versions(Struct, frozen=True, kw_only=True, rename="camel"):
    """What ``restow version -o json`` writes."""

    api_version: str = API_VERSION
    kind: str = "Version"
    restow: str = __version__
    python: str = field(default_factory=platform.python_version)
    #: The release of Kubernetes whose scheduler and controllers decide as restow does.
    kubernetes: str = "1.36"
    #: The release of the Descheduler whose policies, flags and strategies restow has.
    descheduler: str = "0.36"

    def lines(self) -> Iterator[str]:
        """Yield the same for people."""
        yield f"restow {self.restow}, Python {self.python}"
        yield f"follows Kubernetes {self.kubernetes} and Descheduler {self.descheduler}"
