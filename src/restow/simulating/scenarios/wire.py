"""A scenario as it stands in a file."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from restow.documents.shapes import Duration
from restow.kube.duration import MINUTE
from restow.kube.objects import Int64
from restow.policies.codes import Placement
from restow.simulating.kubelets import KubeletSettings
from restow.simulating.scenarios.autoscaling_reading import WrittenAutoscalers, WrittenClusterAutoscaler
from restow.simulating.scenarios.event_reading import WrittenEvent
from restow.simulating.scenarios.expectation_reading import WrittenExpectation

_KUBELETS = KubeletSettings()


class WrittenColumns(Struct, frozen=True):
    """Which column of a trace is what."""

    name: str
    arrives: str
    departs: str = ""
    namespace: str = ""
    requests: dict[str, str] = {}
    units: dict[str, str] = {}
    labels: dict[str, str] = {}


class WrittenTrace(Struct, frozen=True):
    """Pods that come and go as a CSV file says."""

    trace: str
    at: Duration = 0
    faster: float = 1
    columns: WrittenColumns | None = None
    pod: dict[str, Any] = {}


class WrittenDescheduler(Struct, frozen=True):
    """A descheduler."""

    policy: str | None = None
    every: Duration = 5 * MINUTE
    placement: Placement = Placement.PROVE


class WrittenKubelets(Struct, frozen=True):
    """How long what takes on nodes."""

    pull: Duration = _KUBELETS.pull
    start: Duration = _KUBELETS.start
    ready: Duration = _KUBELETS.ready
    run: Duration = _KUBELETS.run
    delete: Duration = _KUBELETS.delete


class WrittenScheduler(Struct, frozen=True):
    """An additional scheduler."""

    configuration: str


class WrittenScenario(Struct, frozen=True, rename="camel"):
    """The whole file."""

    api_version: str
    kind: str
    description: str = ""
    seed: Int64 = 1
    begins: str | None = None
    duration: Duration | None = field(default=None, name="for")
    start: tuple[Any, ...] = ()
    events: tuple[WrittenEvent, ...] = ()
    arrivals: tuple[WrittenTrace, ...] = ()
    descheduler: WrittenDescheduler | None = None
    schedulers: tuple[WrittenScheduler, ...] = ()
    kubelets: WrittenKubelets = WrittenKubelets()
    horizontal_pod_autoscalers: WrittenAutoscalers | None = None
    cluster_autoscaler: WrittenClusterAutoscaler | None = None
    expect: tuple[WrittenExpectation, ...] = ()
