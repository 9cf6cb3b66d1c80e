"""A scenario: what there is at the start, what happens, who acts, and what is expected."""

from __future__ import annotations

from dataclasses import dataclass

from restow.documents.document import Document
from restow.documents.findings import Finding
from restow.kube.manifests import Manifest
from restow.policies.codes import Placement
from restow.simulating.controllers.cluster_autoscaler import ClusterAutoscalerSettings
from restow.simulating.controllers.horizontal_pod_autoscalers import AutoscalerSettings
from restow.simulating.kubelets import KubeletSettings
from restow.simulating.scenarios.events import TimedEvent
from restow.simulating.scenarios.expectations import Expectation
from restow.simulating.scenarios.traces import Arrival


@dataclass(slots=True, frozen=True)
class Descheduling:
    """A descheduler that acts during the run."""

    #: The path of its policy; None is the bundled one.
    policy: str | None
    #: Nanoseconds from one cycle to the next.
    every: int
    placement: Placement


@dataclass(slots=True, frozen=True)
class Scenario:
    """A file that was read, with everything that it names; times are nanoseconds since the start of the run."""

    document: Document
    description: str
    seed: int
    #: When the run begins, in nanoseconds since the epoch; None: the caller decides.
    begins: int | None
    #: How long it is; None: the caller decides.
    duration: int | None
    start: tuple[Manifest, ...]
    #: By time; those of one moment as they are written.
    events: tuple[TimedEvent, ...]
    #: By time; times are since the start of the run.
    arrivals: tuple[Arrival, ...]
    descheduling: Descheduling | None
    #: The paths of the configurations of schedulers that run side by side; empty is one with its defaults.
    schedulers: tuple[str, ...]
    kubelets: KubeletSettings
    #: The controller of HorizontalPodAutoscalers; None if they have no effect.
    autoscalers: AutoscalerSettings | None
    cluster_autoscaler: ClusterAutoscalerSettings | None
    expectations: tuple[Expectation, ...]
    #: Messages for its author.
    findings: tuple[Finding, ...] = ()
