"""What a descheduler is started with, for each of its parts.

The command line makes settings from flags; tests and other programs make them directly, and check them themselves.
Durations are seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from restow.daemon.connecting import NAMESPACE, ApiSettings, HttpsSettings
from restow.daemon.electing import LeaseSettings
from restow.policies.codes import Placement
from restow.policies.fallbacks import Fallbacks
from restow.scheduling.configuration.profiles import DEFAULT_PROFILE, SchedulerProfile

if TYPE_CHECKING:
    from restow.shadowing.day import ShadowDay

#: Writes the report of a day of a cluster (its API server).
WriteReport = Callable[["ShadowDay", str], None]


class TracesSettings(Struct, frozen=True, kw_only=True):
    """Where traces go: an OTLP collector that speaks gRPC."""

    #: Host and port.
    collector: str
    #: PEM; None is a connection without TLS.
    authority: Path | None = None
    service: str = "descheduler"
    service_namespace: str = ""
    #: The share of cycles that are traced, 0 to 1.
    share: float = 1.0


class CycleSettings(Struct, frozen=True, kw_only=True):
    """How often which policy is carried out."""

    #: From the start of one cycle to the start of the next; 0 is one cycle.
    interval: float = 0.0
    #: Empty is the default policy, which does nothing.
    policy_file: str = ""
    fallbacks: Fallbacks = field(default_factory=Fallbacks)
    #: Decide and report, and write nothing.
    dry_run: bool = False
    #: None leaves it to the policy.
    placement: Placement | None = None
    #: Of the cluster's schedulers.
    profiles: tuple[SchedulerProfile, ...] = (DEFAULT_PROFILE,)
    #: The document that they come from; None where there is none.
    scheduler_configuration: dict[str, Any] | None = None
    #: Whether another component may evict a pod that asks for it, later.
    in_background: bool = False
    #: Whether a pod is evicted only once the API server has confirmed its replacement in a dry run.
    confirm_replacements: bool = False


class PlanConfigMap(Struct, frozen=True):
    """Where each cycle writes what it planned."""

    namespace: str
    name: str


class ShadowSettings(Struct, frozen=True):
    """Of a shadow, which watches what others evict beside cycles that evict nothing."""

    #: None where no reports are wanted.
    write: WriteReport | None = None


class HistorySettings(Struct, frozen=True):
    """Where what cycles do is kept, and for how many days."""

    path: str
    days: float


class Settings(Struct, frozen=True, kw_only=True):
    """Of a whole descheduler; a part that is None is not there."""

    api: ApiSettings = field(default_factory=ApiSettings)
    cycles: CycleSettings = CycleSettings()
    #: Where the lease and the ConfigMap of steering are.
    namespace: str = NAMESPACE
    lease: LeaseSettings | None = None
    https: HttpsSettings | None = None
    traces: TracesSettings | None = None
    published_plan: PlanConfigMap | None = None
    #: For cycles that are dry runs.
    shadow: ShadowSettings | None = None
    history: HistorySettings | None = None
