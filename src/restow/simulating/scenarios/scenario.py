"""A scenario: what there is at the start, what happens, who acts, and what is expected; and what is odd about one.

Names of objects that never exist are looked up among the objects that the scenario brings itself, as they come and go.
Pods, ReplicaSets and Jobs are left out, because controllers make them; so is a scenario that begins with the dump of a
cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from msgspec import Struct

from restow.documents.document import Document
from restow.documents.findings import Finding, Issue, Path
from restow.documents.shapes import Duration
from restow.kube.duration import MINUTE, format_duration
from restow.kube.excerpts import did_you_mean
from restow.kube.manifests import Manifest, kind_of
from restow.policies.codes import Placement
from restow.simulating.api_server.admission import is_namespaced
from restow.simulating.controllers.cluster_autoscaler import ClusterAutoscalerSettings
from restow.simulating.controllers.horizontal_pod_autoscalers import AutoscalerSettings
from restow.simulating.kubelets import KubeletSettings
from restow.simulating.scenarios.events import Apply, Delete, TimedEvent
from restow.simulating.scenarios.expectations import EvictionCount, Expectation, PodCount
from restow.simulating.scenarios.references import DEFAULT_NAMESPACE, NodeChoice, Reference
from restow.simulating.scenarios.traces import Arrival


class Descheduling(Struct, frozen=True):
    """A descheduler that acts during the run, as a scenario writes it."""

    #: The path of its policy; None is the bundled one.
    policy: str | None = None
    #: Nanoseconds from one cycle to the next.
    every: Duration = 5 * MINUTE
    placement: Placement = Placement.PROVE


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
    #: Of all of them; None: the policy's, or the one that is assumed.
    scheduler_minor: int | None
    kubelets: KubeletSettings
    #: The controller of HorizontalPodAutoscalers; None if they have no effect.
    autoscalers: AutoscalerSettings | None
    cluster_autoscaler: ClusterAutoscalerSettings | None
    expectations: tuple[Expectation, ...]
    #: Messages for its author.
    findings: tuple[Finding, ...] = ()


_MADE_BY_CONTROLLERS: Final = frozenset({"Pod", "ReplicaSet", "Job"})


def check_scenario(scenario: Scenario) -> Iterator[Issue]:
    """Yield warnings and notes about a scenario."""
    yield from _check_times(scenario)
    if scenario.start:
        yield from _check_names(scenario)
    kinds = {kind_of(each) for each in scenario.start}
    if scenario.autoscalers is None and "HorizontalPodAutoscaler" in kinds:
        hint = "add horizontalPodAutoscalers: {}"
        yield Issue(("start",), "nobody acts on the HorizontalPodAutoscalers", "note", hint)
    if not scenario.expectations:
        yield Issue((), "nothing is expected: no run of it can fail", "note", "add expect")


def _check_times(scenario: Scenario) -> Iterator[Issue]:
    if scenario.duration is None:
        return
    end = f"the end of the run at {format_duration(scenario.duration)}"
    for event in scenario.events:
        if event.at > scenario.duration:
            yield Issue((*event.place, "at"), f"is after {end}: it never happens", "warning")
    for each in scenario.expectations:
        if max(each.after, each.until or 0) > scenario.duration:
            yield Issue(each.place, f"looks beyond {end}: it stays undecided", "warning")


def _check_names(scenario: Scenario) -> Iterator[Issue]:
    known = dict.fromkeys((*_references(scenario.start), *_coming(scenario)))
    ever = known.copy()
    for event in scenario.events:
        for key, wanted in _named_by(event):
            yield from _missing(wanted, known, (*event.place, key), f"when this happens ({format_duration(event.at)})")
        if isinstance(event.action, Delete):
            known.pop(event.action.target, None)
        if isinstance(event.action, Apply):
            come = dict.fromkeys(_references(event.action.manifests))
            known |= come
            ever |= come
    for each in scenario.expectations:
        for key, wanted in _looked_at(each):
            yield from _missing(wanted, ever, (*each.place, each.modality, key), "at any time")


def _references(manifests: Iterable[Manifest]) -> Iterator[Reference]:
    for each in manifests:
        kind = kind_of(each)
        namespace = each.metadata.namespace or DEFAULT_NAMESPACE if is_namespaced(kind) else ""
        yield Reference(kind, namespace, each.metadata.name)


def _coming(scenario: Scenario) -> Iterator[Reference]:
    """The nodes that the cluster autoscaler may add."""
    for group in scenario.cluster_autoscaler.groups if scenario.cluster_autoscaler else ():
        yield from (Reference("Node", "", f"{group.name}-{number}") for number in range(1, group.most + 1))


def _named_by(event: TimedEvent) -> Iterator[tuple[str, Reference]]:
    """The word and the object that an event is about, if it is about one."""
    target = getattr(event.action, "target", None)
    nodes: NodeChoice | None = getattr(event.action, "nodes", None)
    if target is not None:
        yield event.word, target
    if nodes is not None and nodes.name is not None:
        yield event.word, Reference("Node", "", nodes.name)


def _looked_at(expectation: Expectation) -> Iterator[tuple[str, Reference]]:
    measure = expectation.statement.measure
    if isinstance(measure, PodCount | EvictionCount) and measure.of is not None:
        yield "of", measure.of
    if isinstance(measure, PodCount) and measure.on is not None and measure.on.name is not None:
        yield "onNodes", Reference("Node", "", measure.on.name)


def _missing(wanted: Reference, known: Iterable[Reference], path: Path, when: str) -> Iterator[Issue]:
    if wanted.kind in _MADE_BY_CONTROLLERS or wanted in known:
        return
    alike = [str(each) for each in known if each.kind == wanted.kind]
    yield Issue(path, f"there is no {wanted} {when}", "warning", did_you_mean(str(wanted), alike))
