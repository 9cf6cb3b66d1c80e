"""From the text of a scenario to what a simulation runs, with everything that is wrong or odd about it.

The file is decoded into ``Written*`` structs, and those are checked and read. Other files are named by paths that begin
where the scenario lies itself; they are read and checked with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any, Final

import msgspec
from msgspec import Struct, structs

from restow.cluster.snapshot import ClusterStore
from restow.documents.decoding import decode
from restow.documents.document import (
    Document,
    DocumentKind,
    further_documents,
    read_document,
    refusal,
    repeated_keys,
    to_findings,
)
from restow.documents.findings import Finding, Issue, Path, errors_in
from restow.documents.shapes import Duration
from restow.errors import InputError
from restow.kube.manifests import Manifest
from restow.kube.objects import Int64
from restow.kube.timestamps import parse_time
from restow.scheduling.framework.minors import minor_of
from restow.simulating.controllers.cluster_autoscaler import ClusterAutoscalerSettings
from restow.simulating.controllers.horizontal_pod_autoscalers import AutoscalerSettings
from restow.simulating.kubelets import KubeletSettings
from restow.simulating.scenarios.autoscaling_reading import (
    WrittenClusterAutoscaler,
    autoscaler_problem,
    check_autoscalers,
    read_cluster_autoscaler,
)
from restow.simulating.scenarios.events import MisfitError, TimedEvent, WrittenEvent, read_event
from restow.simulating.scenarios.expectations import (
    Expectation,
    WrittenExpectation,
    check_expectation,
    read_expectation,
)
from restow.simulating.scenarios.folder import Folder, ReadObject, read_object
from restow.simulating.scenarios.scenario import Descheduling, Scenario, check_scenario
from restow.simulating.scenarios.traces import Arrival, Columns, Template, check_template, read_arrivals, read_nodes
from restow.sources.reading import unlisted

API_VERSION: Final = "restow.dev/v1alpha1"
KIND: Final = "Scenario"
#: How many times faster than in its trace time can go by.
_SLOWEST: Final = 1e-3
_FASTEST: Final = 1e6
_FILE: Final = DocumentKind("a Scenario", f"apiVersion: {API_VERSION}")


class WrittenTrace(Struct, frozen=True):
    """Pods that come and go as a CSV file says."""

    trace: str
    at: Duration = 0
    faster: float = 1
    columns: Columns | None = None
    pod: dict[str, Any] = {}


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
    duration: Duration | None = msgspec.field(default=None, name="for")
    start: tuple[Any, ...] = ()
    events: tuple[WrittenEvent, ...] = ()
    arrivals: tuple[WrittenTrace, ...] = ()
    descheduler: Descheduling | None = None
    schedulers: tuple[WrittenScheduler, ...] = ()
    scheduler_version: str | float | None = None
    kubelets: KubeletSettings = KubeletSettings()
    horizontal_pod_autoscalers: AutoscalerSettings | None = None
    cluster_autoscaler: WrittenClusterAutoscaler | None = None
    expect: tuple[WrittenExpectation, ...] = ()


def is_scenario(data: dict[str, Any]) -> bool:
    """Whether plain data says that it is a scenario."""
    return data.get("kind") == KIND and str(data.get("apiVersion", "")).startswith("restow.dev/")


def read_scenario(text: bytes, filename: str, folder: Folder) -> Scenario:
    """Return the scenario of a file; InputError with file, line and field of everything that is wrong with it."""
    document = read_document(text, filename, _FILE)
    _check_kind(document)
    decoded = decode(document.data, WrittenScenario, ())
    issues = [*repeated_keys(document), *decoded.strictly()]
    # What else is wrong may only follow from a word that is misspelled.
    if decoded.value is None or issues:
        raise refusal(document, issues)
    reader = _Reader(document, decoded.value, folder)
    scenario = reader.scenario()
    if errors := errors_in(reader.issues):
        raise refusal(document, errors)
    found = [*reader.issues, *further_documents(document), *check_scenario(scenario)]
    return replace(scenario, findings=tuple(to_findings(document, found)))


def check_file(text: bytes, filename: str) -> list[Finding]:
    """Return what is odd about a scenario in a file, by line; InputError where it cannot be used."""
    scenario = read_scenario(text, filename, Folder(FilePath(filename).parent))
    return sorted(scenario.findings, key=lambda each: each.line)


def _check_kind(document: Document) -> None:
    wanted = {"apiVersion": API_VERSION, "kind": KIND}
    wrong = [key for key, value in wanted.items() if document.data.get(key) != value]
    hint = f"write {' and '.join(f'{key}: {wanted[key]}' for key in wrong)}"
    if wrong:
        raise refusal(document, [Issue((wrong[0],), f"is not that of {_FILE.what}", hint=hint)])


@dataclass(slots=True)
class _Reader:
    """Makes the parts of a scenario, and collects what is wrong with them."""

    document: Document
    written: WrittenScenario
    folder: Folder
    issues: list[Issue] = field(default_factory=list)
    #: Everything that was read, as schedulers would read it.
    readable: ClusterStore = field(default_factory=ClusterStore)

    def scenario(self) -> Scenario:
        written = self.written
        return Scenario(
            document=self.document,
            description=written.description,
            seed=written.seed,
            begins=self._begins(),
            duration=self._duration(),
            start=tuple(each for index, item in enumerate(written.start) for each in self._start(item, index)),
            events=tuple(self._events()),
            arrivals=tuple(self._arrivals()),
            descheduling=self._descheduling(),
            schedulers=tuple(self._schedulers()),
            scheduler_minor=self._scheduler_minor(),
            kubelets=self._kubelets(),
            autoscalers=self._autoscalers(),
            cluster_autoscaler=self._cluster_autoscaler(),
            expectations=tuple(self._expectations()),
        )

    def _refuse(self, path: Path, message: str, hint: str = "") -> None:
        self.issues.append(Issue(path, message, hint=hint))

    def _begins(self) -> int | None:
        try:
            return None if self.written.begins is None else parse_time(self.written.begins)
        except ValueError as error:
            self._refuse(("begins",), str(error), "write 2026-11-21T00:00:00Z")
            return None

    def _duration(self) -> int | None:
        if self.written.duration is not None and self.written.duration <= 0:
            self._refuse(("for",), "must be more than 0")
        return self.written.duration

    def _start(self, item: Any, index: int) -> Sequence[Manifest]:
        path = ("start", index)
        try:
            if isinstance(item, str) and item.endswith((".csv", ".csv.gz")):
                return read_nodes(self.folder.text(item), item, self.readable)
            return self._objects(item, path)
        except (ValueError, InputError) as error:
            self._refuse_all(path, error)
            return ()

    def _refuse_all(self, path: Path, error: Exception) -> None:
        for sentence in error.sentences if isinstance(error, InputError) else (str(error),):
            self._refuse(path, sentence)

    def _objects(self, item: Any, path: Path) -> tuple[Manifest, ...]:
        """The objects of a path, or written there; ValueError or InputError where there are none."""
        if isinstance(item, str):
            given, origin = self.folder.manifests(item), f"{item}: "
        else:
            items = item if isinstance(item, list) else [item]
            given, origin = [each for one in items for each in unlisted(one, "an object here")], ""
        made, problems = [], []
        for each in given:
            try:
                made.append(self._object(each))
            except ValueError as error:
                problems.append(f"{origin}{error}")
        if problems:
            raise InputError(*problems)
        self.issues += [Issue(path, f"{origin}{each.note}", "note") for each in made if each.note]
        return tuple(each.manifest for each in made)

    def _object(self, item: dict[str, Any]) -> ReadObject:
        """An object that can be simulated; ValueError where it cannot."""
        read = read_object(item, self.readable)
        if self.written.horizontal_pod_autoscalers is not None and (problem := autoscaler_problem(read.manifest)):
            raise ValueError(problem)
        return read

    def _events(self) -> list[TimedEvent]:
        read = (self._event(written, ("events", index)) for index, written in enumerate(self.written.events))
        return sorted((event for event in read if event is not None), key=lambda event: event.at)

    def _event(self, written: WrittenEvent, path: Path) -> TimedEvent | None:
        try:
            return read_event(written, path, lambda item: self._objects(item, (*path, "apply")))
        except MisfitError as error:
            self._refuse((*path, error.key) if error.key else path, error.message, error.hint)
        except (ValueError, InputError) as error:
            self._refuse_all((*path, "apply"), error)
        return None

    def _arrivals(self) -> list[Arrival]:
        found = (self._trace(written, ("arrivals", index)) for index, written in enumerate(self.written.arrivals))
        return sorted((each for trace in found for each in trace), key=lambda each: each.at)

    def _trace(self, written: WrittenTrace, path: Path) -> list[Arrival]:
        if written.at < 0:
            self._refuse((*path, "at"), "must not be before the start")
        if not _SLOWEST <= written.faster <= _FASTEST:
            hint = "write 60 to make a minute of it a second"
            self._refuse((*path, "faster"), f"must be from {_SLOWEST:g} to {_FASTEST:,.0f}", hint)
            return []
        try:
            check_template(written.pod)
        except ValueError as error:
            self._refuse((*path, "pod"), str(error))
            return []
        try:
            text, template = self.folder.text(written.trace), Template(written.pod, self.readable)
            arrivals = read_arrivals(text, written.trace, written.columns, template)
        except (ValueError, InputError) as error:
            self._refuse_all((*path, "trace"), error)
            return []
        return [_moved(each, written.at, written.faster) for each in arrivals]

    def _descheduling(self) -> Descheduling | None:
        written = self.written.descheduler
        if written is None:
            return None
        if written.every <= 0:
            self._refuse(("descheduler", "every"), "must be more than 0")
        if written.policy is not None:
            self._use(("descheduler", "policy"), self.folder.policy, written.policy)
        return written

    def _schedulers(self) -> Iterator[str]:
        for index, written in enumerate(self.written.schedulers):
            self._use(("schedulers", index, "configuration"), self.folder.scheduler, written.configuration)
            yield written.configuration

    def _scheduler_minor(self) -> int | None:
        try:
            return None if self.written.scheduler_version is None else minor_of(self.written.scheduler_version)
        except ValueError as error:
            self._refuse(("schedulerVersion",), str(error))
            return None

    def _kubelets(self) -> KubeletSettings:
        for key, duration in structs.asdict(self.written.kubelets).items():
            if duration < 0:
                self._refuse(("kubelets", key), "must not be negative")
        return self.written.kubelets

    def _autoscalers(self) -> AutoscalerSettings | None:
        written = self.written.horizontal_pod_autoscalers
        if written is not None:
            self.issues += check_autoscalers(written, ("horizontalPodAutoscalers",))
        return written

    def _cluster_autoscaler(self) -> ClusterAutoscalerSettings | None:
        written = self.written.cluster_autoscaler
        if written is None:
            return None
        made = read_cluster_autoscaler(written, ("clusterAutoscaler",), lambda item: self._object(item).manifest)
        if isinstance(made, ClusterAutoscalerSettings):
            return made
        self.issues += made
        return None

    def _use(self, path: Path, read: Callable[[str], object], name: str) -> None:
        try:
            read(name)
        except InputError as error:
            self._refuse_all(path, error)

    def _expectations(self) -> Iterator[Expectation]:
        for index, written in enumerate(self.written.expect):
            path = ("expect", index)
            problems = list(check_expectation(written, path))
            self.issues += problems
            if not problems:
                yield read_expectation(written, path)


def _moved(arrival: Arrival, at: int, faster: float) -> Arrival:
    """An arrival of a trace at its time in the run."""
    departs = None if arrival.departs is None else at + int(arrival.departs / faster)
    return Arrival(at + int(arrival.at / faster), departs, arrival.pod)
